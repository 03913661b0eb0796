# Finds out for Greenroom what packages do besides defining things when they are loaded. It runs in a separate
# process.
#
#     Rscript inspect.R <LIST
#
# LIST has the name of a package on each line. libgreenroom-trace.so is preloaded: it writes which functions of
# the C library were called, and this file tells it, by getenv(3), where each package begins and ends, and what
# happens in R itself: uses of the arguments, reads of all variables, and changes of the state that all packages
# share.
local({
    trace <- function(...) .Internal(Sys.getenv(paste("greenroom", ...), ""))
    does <- function(reason) trace("does", reason)

    # The placeholder was read as the user's profile, which a prewarm does not read.
    Sys.unsetenv(c("R_PROFILE_USER", "R_ENVIRON_USER"))
    names <- grep("^!", readLines(file("stdin"), warn = FALSE), invert = TRUE, value = TRUE)
    trace("key", "terminal")
    for (folder in c(.libPaths(), R.home())) trace("place", folder)

    attached <- search  # which is changed below
    state <- function() {
        list(attached(), ls(globalenv(), all.names = TRUE), get0(".Random.seed", globalenv()), getTaskCallbackNames(),
             .libPaths(), sink.number(), nrow(showConnections()))
    }
    # The packages in progress, the innermost last: whether one within has changed the state.
    changed <- FALSE
    is_first <- TRUE
    begin <- function(name) {
        trace("begin", name)
        changed <<- c(changed, FALSE)
        state()
    }
    end <- function(name, before, has_failed) {
        inner <- length(changed)
        if (!identical(before, state())) {
            if (!changed[inner]) does("state")
            changed[inner - 1] <<- TRUE
        }
        changed <<- changed[-inner]
        path <- if (has_failed) "" else file.path(getNamespaceInfo(name, "path"), "Meta", "package.rds")
        trace(if (has_failed) "fails" else "end", paste0(name, "\t", path))
    }

    replace <- function(name, value) {
        base <- baseenv()
        unlockBinding(name, base)
        assign(name, value, base)
        lockBinding(name, base)
    }
    # The thread of cli only counts time, and is frozen during the pause; the time from which it counts is not used
    # without a terminal. The calls that pillar looks through lead to a function of its own.
    harmless <- list(cli = c("thread", "time"), pillar = "caller")
    plain <- loadNamespace
    replace("loadNamespace", function(package, ...) {
        name <- as.character(package)[[1]]
        if (isNamespaceLoaded(name)) {
            trace("needs", name)
            return(plain(package, ...))
        }
        # R sets this variable while the hook of a package runs, and removes it.
        variable <- .Internal(Sys.getenv("_R_NS_LOAD_", NA_character_))
        before <- begin(name)
        for (reason in harmless[[name]]) trace("spares", reason)
        has_failed <- TRUE
        on.exit({
            if (!is.na(variable)) Sys.setenv(`_R_NS_LOAD_` = variable)
            end(name, before, has_failed)
            Sys.unsetenv("_R_NS_LOAD_")
        })
        result <- plain(package, ...)
        has_failed <- FALSE
        result
    })
    # These run in frames of their own, so they are changed and not called by others.
    note <- function(name, call) {
        value <- get(name, baseenv())
        body(value) <- call("{", call, body(value))
        replace(name, value)
    }
    note("commandArgs", bquote(.(does)("arguments")))
    # Each session has a folder of its own.
    for (name in c("tempdir", "tempfile")) note(name, bquote(.(does)("writes")))
    for (name in c("sys.calls", "sys.frames", "sys.parents", "sys.status")) note(name, bquote(.(does)("caller")))
    note("Sys.getenv", bquote(if (is.null(x)) .(trace)("reads *")))
    # A program has attached the packages before this one, and has not loaded those after it.
    for (name in c("search", ".packages", "loadedNamespaces")) note(name, bquote(if (!.(function() is_first)()) .(does)("order")))
    note("getLoadedDLLs", bquote(.(does)("order")))  # the library of the prewarm's hook is among them

    # What these do when they are attached does not matter to what is loaded next.
    attaches_plainly <- function(name) {
        if (name %in% c("ggplot2", "dplyr", "data.table")) return(TRUE)
        !exists(".onAttach", asNamespace(name), inherits = FALSE) && !length(getHook(packageEvent(name, "attach")))
    }
    # What library() attaches before it loads the package.
    depends <- function(name) {
        path <- tryCatch(find.package(name), error = function(condition) "")
        setdiff(base::names(readRDS(file.path(path, "Meta", "package.rds"))$Depends), .packages())
    }
    may_differ <- FALSE
    for (name in names) {
        if (isNamespaceLoaded(name)) {
            may_differ <- may_differ || !attaches_plainly(name)
            next
        }
        if (may_differ || length(tryCatch(depends(name), error = function(condition) NULL))) {
            trace("begin", name)
            does("order")
            trace("end", paste0(name, "\t"))
            next
        }
        tryCatch(withCallingHandlers({
            loadNamespace(name)
            may_differ <- !attaches_plainly(name)
            if (!may_differ) suppressMessages(attachNamespace(name))
        }, warning = function(condition) does("prints")), error = function(condition) may_differ <<- TRUE)
        is_first <- FALSE
    }
    trace("done")
})
