"""R: what a launch records, and what the trace of an inspection shows."""
import os
import subprocess

import cases_r
import cases_traces
import learning
import results
from comparing import ENVIRONMENT
from instance import CHANGED, HIDDEN, RUNTIMES
from instance import ENVIRONMENT as VARIABLE

# Packages that do one thing each when they are loaded, with what the trace says of it.
PACKAGES = {
    "plain": ("options(g.plain = interactive())", None),
    "words": ("x <- commandArgs()", "arguments"),
    "trailing": ("x <- commandArgs(TRUE)", "arguments"),
    "directory": ("x <- getwd()", "directory"),
    "relative": ("x <- file.exists('x')", "opens"),
    "moves": ("setwd('/')", "directory"),
    "terminal": ("x <- isatty(stdout())", None),
    "variable": ("x <- Sys.getenv('G_ONE')", None),
    "two": ("x <- Sys.getenv(c('G_TWO', 'HOME'), NA)", None),
    "all": ("x <- names(Sys.getenv())", "variables"),
    "sets": ("Sys.setenv(G_SET = '1')", "environment"),
    "resets": ("Sys.setenv(G_RESET = '1'); Sys.unsetenv('G_RESET')", None),
    "opens": ("x <- readLines('/etc/passwd', 1)", "opens"),
    "asks": ("x <- file.exists('/etc/nosuch')", "opens"),
    "writes": ("cat('x', file = '/tmp/greenroom-g'); unlink('/tmp/greenroom-g')", "opens"),
    "makes": ("dir.create('/usr/share/nosuch/x', FALSE)", "writes"),
    "temporary": ("x <- tempfile()", "writes"),
    "session": ("x <- tempdir()", "writes"),
    "runs": ("system('true')", "runs"),
    "finds": ("x <- Sys.which('true')", "runs"),
    "time": ("x <- Sys.time()", "time"),
    "clock": ("x <- proc.time()", "time"),
    "prints": ("cat('x')", "prints"),
    "warns": ("warning('x')", "prints"),
    "quiet": ("suppressWarnings(warning('x'))", None),
    "tells": ("packageStartupMessage('x')", "prints"),
    "seed": ("set.seed(1)", "state"),
    "task": ("addTaskCallback(function(...) TRUE)", "state"),
    "attaches": ("library(splines)", "order"),
    "global": ("assign('x', 1, globalenv())", "state"),
    "searches": ("x <- search()", "order"),
    "lists": ("x <- .packages()", "order"),
    "loaded": ("x <- loadedNamespaces()", "order"),
    "shared": ("x <- getLoadedDLLs()", "order"),
    "globs": ("x <- Sys.glob('/etc/host*')", "opens"),
    "resolves": ("x <- normalizePath('/etc/nosuch', mustWork = FALSE)", "opens"),
    "depth": ("x <- sys.nframe()", None),
    "parent": ("x <- sys.parent()", None),
    "chooses": ("f <- function(x = c('a', 'b')) { x <- match.arg(x); match.call() }; f()", None),
    "calls": ("x <- sys.calls()", "caller"),
    "frames": ("x <- sys.frames()", "caller"),
    "near": ("x <- sys.call(); y <- parent.frame(); z <- sys.function()", None),
    "mask": ("x <- Sys.umask()", "state"),
    "locale": ("Sys.setlocale('LC_COLLATE', if (Sys.getlocale('LC_COLLATE') == 'C') 'C.UTF-8' else 'C')", "locale"),
    "connects": ("try(socketConnection('127.0.0.1', 1, timeout = 1), TRUE)", "opens"),
    "loads": ("loadNamespace('gwords')", None),
    "data": ("x <- readLines(system.file('DESCRIPTION', package = pkgname))", None),
    "lazy": ("f <- function() Sys.time()", None),
    "path": (".libPaths('/usr/share')", "state"),
    "fails": ("stop('no')", "fails"),
}
# More packages, by their whole text. The first lines may be lines of NAMESPACE (`#: LINE`), or packages
# on which the package depends (`#< NAME`).
MORE = {
    "value": "#: export(value)\nvalue <- function() getOption('g.value')\n.onLoad <- function(...) options(g.value = Sys.getenv('Z'))",
    "greets": "#: export(filter)\nfilter <- function() 1\n.onAttach <- function(...) packageStartupMessage('hello')",
    "hooks": ".onLoad <- function(...) setHook(packageEvent('ghooks', 'attach'), function(...) NULL)",
    "needs": "#< splines\n#: export(n)\nn <- 1",
    "inner": "#: export(inner)\ninner <- 'inner'",
    "outer": "#: import(ginner)\n#: export(outer)\nouter <- paste(inner, 'outer')",
    "class": "#: exportClasses(G)\n#: exportMethods(show)\nsetClass('G', representation(x = 'numeric'))\n"
             "setMethod('show', 'G', function(object) cat('G', object@x, '\\n'))",
    "asks_stream": "#: export(tty)\ntty <- NA\n.onLoad <- function(lib, pkg) assign('tty', isatty(stdout()), topenv())",
}


