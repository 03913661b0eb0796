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
    HIDDEN <- 3L
    CHANGED <- 4L
    ENVIRONMENT <- 5L
    FAILED <- 7L
    RECORD_LIMIT <- 65536L  # in bytes; the daemon reads no longer record

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
    Sys.unsetenv(c("R_PROFILE_USER", "R_ENVIRON_USER"))

    prewarm <- commandArgs()
    is_file <- startsWith(prewarm, "--file=")
    placeholder <- sub("^--file=", "", prewarm[is_file])
    before <- prewarm[!is_file]
    # The variables that R or its front end has read.
    read <- function(names) grepl("^(R_|BASH_FUNC_|OMP_|OPENBLAS_|LC_|LANG$|LANGUAGE$|TZ$|HOME$|LD_LIBRARY_PATH$)", names)
    # The variables that the front end has exported, which a launch does not bring.
    exported <- function(names) grepl("^(R_|LD_LIBRARY_PATH$|(EDITOR|LN_S|MAKE|PAGER|SED|TAR|TZDIR)$)", names)
    own <- unclass(Sys.getenv())
    key <- own[read(names(own))]
    front <- own[exported(names(own))]

    path_of <- function(name) getNamespaceInfo(name, "path")
    # A learned list has the stamp of what was inspected; the manifest's list has none.
    is_learned <- any(grepl("\t", imports, fixed = TRUE))
    # Whether something has asked for a terminal, and found none.
    asks_for_terminal <- any(startsWith(imports, "?terminal"))
    check <- function(stamp, path) {
        if (!is.na(stamp) && stamp != "-" && stamp != native("stamp", path)) stop("another file than was inspected")
    }
    # The packages that no other one has loaded, and what was loaded after each of them.
    roots <- character()
    load <- function(line) {
        if (startsWith(line, "?")) return()
        fields <- strsplit(line, "\t", fixed = TRUE)[[1]]
        name <- sub("^=", "", fields[1])
        if (startsWith(line, "=")) {
            check(fields[2], name)
            return(native("watch", name))
        }
        if (!isNamespaceLoaded(name)) roots <<- c(roots, name)
        suppressPackageStartupMessages(loadNamespace(name))
        check(fields[2], file.path(path_of(name), "Meta", "package.rds"))
        loaded[[length(roots) + 1]] <<- loadedNamespaces()
    }
    tryCatch({
        if (length(placeholder) != 1 || any(startsWith(before, "--args"))) stop("no placeholder")
        .First.sys()
        initial <- loadedNamespaces()
        loaded <- list(initial)
        for (line in imports) load(line)
    }, error = function(condition) native("refuse"))
    if (!identical(unclass(Sys.getenv()), own)) native("refuse")
    # R goes on reading a loaded package when it is used.
    packages <- vapply(setdiff(loadedNamespaces(), "base"), path_of, "")
    parts <- outer(packages, c("", "/Meta", "/Meta/package.rds", "/R", "/libs"), paste0)
    libraries <- list.files(paste0(packages, "/libs"), full.names = TRUE)
    databases <- list.files(paste0(packages, "/R"), full.names = TRUE)
    # What the front end and R read before this file.
    at_start <- file.path(R.home(), c("bin/R", "etc/ldpaths", "etc/Renviron", "etc/Renviron.site", "etc/Rprofile.site"))
    # R adds those of these folders that exist to .libPaths().
    wanted <- path.expand(unlist(strsplit(Sys.getenv(c("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE")), ":")))
    native("watch", unique(c(.libPaths(), wanted, parts, libraries, databases, at_start)))

    # If this process is never launched, nobody would remove R's temporary folder.
    unlink(tempdir(), recursive = TRUE)
    words <- native("wait", placeholder)

    anew <- function(reason) native("start_anew", reason, paste0(names(front), "=", front))
    launch <- tryCatch({
        pairs <- native("variables")
        if (!all(validEnc(pairs))) anew(ENVIRONMENT)  # R's functions for text refuse such bytes
        values <- substring(pairs, regexpr("=", pairs, fixed = TRUE) + 1)
        names(values) <- substr(pairs, 1, regexpr("=", pairs, fixed = TRUE) - 1)
        values[!duplicated(names(values))]
    }, error = function(condition) anew(FAILED))

    # The words with which the front end executes R: a launch names either of the two.
    unfold <- function(words) {
        if (basename(words[1]) != "Rscript") return(words)
        if (length(words) < 2 || startsWith(words[2], "-")) anew(OPTIONS)
        if (grepl("[^A-Za-z0-9_./+=:,@%-]", words[2])) anew(PROGRAM)
        rest <- words[-(1:2)]
        c(before, paste0("--file=", words[2]), if (length(rest)) c("--args", rest))
    }
    # The packages that a program loads first, before anything of its own can make a difference: those of its first
    # expressions. All other expressions may depend on what the program has done.
    first_loads <- function(file) {
        wrappers <- c("suppressPackageStartupMessages", "suppressMessages", "suppressWarnings", "invisible", "(", "{")
        options <- c("quietly", "warn.conflicts")
        names <- character()
        # Whether what follows the expression comes first, too.
        read <- function(call) {
            if (!is.call(call) || !is.name(call[[1]])) return(FALSE)
            head <- as.character(call[[1]])
            arguments <- as.list(call)[-1]
            if (head %in% wrappers) {
                if (!is.null(names(arguments)) || head != "{" && length(arguments) != 1) return(FALSE)
                for (argument in arguments) if (!read(argument)) return(FALSE)
                return(TRUE)
            }
            if (!head %in% c("library", "require", "requireNamespace", "loadNamespace") || !length(arguments)) return(FALSE)
            # This prints what it loads.
            if (head == "requireNamespace" && !isTRUE(arguments[["quietly"]])) return(FALSE)
            package <- arguments[[1]]
            if (!(is.character(package) || is.name(package) && head %in% c("library", "require"))) return(FALSE)
            named <- names(arguments)
            if (length(named) && !named[1] %in% c("", "package") || !all(named[-1] %in% options)) return(FALSE)
            if (length(arguments) > 1 && is.null(named) || !all(vapply(arguments[-1], is.logical, TRUE))) return(FALSE)
            names <<- c(names, as.character(package))
            TRUE
        }
        if (!startsWith(file, "/")) file <- paste0("./", file)  # parse() takes "stdin" and "clipboard" for something else
        tryCatch(for (call in parse(file, n = 256, keep.source = FALSE)) if (!read(call)) break, error = function(condition) NULL)
        names
    }
    # Whether the program begins with what was learned, in its order.
    begins_with_list <- function(file) {
        count <- 0
        for (name in first_loads(file)) {
            if (count < length(roots) && name == roots[count + 1]) count <- count + 1
            else if (!name %in% loaded[[count + 1]]) break
        }
        count == length(roots)
    }
    # What comes first is loaded whatever the program does then, so it is sent at once.
    send_record <- function(file) {
        names <- setdiff(first_loads(file), initial)
        names <- names[cumsum(nchar(names, "bytes") + 1) < RECORD_LIMIT]
        native("send", record, paste0(c(names, if (!length(names)) ""), "\n", collapse = ""))
    }
    # R reads such files at its start: the user's profile, in place of which it has read this file, and variables.
    profiles <- c(".Rprofile", "~/.Rprofile", ".Renviron", "~/.Renviron")
    tryCatch({
        compared <- unique(c(names(key), names(launch)[read(names(launch))]))
        now <- unname(launch[compared])
        differs <- !mapply(identical, now, unname(key[compared])) & !(is.na(now) & exported(compared))
        if (any(differs)) anew(ENVIRONMENT)
        if (any(file.exists(profiles))) anew(PROGRAM)
        if (native("compare_files") != "1") anew(CHANGED)
        words <- unfold(words)
        files <- startsWith(words, "--file=") & cumsum(words == "--args") == 0
        head <- seq_along(before)
        if (sum(files) != 1 || length(words) < length(before) || !identical(words[head], before) ||
            which(files) != length(before) + 1) anew(OPTIONS)
        if (length(words) > length(before) + 1 && words[length(before) + 2] != "--args") anew(OPTIONS)
        file <- sub("^--file=", "", words[files])
        # What is read here cannot be read again from a pipe.
        if (!isTRUE(file.size(file) > 0) || dir.exists(file)) anew(PROGRAM)
        if (asks_for_terminal && any(isatty(stdin()), isatty(stdout()), isatty(stderr()))) anew(ENVIRONMENT)
        # The author of a list answers for it.
        if (is_learned && !begins_with_list(file)) anew(HIDDEN)
        setwd(".")
        tempdir(check = TRUE)
        missing <- front[!names(front) %in% names(launch)]
        # The shell that executes R sets these.
        if (is.na(launch["SHLVL"])) missing <- c(missing, SHLVL = "0")
        directory <- launch["PWD"]
        is_right <- startsWith(directory, "/") && identical(native("stamp", directory), native("stamp", "."))
        if (!isTRUE(is_right)) missing <- c(missing, PWD = getwd())
        if (!is.na(launch["_"])) Sys.unsetenv("_")
        if (length(missing)) do.call(Sys.setenv, as.list(missing))
        # What a program loads first does not change with its launches.
        if (nzchar(record) && !is_learned) send_record(file)
        if (!is.null(native("become", placeholder, file, words))) anew(FAILED)
    }, error = function(condition) anew(FAILED))
    dyn.unload(library[["path"]])
})
