"""R: unmodified scripts, started by Rscript."""
import os
import shutil

import results
from comparing import ENVIRONMENT, Language
from instance import CHANGED, OPTIONS, PROGRAM, RUNTIMES
from instance import ENVIRONMENT as VARIABLE

RSCRIPT, R = "/usr/bin/Rscript", "/usr/lib/R/bin/exec/R"
PLACEHOLDER = RUNTIMES + "/r/placeholder"

# Each script prints everything that a program can observe about one subject.
SCRIPTS = {
    "arguments": "print(commandArgs()); print(commandArgs(TRUE)); print(commandArgs)",
    "names": "print(ls(all.names = TRUE)); print(search()); print(environment(commandArgs))",
    "environment": "print(Sys.getenv('FOO')); Sys.setenv(NEW = '1'); system('env | grep -v ^_= | sort')",
    "working directory": "print(getwd()); print(file.exists('s_working_directory.R')); print(Sys.umask()); print(normalizePath('.'))",
    "error": "f <- function() stop('boom'); f()",
    "calls": "tryCatch((function(x) stop('e'))(1), error = function(e) print(sys.calls()))",
    "frames": "print(sys.nframe()); print(sys.calls()); print(sys.function)",
    "exit status": "quit(status = 4)",
    "warnings": "warning('w'); as.integer('x')",
    "standard input": "print(readLines(file('stdin')))",
    "interactive": "print(interactive()); print(isatty(stdin())); print(isatty(stdout()))",
    "seeded random": "set.seed(1); print(runif(2)); print(RNGkind())",
    "random": "print(exists('.Random.seed')); print(runif(1) < 1)",
    "locale": "print(Sys.getlocale()); print(l10n_info()[1:3]); cat('äöü', nchar('äöü'), '\\n')",
    "packages": "print(sort(loadedNamespaces())); print(.libPaths())",
    "libraries": "print(sapply(getLoadedDLLs(), function(d) d[['name']]))",
    "time zone": "print(format(as.POSIXct(0, origin = '1970-01-01'), '%Z %H')); print(Sys.timezone())",
    "options": "str(options()[c('digits', 'warn', 'defaultPackages', 'encoding', 'scipen', 'papersize', 'editor', 'pager')])",
    "syntax error": "x <- (\n",
    "processes": "print(unlist(parallel::mclapply(1:2, function(i) i * 2, mc.cores = 2)))",
    "end of the process": "reg.finalizer(globalenv(), function(e) cat('end\\n'), onexit = TRUE); cat('begin\\n')",
    "last function": ".Last <- function() cat('last\\n'); quit()",
    "no newline at the end": "cat('no newline at end')",
    "home": "print(R.home()); print(R.version.string); print(Sys.getenv(c('R_HOME', 'R_LIBS_SITE', 'PAGER')))",
    "models": "print(lm(dist ~ speed, cars)); print(summary(c(1, 2, 3)))",
    "children": "print(system2('/bin/echo', c('a', 'b'), stdout = TRUE))",
    "descriptors": "cat(sort(as.integer(list.files('/proc/self/fd'))), '\\n')",
    "messages": "message('to stderr'); print(Sys.time() > 0)",
    "large output": "cat(strrep('x', 100000), '\\n')",
}


# A text that differs in each session.
OWN = [(rb"Rtmp\w{6}", b"RtmpXXXXXX")]


def language():
    def prepare(options, imports, environment):
        environment.update(R_PROFILE_USER=RUNTIMES + "/r/Rprofile.R", R_ENVIRON_USER="")
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        return [RSCRIPT, *options, PLACEHOLDER], environment
    language = Language("r", RSCRIPT, prepare)
    language.executable = R
    return language


def file_of(name):
    return "s_" + name.replace(" ", "_") + ".R"


def scripts(r):
    for name, text in SCRIPTS.items():
        r.write(file_of(name), text + ("" if name.startswith("no newline") else "\n"))
        imports = [] if name in ("packages", "libraries") else ["splines", "stats4"]
        r.same_on_both(name, [file_of(name), "a b", "ü"], imports=imports, hides=OWN)
    r.write("s_temporary.R", "print(tempdir()); f <- tempfile(); cat('x', file = f); print(readLines(f, warn = FALSE))\n")
    whole = [R, "--no-echo", "--no-restore", "--file=s_arguments.R", "--args", "a b", "ü"]
    r.same("the words of the program itself", ["s_arguments.R", "a b", "ü"], launch=whole)
    r.same("an absolute name", [r.folder + "/s_arguments.R"], directory="/")
    r.same("a large environment", ["s_environment.R"], environment=dict(ENVIRONMENT, LARGE="x" * 3000), prewarm=ENVIRONMENT,
           hides=OWN)
    os.mkdir(r.folder + "/temporary")
    r.pause(environment=dict(ENVIRONMENT, TMPDIR=r.folder + "/temporary")).end()
    kept = os.listdir(r.folder + "/temporary")
    results.report("r: a process that is not launched leaves no folder", not kept, f"{kept}")
    r.same("a folder of temporary files", ["s_temporary.R"], hides=OWN)
    r.same("a pager", ["s_home.R"], environment=dict(ENVIRONMENT, PAGER="less"), prewarm=ENVIRONMENT)
    r.write("s_shell.R", "print(Sys.getenv(c('PWD', '_', 'SHLVL'), NA))\n")
    for name, value in (("none", {}), ("right", {"PWD": r.folder}), ("wrong", {"PWD": "/usr"}), ("relative", {"PWD": "."})):
        r.same(f"the shell's variables, with PWD {name}", ["s_shell.R"], environment=dict(ENVIRONMENT, _="/x", **value))
    r.write("s_terminal.R", "cat(isatty(stdin()), interactive(), '? '); x <- readLines(file('stdin'), 1); cat('<', x, '>\\n')\n")
    r.same_on_terminal("input", ["s_terminal.R"], [(rb"\? ", b"hello\n")])