def package(r, name, text):
    lines = text.split("\n")
    name = "g" + name.replace("_", "")
    depends = [line[3:] for line in lines if line.startswith("#< ")]
    r.write(f"source/{name}/DESCRIPTION", f"Package: {name}\nVersion: 1.0\nTitle: X\nDescription: X.\nAuthor: X\n"
            "Maintainer: X <x@example.org>\nLicense: GPL-3\n" + ("Depends: " + ", ".join(depends) + "\n" if depends else "")
            + "".join(f"Imports: {line[3:].split('(')[1][:-1]}\n" for line in lines if line.startswith("#: import(")))
    r.write(f"source/{name}/NAMESPACE", "".join(line[3:] + "\n" for line in lines if line.startswith("#: ")))
    r.write(f"source/{name}/R/code.R", text + "\n")
    return f"{r.folder}/source/{name}"


def install(r):
    folders = [package(r, name, f".onLoad <- function(libname, pkgname) {{ {text} }}") for name, (text, _) in PACKAGES.items()]
    folders += [package(r, name, text) for name, text in MORE.items()]
    os.mkdir(r.folder + "/library")
    options = ["--no-docs", "--no-byte-compile", "--no-test-load", "--no-multiarch", "--no-lock"]
    run = subprocess.run(["R", "CMD", "INSTALL", "-l", r.folder + "/library", *options, *folders], capture_output=True, text=True,
                         env=dict(ENVIRONMENT, R_LIBS=r.folder + "/library"))
    return run.returncode == 0 or results.report("r: packages for the cases", False, run.stderr[-500:])


def trace(r, names, environment):
    words = [cases_r.RSCRIPT, RUNTIMES + "/r/inspect.R"]
    environment = dict(environment, R_PROFILE_USER=cases_r.PLACEHOLDER, R_ENVIRON_USER="", GREENROOM_TRACED=cases_r.R)
    return learning.trace(words, r.write("names", "".join(name + "\n" for name in names)), environment)


def inspections(r, environment):
    found = trace(r, ["g" + name for name in PACKAGES], environment)
    for name, (_, reason) in PACKAGES.items():
        does = found.does.get("g" + name)
        results.report(f"r: trace: {name}: {reason or 'nothing'}", does == reason, f"found {does}")
    results.report("r: trace: a package that loads another", ("gloads", "gwords") in found.needs)
    results.report("r: trace: the variables that are read", {"G_ONE", "G_TWO", "?terminal"} <= found.reads, str(found.reads))
    results.report("r: trace: a stamp of each", all(found.stamps["g" + name].isdigit() for name in PACKAGES if name != "fails"))
    for first, reason in (("gplain", None), ("ggreets", "order"), ("ghooks", "order"), ("ggplot2", None)):
        if first != "ggplot2" or has_ggplot2():
            does = trace(r, [first, "ginner"], environment).does
            results.report(f"r: trace: a package after {first}", does.get("ginner") == reason, str(does))
    for names, reason in ((["gneeds"], "order"), (["splines", "gneeds"], None)):
        does = trace(r, names, environment).does
        results.report(f"r: trace: a package that needs another attached, after {len(names) - 1}", does.get("gneeds") == reason, str(does))


