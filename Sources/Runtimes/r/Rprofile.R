# Pauses R before its program, for Greenroom.
#
# The daemon runs `Rscript PLACEHOLDER` with this file as R_PROFILE_USER. Rscript and its shell script execute
# `.../bin/exec/R --no-echo --no-restore --file=PLACEHOLDER`, which has opened PLACEHOLDER and not read from
# it when it runs this file. The file attaches the default packages, as R would do next, loads the namespaces
# that GREENROOM_IMPORTS lists, waits for a launch, and opens the launch's program in place of PLACEHOLDER. If
# the program could notice a difference from a direct run, R is executed anew with the launch's words in the
# same process. Before the pause, any doubt ends the process; the daemon then starts the program directly.
local({
    # Why a launch is started anew: enum gr_anew_reason of wire.h.
    OPTIONS <- 1L
    PROGRAM <- 2L
    CHANGED <- 4L
    ENVIRONMENT <- 5L
    FAILED <- 7L

    hook <- Sys.getenv("R_PROFILE_USER")
    library <- dyn.load(file.path(dirname(dirname(hook)), "libgreenroom-runtime.so"))
    native <- function(name, ...) .Call(getNativeSymbolInfo(paste0("greenroom_r_", name), library)$address, ...)
    take <- function(name) {
        value <- Sys.getenv(name)
        Sys.unsetenv(name)
        value
    }
    imports <- strsplit(take("GREENROOM_IMPORTS"), "\n")[[1]]
    record <- take("GREENROOM_RECORD")
    Sys.unsetenv("R_PROFILE_USER")

    prewarm <- commandArgs()
    is_file <- startsWith(prewarm, "--file=")
    placeholder <- sub("^--file=", "", prewarm[is_file])
    before <- prewarm[!is_file]
    # The variables that R or its front end has read.
    read <- function(names) grepl("^(R_|OMP_|OPENBLAS_|LC_|LANG$|LANGUAGE$|TZ$|HOME$|LD_LIBRARY_PATH$)", names)
    # The variables that the front end has exported, which a launch does not bring.
    exported <- function(names) grepl("^(R_|LD_LIBRARY_PATH$|(EDITOR|LN_S|MAKE|PAGER|SED|TAR|TZDIR)$)", names)
    own <- unclass(Sys.getenv())
    key <- own[read(names(own))]
    front <- own[exported(names(own))]

    tryCatch({
        if (length(placeholder) != 1 || any(startsWith(before, "--args"))) stop("no placeholder")
        .First.sys()
        initial <- loadedNamespaces()
        for (name in imports) suppressPackageStartupMessages(loadNamespace(name))
    }, error = function(condition) native("refuse"))
    if (!identical(unclass(Sys.getenv()), own)) native("refuse")
    folders <- unique(c(.libPaths(), vapply(setdiff(loadedNamespaces(), "base"), function(name) getNamespaceInfo(name, "path"), "")))
    folders <- folders[nzchar(folders)]
    modified <- function() as.numeric(file.mtime(folders))
    times <- modified()

    # If this process is never launched, nobody would remove R's temporary folder.
    unlink(tempdir(), recursive = TRUE)
    words <- native("wait", placeholder)

    pairs <- native("variables")
    launch <- substring(pairs, regexpr("=", pairs, fixed = TRUE) + 1)
    names(launch) <- substr(pairs, 1, regexpr("=", pairs, fixed = TRUE) - 1)
    launch <- launch[!duplicated(names(launch))]
    anew <- function(reason) native("start_anew", reason, paste0(names(front), "=", front))

    # The words with which the front end executes R: a launch names either of the two.
    unfold <- function(words) {
        if (basename(words[1]) != "Rscript") return(words)
        if (length(words) < 2 || startsWith(words[2], "-")) anew(OPTIONS)
        if (grepl("[^A-Za-z0-9_./+=:,@%-]", words[2])) anew(PROGRAM)
        rest <- words[-(1:2)]
        c(before, paste0("--file=", words[2]), if (length(rest)) c("--args", rest))
    }
    # R reads such files at its start: the user's profile, in place of which it has read this file, and variables.
    profiles <- c(".Rprofile", "~/.Rprofile", ".Renviron", "~/.Renviron")
    tryCatch({
        compared <- unique(c(names(key), names(launch)[read(names(launch))]))
        now <- unname(launch[compared])
        differs <- !mapply(identical, now, unname(key[compared])) & !(is.na(now) & exported(compared))
        if (any(differs)) anew(ENVIRONMENT)
        if (any(file.exists(profiles))) anew(PROGRAM)
        if (!identical(times, modified())) anew(CHANGED)
        words <- unfold(words)
        files <- startsWith(words, "--file=") & cumsum(words == "--args") == 0
        head <- seq_along(before)
        if (sum(files) != 1 || length(words) < length(before) || !identical(words[head], before) ||
            which(files) != length(before) + 1) anew(OPTIONS)
        if (length(words) > length(before) + 1 && words[length(before) + 2] != "--args") anew(OPTIONS)
        file <- sub("^--file=", "", words[files])
        if (!file.exists(file) || dir.exists(file)) anew(PROGRAM)
        setwd(".")
        tempdir(check = TRUE)
        missing <- front[!names(front) %in% names(launch)]
        if (is.na(launch["SHLVL"])) missing <- c(missing, SHLVL = "0")  # set by the shell that executes R
        if (length(missing)) do.call(Sys.setenv, as.list(missing))
        if (nzchar(record)) {
            write <- function(...) {
                names <- setdiff(loadedNamespaces(), initial)
                writeLines(rev(names), paste0(record, ".new"))
                file.rename(paste0(record, ".new"), record)
            }
            reg.finalizer(globalenv(), write, onexit = TRUE)
        }
        if (!is.null(native("become", placeholder, file, words))) anew(FAILED)
    }, error = function(condition) anew(FAILED))
    dyn.unload(library[["path"]])
})
