"""The packages for developers of apps: the C library as it is installed, and the Python module through pip."""
import os
import re
import shutil
import subprocess
import sys

import greenroomd
from channel import Wrong
from loops import Missing
from places import PRODUCT, ROOT


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise Wrong(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def declared():
    """Returns the names of the header's functions."""
    with open(ROOT + "/Sources/CGreenroomApp/include/greenroom-app.h") as header:
        return set(re.findall(r"^GREENROOM_EXPORT [^;(]*?(\w+)\(", header.read(), re.M))


# Symbols that GNU's linker defines.
BORDERS = {"__bss_start", "_edata", "_end"}


def library(folder):
    """The library exports only the functions of its header, needs only libc, and has the right soname."""
    shared, archive = ROOT + "/.build/app/libgreenroom-app.so.0", ROOT + "/.build/app/libgreenroom-app.a"
    for file, option in ((shared, "-D"), (archive, "-g")):
        names = {line.split()[-1] for line in run("nm", option, "--defined-only", file).splitlines() if " T " in line
                 or " D " in line or " B " in line or " R " in line} - BORDERS
        if names != declared():
            raise Wrong(f"{os.path.basename(file)} and its header differ: {sorted(names ^ declared())}")
    dynamic = run("readelf", "-d", shared)
    needed, soname = re.findall(r"NEEDED.*\[(.*)\]", dynamic), re.findall(r"SONAME.*\[(.*)\]", dynamic)
    if needed != ["libc.so.6"] or soname != ["libgreenroom-app.so.0"]:
        raise Wrong(f"it needs {needed} and is called {soname}")


def getting_started(folder):
    """Somebody who follows only the article gets a prewarmed app that says what the article promises. The article's
    commands are run as they are, but for logs: there is no journal, and the lines are where the article says they are."""
    if shutil.which("swift") is None:
        raise Missing("swift is not installed")
    with open(ROOT + "/Sources/ApplicationKit/ApplicationKit.docc/GettingStarted.md") as file:
        article = file.read()
    package, program = re.findall(r"```swift\n(.*?)\n```", article, re.S)
    make, build, install, prewarm, launch, end = re.findall(r"```sh\n(.*?)\n```", article, re.S)
    os.symlink(ROOT, folder + "/greenroom")
    daemon = greenroomd.Daemon(environment={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    home = folder + "/home"
    os.makedirs(home + "/.config/greenroom")
    os.symlink(daemon.apps, home + "/.config/greenroom/apps")
    os.mkdir(folder + "/bin")
    with open(os.open(folder + "/bin/greenroomctl", os.O_CREAT | os.O_WRONLY, 0o755), "w") as file:
        file.write(f'#!/bin/sh\nverb=$1; shift\nexec {PRODUCT}/greenroomctl "$verb" --socket {daemon.socket} "$@"\n')
    # (The compiler finds its own folder in the caller's home.)
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def shell(commands, where="/hello", **more):
        commands = "\n".join(line for line in commands.split("\n") if " logs " not in line)
        return run("bash", "-e", "-c", commands, cwd=folder + where, env={**environment, **more})

    shell(make, "")
    for path, text in (("/hello/Package.swift", package), ("/hello/Sources/Hello/Hello.swift", program)):
        with open(folder + path, "w") as file:
            file.write(text + "\n")
    by_hand = build.split("\n")[-1]
    shell(build.removesuffix(by_hand))
    app = subprocess.Popen([folder + "/hello/" + by_hand], stdout=subprocess.PIPE, text=True)
    try:
        said = [app.stdout.readline() for _ in range(3)]
    finally:
        app.kill()
        app.wait()
    if [said[0], said[2]] != ["Launched, prewarmed: false\n", "Active\n"]:
        raise Wrong(f"it says {said}")
    try:
        daemon.start()
        shell(install, HOME=home)
        status = shell(prewarm)
        if "prewarmed" not in status:
            raise Wrong(f"the status says {status}")
        launched = shell(launch)
        if "prewarmed" not in launched:
            raise Wrong(f"launch says {launched}")
        shell(end)
        for line in ("Launched, prewarmed: true", "Active", "In the background", "Goodbye"):
            daemon.await_fact(line, lambda line=line: line in daemon.said().split("\n"))
    finally:
        daemon.stop()


def near_misses(folder):
    """A delegate's method with a name or arguments that nearly match is named."""
    script = folder + "/near.py"
    with open(script, "w") as file:
        file.write("""import greenroom_app as app
class Delegate(app.ApplicationDelegate):
    def did_finish_launchin(self, application, launch_options): return True
    def did_become_active(self): pass
    def will_terminate(self, application): pass
    def open_url(self, *all): return True
    def helper(self): pass
app.application_start(Delegate)
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": ROOT + "/Sources/Python"})
    found = re.findall("UserWarning: (.*)", done.stderr)
    if found != ["Delegate.did_become_active is called with 1 arguments and takes 0",
                 "Delegate.did_finish_launchin is never called; is did_finish_launching meant?"]:
        raise Wrong(f"{found} {done.stderr}")


PROGRAM = """#include <greenroom-app.h>
/* Names that the library has too, for itself. */
int now(void);
int now(void) { return 3; }
void acknowledge(void);
void acknowledge(void) {}
static bool finished(struct greenroom_app *app, const struct greenroom_content *options) {
    (void)options;
    _Exit(greenroom_app_launch_info(app)->is_foreground ? now() : 1);
}
int main(int argc, char **argv) {
    static struct greenroom_delegate delegate;
    delegate.did_finish_launching = finished;
    greenroom_app_run(greenroom_app_start(&delegate, 0, &argc, &argv));
}
"""


def installed(folder):
    """`make install-dev` and pkg-config are enough to build with, in C and C++, shared and static."""
    make = ["make", "-C", ROOT, "--no-print-directory", "install-dev", "PREFIX=/usr"]
    blank = subprocess.run([*make, f"DESTDIR={folder}/a b"], stderr=subprocess.PIPE, text=True)
    if blank.returncode == 0 or "must not contain blanks" not in blank.stderr or os.path.exists(folder + "/a"):
        raise Wrong(f"a folder with a blank: {blank.stderr}")
    former = os.umask(0o077)
    try:
        run(*make, f"DESTDIR={folder}/root")
    finally:
        os.umask(former)
    unreadable = [path for parent, _, files in os.walk(folder + "/root") for path in
                  [parent, *(f"{parent}/{name}" for name in files)] if not os.stat(path).st_mode & 0o004]
    if unreadable:
        raise Wrong(f"only its owner can read what is installed with umask 077: {unreadable}")
    environment = {**os.environ, "PKG_CONFIG_PATH": folder + "/root/usr/lib/pkgconfig",
                   "PKG_CONFIG_SYSROOT_DIR": folder + "/root", "LD_LIBRARY_PATH": folder + "/root/usr/lib"}
    environment.pop("GREENROOM_CHANNEL", None)
    if not os.path.exists(folder + "/root/usr/share/man/man3/greenroom-app.3"):
        raise Wrong("the manual is not installed")
    flags = run("pkg-config", "--cflags", "--libs", "greenroom-app", env=environment).split()
    compiler = os.environ.get("CLANG", "clang")
    for language, kind in (("c", "shared"), ("c", "static"), ("c++", "shared")):
        source = f"{folder}/app.{language}"
        with open(source, "w") as file:
            file.write("#include <stdlib.h>\n" + PROGRAM)
        given = flags if kind == "shared" else [
            *(one for one in flags if one != "-lgreenroom-app"), folder + "/root/usr/lib/libgreenroom-app.a"]
        run(compiler, "-Wall", "-Wextra", "-Werror", source, "-o", folder + "/app", *given)
        status = subprocess.run([folder + "/app"], env=environment).returncode
        if status != 3:
            raise Wrong(f"{language}, {kind}: it ended with {status}")


def example():
    """Returns the example of greenroom-app(3)."""
    with open(ROOT + "/Sources/Documentation/man/greenroom-app.3") as page:
        text = page.read().split('.\\" begin example\n.EX\n')[1].split(".EE\n")[0]
    return text.replace("\\-", "-").replace("\\e", "\\")


def manual(folder):
    """The manual's example is a complete app, and saves what the manual says."""
    with open(folder + "/example.c", "w") as file:
        file.write(example())
    run(os.environ.get("CLANG", "clang"), "-std=c17", "-Wall", "-Wextra", "-Werror", folder + "/example.c", "-o", folder + "/example",
        "-I", ROOT + "/Sources/CGreenroomApp/include", ROOT + "/.build/app/libgreenroom-app.a")
    said = run(PRODUCT + "/greenroomctl", "conformance", "--", folder + "/example")
    if any(f"ok {number} - {number} " not in said or f" - {number} " in "".join(
            line for line in said.splitlines() if "SKIP" in line) for number in (28, 29, 30, 31)):
        raise Wrong(said)


def pip(folder):
    """pip installs the module without a network. Its version is the one of greenroomctl."""
    venv = folder + "/venv"
    offline = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True)
    if made.returncode:
        raise Missing("no pip to install with: apt-get install python3-venv")
    alone = ["unshare", "--user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        alone = []
    run(*alone, venv + "/bin/pip", "install", ROOT + "/Sources/Python", env=offline)
    version = run(venv + "/bin/python", "-c", "import greenroom_app; print(greenroom_app.__version__)", cwd=folder)
    with open(ROOT + "/Sources/CGreenroomLinux/include/version.h") as file:
        expected = re.search(r'#define GREENROOM_VERSION "(.*)"', file.read())[1]
    if version.strip() != expected:
        raise Wrong(f"version {version.strip()} instead of {expected}")
    # A developer of the module installs it in this way.
    run(*alone, venv + "/bin/pip", "install", "--editable", ROOT + "/Sources/Python", env=offline)
    place = run(venv + "/bin/python", "-B", "-c", "import greenroom_app; print(greenroom_app.__file__)", cwd=folder)
    if place.strip() != ROOT + "/Sources/Python/greenroom_app.py":
        raise Wrong(f"editable, it is {place.strip()}")
    run(venv + "/bin/pip", "uninstall", "--yes", "greenroom-app", env=offline)