def has_ggplot2():
    return os.path.isdir("/usr/lib/R/site-library/ggplot2")


PROGRAMS = {
    "plain": ("#!/usr/bin/Rscript\n# x\nlibrary(gplain)\nrequire('ginner', quietly = TRUE)\nprint(inner)\nlibrary(gouter)", ["gplain", "ginner"]),
    "wrapped": ("suppressPackageStartupMessages({\n  library(gplain)\n  library(\"gouter\", warn.conflicts = FALSE)\n})\n"
                "invisible(requireNamespace('gclass', quietly = TRUE)); loadNamespace('glazy')", ["gplain", "gouter", "gclass", "glazy"]),
    "default": ("library(stats); library(gplain); x <- 1", ["gplain"]),
    "chooses": ("library(gplain, lib.loc = '/nowhere')", []),
    "by_value": ("name <- 'gplain'\nlibrary(name, character.only = TRUE)", []),
    "character": ("library('gplain', character.only = TRUE)", []),
    "sets": ("options(x = 1); library(gplain)", []),
    "variable": ("Sys.setenv(Z = '7')\nlibrary(gvalue)\nprint(value())", []),
    "moves": (".libPaths('/usr/share'); library(gplain)", []),
    "condition": ("if (TRUE) library(gplain)", []),
    "function": ("f <- function() library(gplain)\nf()", []),
    "assigned": ("x <- require(gplain)\nprint(x)", []),
    "broken": ("library(gplain)\nx <- (\n", []),
    "inner_first": ("library(ginner); library(gouter); print(outer)", ["ginner", "gouter"]),
    "outer_first": ("library(gouter); library(ginner); print(outer); print(search()[2:3])", ["gouter", "ginner"]),
    "tells": ("requireNamespace('gplain')\nprint(1)", []),
    "greets": ("library(ggreets); print(filter()); print(search()[1:3])", ["ggreets"]),
    "class": ("library(gclass); new('G', x = 3); print(isVirtualClass('G')); print(existsMethod('show', 'G'))", ["gclass"]),
    "value": ("library(gvalue); print(value()); print(environmentName(environment(value)))", ["gvalue"]),
    "asks_stream": ("library(gasksstream)\nprint(tty)", ["gasksstream"]),
    "data": ("library(gdata)\nprint(loadedNamespaces()[1:2])", ["gdata"]),
}


def recordings(r, environment):
    for name, (text, expected) in PROGRAMS.items():
        r.write(f"{name}.R", text + "\n")
        names = learning.record(r, [f"{name}.R"], environment, r.folder, r.folder + "/recorded")
        results.report(f"r: recording: {name}", names == expected, str(names))
    r.write("stdin", "library(ginner)\nprint(inner)\n")  # the name means something else to R's parse()
    names = learning.record(r, ["stdin"], environment, r.folder, r.folder + "/recorded")
    results.report("r: recording: a program called stdin", names == ["ginner"], str(names))
    r.same("recording changes nothing", ["plain.R"], environment=environment, hides=cases_r.OWN,
           prewarm=dict(environment, GREENROOM_RECORD=r.folder + "/nobody"))