def anew(r):
    script = "s_interactive.R"
    r.write("own/.Rprofile", "cat('mine\\n')\n")
    r.write("own/script.R", "cat(1, '\\n')\n")
    r.write("environ/.Renviron", "MINE=1\n")
    r.write("environ/script.R", "print(Sys.getenv('MINE'))\n")
    r.write("with space.R", "print(commandArgs())\n")
    r.same("a profile in the working directory", ["script.R"], directory="own", anew=PROGRAM)
    r.same("variables in the working directory", ["script.R"], directory="environ", anew=PROGRAM)
    r.write("home/.Renviron", "MINE=2\nR_PROFILE_USER=/nowhere\n")
    r.same("variables at home", ["environ/script.R"], environment=dict(ENVIRONMENT, HOME=r.folder + "/home"), anew=PROGRAM)
    r.same("bytes that are no text, in a variable", [script], environment=dict(ENVIRONMENT, BYTES="\udcff"), prewarm=ENVIRONMENT,
           anew=VARIABLE)
    r.same("a program from a pipe", ["/dev/stdin"], given=b"cat(1, '\\n')\n", anew=PROGRAM)
    r.same("a missing script", ["nosuch.R"], anew=PROGRAM)
    r.same("a folder", ["own"], anew=PROGRAM)
    r.same("a command", ["-e", "1+1"], anew=OPTIONS)
    r.same("an option", ["--vanilla", script], anew=OPTIONS)
    r.same("a name with a space", ["with space.R"], anew=PROGRAM)
    r.same("the words of the program itself, without its script", ["nosuch.R"], anew=PROGRAM,
           launch=[R, "--no-echo", "--no-restore", "--file=nosuch.R"])
    r.same("another locale", [script], prewarm=ENVIRONMENT, environment=dict(ENVIRONMENT, LC_ALL="C"), anew=VARIABLE)
    r.same("another time zone", ["s_time_zone.R"], prewarm=ENVIRONMENT, environment=dict(ENVIRONMENT, TZ="America/New_York"),
           anew=VARIABLE)
    r.write("function.R", "print(Sys.getenv('BASH_FUNC_x%%')); system('env | grep -A1 BASH_FUNC_')\n")
    function = dict(ENVIRONMENT, **{"BASH_FUNC_x%%": "() {  :\n}"})
    r.same("a function of bash", ["function.R"], environment=function)
    r.same("another function of bash", ["function.R"], prewarm=ENVIRONMENT, environment=function, anew=VARIABLE)
    # bash would write this function in other words, which a direct run has.
    r.same("a function in other words", ["function.R"], environment=dict(ENVIRONMENT, **{"BASH_FUNC_x%%": "() { :; }"}),
           anew=VARIABLE)
    os.mkdir(r.folder + "/library")
    r.same("a package that appeared", [script], environment=dict(ENVIRONMENT, R_LIBS=r.folder + "/library"), anew=CHANGED,
           change=lambda paused: os.mkdir(r.folder + "/library/newly"))
    r.write("libraries.R", "print(.libPaths())\n")
    r.same("the first package of the user's", ["libraries.R"], environment=dict(ENVIRONMENT, R_LIBS_USER=r.folder + "/mine"), anew=CHANGED,
           change=lambda paused: os.mkdir(r.folder + "/mine"))
    r.same("a profile in a variable", [script], prewarm=ENVIRONMENT,
           environment=dict(ENVIRONMENT, R_PROFILE_USER=r.folder + "/own/.Rprofile"), anew=VARIABLE)


def installation():
    """Makes a copy of R's own folder, of which its start reads files, so that the test may change them."""
    r = language()
    home, system = r.folder + "/R", "/usr/lib/R"
    os.mkdir(home)
    for name in os.listdir(system):
        if name in ("bin", "etc"):
            shutil.copytree(f"{system}/{name}", f"{home}/{name}")
        else:
            os.symlink(f"{system}/{name}", f"{home}/{name}")
    with open(home + "/bin/R") as file:
        text = file.read()
    for name in (system, "/usr/${libnn}/R", "/usr/${libnn_fallback}/R"):
        text = text.replace(name, home)
    r.write("R/bin/R", text, 0o755)
    r.executable = home + "/bin/exec/R"
    r.write("script.R", "cat(Sys.getenv('SITE'), '\\n')\n")
    environment = dict(ENVIRONMENT, RHOME=home)
    r.same("an installation of its own", ["script.R"], environment=environment)
    for name, text in (("Rprofile.site", "cat('site\\n')\n"), ("Renviron.site", "SITE=1\n"), ("Renviron", "SITE=2\n")):
        r.same(f"an edit of {name}", ["script.R"], environment=environment, anew=CHANGED,
               change=lambda _: append(f"{home}/etc/{name}", text))
    r.end()


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


def run():
    if not os.path.exists(RSCRIPT):
        return results.skip("r", "there is no Rscript (r-base-core)")
    r = language()
    for part in (scripts, anew):
        part(r)
    r.end()
    installation()
