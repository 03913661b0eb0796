"""The examples with loops of their own, GLib's and Qt's: built, and run as apps."""
import os
import subprocess
import sys
import tempfile

import channel
from channel import ACTIVE, BACKGROUND, FIRST_FRAME, RESIGN, TERMINATE, Client, Wrong

ROOT = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
EXAMPLES = ROOT + "/Sources/Samples/Loops"


class Missing(Exception):
    """What the machine lacks for it."""


def life(command, shows_drawing, **environment):
    """A whole life, with the loop's own timer in it: the app's events do not keep the loop from anything else."""
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
            client.move(RESIGN, BACKGROUND)
            client.acknowledged(client.event(channel.LIFECYCLE, TERMINATE))
            status = client.process.wait(channel.DEADLINE)
            expected = ["active", "background", *(["drawn"] if shows_drawing else []), "ends",
                        "launched " + ("prewarmed" if is_prewarmed else "cold"), "tick"]
            if sorted(client.lines()) != expected or status != 0:
                raise Wrong(f"{client.lines()}, status {status}")


def alone(command, **environment):
    """Without a daemon it starts itself, and its loop runs."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command.split(), stdout=output, stdin=subprocess.DEVNULL,
            env={**os.environ, **environment})
        try:
            end = channel.time.monotonic() + channel.DEADLINE
            while b"tick" not in os.pread(output.fileno(), 1000, 0):
                if channel.time.monotonic() > end or process.poll() is not None:
                    raise Wrong(f"never: tick; {os.pread(output.fileno(), 1000, 0)}")
                channel.time.sleep(0.005)  # between looks
        finally:
            process.kill()
            process.wait()


def glib(folder):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "glib-2.0"], capture_output=True, text=True)
    if flags.returncode:
        raise Missing("no GLib to build with: apt-get install libglib2.0-dev")
    program = folder + "/glib-loop"
    built = subprocess.run(
        [os.environ.get("CLANG", "clang"), "-std=c17", "-Wall", "-Wextra", "-Werror", EXAMPLES + "/glib_loop.c",
         "-I", ROOT + "/Sources/CGreenroomApp/include", "-o", program, ROOT + "/.build/app/libgreenroom-app.a",
         *flags.stdout.split()], capture_output=True, text=True)
    if built.returncode:
        raise Wrong(built.stderr)
    life(program, False)
    alone(program)


def qt(folder):
    python = next((one for one in (sys.executable, "/usr/bin/python3") if subprocess.run(
        [one, "-c", "import PyQt5.QtWidgets"], capture_output=True).returncode == 0), None)
    if python is None:
        raise Missing("no Qt for Python: apt-get install python3-pyqt5")
    environment = {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": ROOT + "/Sources/Python", "XDG_RUNTIME_DIR": folder,
                   "PYTHONDONTWRITEBYTECODE": "1"}
    command = f"{python} {EXAMPLES}/qt_loop.py"
    life(command, True, **environment)
    alone(command, **environment)