def launches(r, environment):
    def line(name):
        path = f"{r.folder}/library/{name}/Meta/package.rds"
        return f"{name}\t{cases_traces.stamp_of(path)}"

    def same(name, program, names, **more):
        imports = [line(each) if each[0] != "?" else each + "\t-" for each in names]
        r.same(name, [program + ".R", "a", "b"], environment=environment, imports=imports, **more)

    for name in ("plain", "wrapped", "inner_first", "greets", "class", "value", "asks_stream", "data", "default"):
        same(f"a learned list: {name}", name, PROGRAMS[name][1])
    same("a list of the first of two", "plain", ["gplain"])
    same("a list with what a package loads", "outer_first", ["gouter", "ginner"])
    same("a program that first loads what the list loads later", "inner_first", ["gouter", "ginner"], anew=HIDDEN)
    same("a list that another program begins with", "plain", ["gouter"], anew=HIDDEN)
    for name in ("sets", "variable", "moves", "condition", "function", "assigned", "chooses", "by_value", "broken"):
        same(f"a program that does something first: {name}", name, ["gvalue" if name == "variable" else "gplain"], anew=HIDDEN)
    same("a package that asks for a terminal", "asks_stream", ["gasksstream", "?terminal"])
    r.same_on_terminal("a package that asks for a terminal", ["asks_stream.R"], [], environment=environment,
                       imports=[line("gasksstream"), "?terminal\t-"], anew=VARIABLE)
    r.same_on_terminal("a learned list", ["value.R"], [], environment=environment, imports=[line("gvalue")])
    r.same("a list of the manifest's", ["plain.R"], environment=environment, imports=["gplain", "gouter"])
    r.refused("another package than was inspected", environment=environment, imports=["gplain\t1"])
    r.refused("a package that cannot be loaded", environment=environment, imports=["gfails"])
    r.refused("a package that changes the environment", environment=environment, imports=["gsets"])
    data = f"{r.folder}/library/gdata/DESCRIPTION"
    read = [line("gdata"), f"={data}\t{cases_traces.stamp_of(data)}"]
    r.same("data that has changed", ["data.R"], environment=environment, imports=read, anew=CHANGED, change=lambda _: touch(data))
    r.refused("other data than was inspected", environment=environment, imports=read)
    for part in ("Meta/package.rds", "R/gvalue.rdb"):
        r.same(f"a package that was installed again: {part}", ["value.R"], environment=environment, imports=[line("gvalue")],
               anew=CHANGED, change=lambda _: touch(f"{r.folder}/library/gvalue/{part}"))


def touch(path):
    """Replaces a file by a copy, as an installation does."""
    with open(path, "rb") as file, open(path + ".new", "wb") as copy:
        copy.write(file.read())
    os.rename(path + ".new", path)


def ggplot2(r, environment):
    if not has_ggplot2():
        return results.skip("r: ggplot2", "ggplot2 is not installed (r-cran-ggplot2)")
    r.write("ggplot2.R", "library(ggplot2)\np <- ggplot(mtcars, aes(wt, mpg)) + geom_point() + facet_wrap(~cyl)\n"
            "b <- ggplot_build(p)\nprint(head(b$data[[1]])); print(class(p)); print(search()); print(loadedNamespaces())\n"
            "tryCatch(rlang::abort('boom'), error = function(e) print(e)); cli::cli_text('done'); print(cli::num_ansi_colors())\n")
    names = learning.record(r, ["ggplot2.R"], environment, r.folder, r.folder + "/recorded")
    found = trace(r, names, environment)
    results.report("r: ggplot2 is loaded before the pause", names == ["ggplot2"] and not found.does.keys() - {"dbplyr"}, f"{names} {found.does}")
    loaded = [name for name in found.stamps if name not in found.does and name != "withr"]
    imports = [f"{name}\t{found.stamps[name]}" for name in loaded]
    imports += [f"={path}\t{stamp}" for path, stamp in found.data.items()] + ["?terminal\t-"]
    r.same("ggplot2", ["ggplot2.R"], environment=environment, imports=imports)
    r.same_on_terminal("ggplot2", ["ggplot2.R"], [], environment=environment, imports=imports, anew=VARIABLE)
    return None


def run():
    if not os.path.exists(cases_r.RSCRIPT):
        return results.skip("r: packages", "there is no Rscript (r-base-core)")
    r = cases_r.language()
    environment = dict(ENVIRONMENT, R_LIBS=r.folder + "/library")
    if install(r):
        for part in (inspections, recordings, launches, ggplot2):
            part(r, environment)
    r.end()
    return None
