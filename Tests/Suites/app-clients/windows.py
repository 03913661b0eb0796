"""The examples with windows, GTK 4's and Qt's, on a screen of their own (Xvfb(1)): what the user sees after a cold launch
is what the user sees after a prewarmed one and after a return from the background."""
import os
import shutil
import subprocess
import time

from channel import Wrong
from daemon import Daemon, ready, temperature
from loops import EXAMPLES, Missing, Printed, build, python_with
from places import DEADLINE, ROOT


class Screen:
    """An X server whose picture is a file (xwd(1))."""

    def __init__(self, folder):
        program = shutil.which("Xvfb")
        if program is None:
            raise Missing("no Xvfb: apt-get install xvfb")
        self.file = folder + "/Xvfb_screen0"
        read, write = os.pipe()
        self.server = subprocess.Popen(
            [program, "-displayfd", str(write), "-screen", "0", "640x480x24", "-fbdir", folder, "-nolisten", "tcp",
             "-noreset"], pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as number:  # the server writes its number when it is ready
            self.display = ":" + number.readline().strip()
        self.empty = self.picture()

    def picture(self):
        with open(self.file, "rb") as file:
            return file.read()

    def await_picture(self, what, fact):
        """Returns the picture when it fulfils the condition and two looks have seen the same."""
        end, last = time.monotonic() + DEADLINE, None
        while time.monotonic() < end:
            picture = self.picture()
            if fact(picture) and picture == last:
                return picture
            last = picture
            time.sleep(0.02)  # between looks
        raise Wrong(f"never on the screen: {what} ({difference(last, self.empty)} bytes are not the background's)")

    def stop(self):
        self.server.terminate()
        self.server.wait(DEADLINE)


def difference(one, other):
    return sum(a != b for a, b in zip(one, other))


def seen(command, environment, folder):
    screen = Screen(folder)
    try:
        variables = {**environment, "DISPLAY": screen.display, "XDG_RUNTIME_DIR": folder, "HOME": folder}
        lines = "".join(f"Environment={name}={value}\n" for name, value in variables.items())
        daemon = Daemon(command, {"window": ("BackgroundGraceSec=100ms\n", "")}, lines)
        try:
            cold = [app for app in daemon.names if app.endswith("cold")]
            warm = [app for app in daemon.names if app.endswith("warm")]
            shown = {app: visit(daemon, screen, app) for app in cold + warm}
        finally:
            daemon.stop()
    finally:
        screen.stop()
    if len(set(shown.values())) != 1:
        raise Wrong("a prewarmed launch shows another picture than a cold one")


def visit(daemon, screen, app):
    """Launches, hides, freezes, shows and ends the app. Returns what it shows."""
    await_lines = Printed(daemon).await_lines
    ready(daemon, app)
    screen.await_picture("the background alone, before the launch", lambda picture: picture == screen.empty)
    daemon.ctl("launch", app)
    await_lines(f"launched {temperature(app)}", "active", "tick", "drawn")
    # A window with a text: it differs from the background in more than a line of pixels.
    shown = screen.await_picture("a window", lambda picture: difference(picture, screen.empty) > 1_000)
    daemon.ctl("background", app)
    await_lines("background")
    screen.await_picture("the background alone", lambda picture: picture == screen.empty)
    daemon.await_state(app, "suspended")
    daemon.ctl("foreground", app)
    await_lines("active", "tick", "drawn")
    screen.await_picture("the same window as before", lambda picture: picture == shown)
    daemon.ctl("terminate", app)
    daemon.await_end(app)
    await_lines("ends")
    return shown


def gtk(folder):
    program = build(folder, "gtk_window.c", "gtk4", "GTK 4", "libgtk-4-dev")
    seen(program, {"GDK_BACKEND": "x11", "GSK_RENDERER": "cairo", "GTK_A11Y": "none", "GSETTINGS_BACKEND": "memory",
                   "DBUS_SESSION_BUS_ADDRESS": "disabled:"}, folder)


def qt(folder):
    command = f"{python_with('PyQt5.QtWidgets')} {EXAMPLES}/qt_loop.py"
    seen(command, {"QT_QPA_PLATFORM": "xcb", "PYTHONPATH": ROOT + "/Sources/Python", "PYTHONDONTWRITEBYTECODE": "1",
                   "QT_XCB_NO_MITSHM": "1", "DBUS_SESSION_BUS_ADDRESS": "disabled:"}, folder)
