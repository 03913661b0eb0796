"""The examples with loops of their own, GLib's and Qt's: built, and run as apps."""
import os
import subprocess
import sys
import tempfile

import channel
from channel import ACTIVE, BACKGROUND, FIRST_FRAME, RESIGN, TERMINATE, Client, Wrong
from daemon import Daemon, ready, temperature
from places import DEADLINE, ROOT

EXAMPLES = ROOT + "/Sources/Samples/Loops"


class Missing(Exception):
    """Says what the machine lacks for an example."""


class Printed:
    """The lines that the apps print from now on."""

    def __init__(self, daemon):
        self.daemon, self.count = daemon, len(daemon.printed())

    def next_lines(self):
        return self.daemon.printed()[self.count:]

    def await_lines(self, *lines):
        """Waits for the next lines, in any order."""
        self.daemon.await_fact(
            f"{lines}, but {self.next_lines()}", lambda: len(self.next_lines()) >= len(lines))
        got = self.next_lines()
        self.count += len(lines)
        if sorted(got) != sorted(lines):
            raise Wrong(f"{got} instead of {lines}")


def through_daemon(command, keeps_state, environment=""):
    """Runs the example under a real daemon: shows, hides, freezes, shows and ends it."""
    daemon = Daemon(command, {"loop": ("BackgroundGraceSec=100ms\n", "")}, environment)
    try:
        for app in daemon.names:
            through_life(daemon, app, keeps_state)
    finally:
        daemon.stop()


def through_life(daemon, app, keeps_state):
    await_lines = Printed(daemon).await_lines

    def launch(visit):
        ready(daemon, app)
        daemon.ctl("launch", app)
        await_lines(f"launched {temperature(app)}" + (f", visit {visit}" if keeps_state else ""), "active", "tick",
                    *([] if keeps_state else ["drawn"]))

    launch(1)
    daemon.ctl("background", app)
    # A task that has begun goes on, and keeps the app from being frozen until the task is done.
    await_lines("background", *(["tidied up"] if keeps_state else []))
    daemon.reclaim(app)
    launch(2)
    daemon.ctl("background", app)
    await_lines("background", *(["tidied up"] if keeps_state else []))
    daemon.await_state(app, "suspended")
    daemon.ctl("foreground", app)
    await_lines("active", "tick", *([] if keeps_state else ["drawn"]))
    daemon.ctl("terminate", app)
    daemon.await_end(app)
    await_lines("ends")
    launch(3)
    daemon.ctl("kill", app)
    daemon.await_end(app)
    launch(1)
    daemon.ctl("kill", app)
    daemon.await_end(app)


def life(command, shows_drawing, **environment):
    """Runs through a whole life while the loop has its own timer: the app's events must not delay other work."""
    for is_prewarmed in (False, True):
        with Client(command, is_prewarmed, does_print=True, **environment) as client:
            cookie = client.start()
            client.acknowledged(cookie)
            active = client.event(channel.LIFECYCLE, ACTIVE)
            if shows_drawing:  # the loop draws after it has told that it is active
                client.acknowledged(active)
                client.receive(FIRST_FRAME)
            else:
                client.receive(FIRST_FRAME)
                client.acknowledged(active)
            client.await_line("tick")
            client.move(RESIGN)
            step = client.event(channel.LIFECYCLE, BACKGROUND)
            if not shows_drawing:  # GLib's example saves its state, and tidies up
                task = client.receive(channel.BEGIN).cookie
                client.receive(channel.SAVE)
            client.acknowledged(step)
            if not shows_drawing and client.receive(channel.END).cookie != task:
                raise Wrong("it ends another task")
            client.acknowledged(client.event(channel.LIFECYCLE, TERMINATE))
            status = client.process.wait(DEADLINE)
            launched = "launched " + ("prewarmed" if is_prewarmed else "cold")
            expected = ["active", "background", *(["drawn"] if shows_drawing else []), "ends",
                        launched + ("" if shows_drawing else ", visit 1"), "tick",
                        *([] if shows_drawing else ["tidied up"])]
            if sorted(client.lines()) != expected or status != 0:
                raise Wrong(f"{client.lines()}, status {status}")


def alone(command, **environment):
    """Without a daemon, the example starts itself, and its loop runs."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command.split(), stdout=output, stdin=subprocess.DEVNULL,
            env={**os.environ, **environment})
        try:
            end = channel.time.monotonic() + DEADLINE
            while b"tick" not in os.pread(output.fileno(), 1000, 0):
                if channel.time.monotonic() > end or process.poll() is not None:
                    raise Wrong(f"never: tick; {os.pread(output.fileno(), 1000, 0)}")
                channel.time.sleep(0.005)  # between looks
        finally:
            process.kill()
            process.wait()


def build(folder, example, package, what, debian):
    """Builds an example in C with a library."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True, text=True)
    if flags.returncode:
        raise Missing(f"no {what} to build with: apt-get install {debian}")
    program = folder + "/" + example.removesuffix(".c")
    built = subprocess.run(
        [os.environ.get("CLANG", "clang"), "-std=c17", "-Wall", "-Wextra", "-Werror", f"{EXAMPLES}/{example}",
         "-I", ROOT + "/Sources/CGreenroomApp/include", "-o", program, ROOT + "/.build/app/libgreenroom-app.a",
         *flags.stdout.split()], capture_output=True, text=True)
    if built.returncode:
        raise Wrong(built.stderr)
    return program


def python_with(module):
    """Returns a Python that has this module of Qt."""
    for one in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([one, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return one
    raise Missing("no Qt for Python: apt-get install python3-pyqt5")


def glib(folder):
    program = build(folder, "glib_loop.c", "glib-2.0", "GLib", "libglib2.0-dev")
    life(program, False)
    alone(program)
    through_daemon(program, True)


def qt(folder):
    python = python_with("PyQt5.QtWidgets")
    environment = {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": ROOT + "/Sources/Python", "XDG_RUNTIME_DIR": folder,
                   "PYTHONDONTWRITEBYTECODE": "1"}
    command = f"{python} {EXAMPLES}/qt_loop.py"
    life(command, True, **environment)
    alone(command, **environment)
    through_daemon(command, False, "".join(f"Environment={name}={value}\n" for name, value in environment.items()))
