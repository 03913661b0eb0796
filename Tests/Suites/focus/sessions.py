"""Window managers and compositors without a screen, on which a user can press a key."""
import os
import shutil
import subprocess
import time
from pathlib import Path

from screens import PATIENCE_SECONDS, Compositor, ManagedXServer, as_user
from trial import start_bus

KEY_CODE = 30  # the key A, as the kernel numbers it; X11 counts eight more
LOOK_SECONDS = 0.02
HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's packages are for Debian's Python, which need not be the first one in PATH.
PYTHON_WITH_GTK = next((path for path in ("python3", "/usr/bin/python3") if shutil.which(path) and subprocess.run(
    [path, "-c", "import gi; gi.require_version('Gtk', '3.0')"], stderr=subprocess.DEVNULL, check=False).returncode == 0), None)


class OnX:
    """A session on X11, where a program gets the launch's identifier."""
    variable, has_names, may_hold = "DESKTOP_STARTUP_ID", True, True

    def press(self):
        self.desk.type(KEY_CODE + 8)


class Openbox(OnX, ManagedXServer):
    kind, needed = "openbox", ["Xvfb", "openbox"]


class OnXWithBus(OnX, ManagedXServer):
    def __init__(self, folder):
        self.bus, path = start_bus(Path(folder), "manager-bus")
        self.address = f"unix:path={path}"
        self.settings = {**self.settings, "XDG_RUNTIME_DIR": folder, "DBUS_SESSION_BUS_ADDRESS": self.address,
                         "GSETTINGS_BACKEND": "memory"}
        super().__init__(folder)

    def close(self):
        super().close()
        self.bus.kill()
        self.bus.wait()


class Mutter11(OnXWithBus):
    kind, needed = "mutter on X11", ["Xvfb", "mutter"]
    words = ["mutter", "--x11", "--sm-disable"]


class KWin11(OnXWithBus):
    kind, needed = "kwin_x11", ["Xvfb", "kwin_x11"]
    words, settings = ["kwin_x11"], {"QT_QPA_PLATFORM": "xcb", "KWIN_COMPOSE": "N"}
    has_names = False  # a window is two levels below its frame, where this does not look for names


class Sway(Compositor):
    kind, needed = "sway", ["sway", "wtype"]
    variable, has_names, may_hold = "XDG_ACTIVATION_TOKEN", True, True

    def press(self):
        # Clients take the keyboard as soon as there is one.
        subprocess.run(["wtype", "-s", "300", "a"], env={"PATH": "/usr/bin:/bin", **self.variables}, check=True)


class Headless:
    """A compositor that needs a message bus, and tells nobody which windows it has."""
    variable, has_names = "XDG_ACTIVATION_TOKEN", False
    may_hold, settings = True, {}
    keys = None

    def __init__(self, folder):
        self.folder = Path(folder)
        self.bus, path = start_bus(self.folder, "compositor-bus")
        self.address = f"unix:path={path}"
        self.variables = {"WAYLAND_DISPLAY": "wayland-1", "XDG_RUNTIME_DIR": folder, "QT_QPA_PLATFORM": "wayland",
                          "GDK_BACKEND": "wayland"}
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder, "GSETTINGS_BACKEND": "memory",
                            "DBUS_SESSION_BUS_ADDRESS": self.address, "LIBGL_ALWAYS_SOFTWARE": "1", **self.settings}
        with open(self.folder / "compositor.log", "wb") as log:
            self.server = subprocess.Popen(as_user(self.words), env=self.environment, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE_SECONDS
        while not (self.folder / "wayland-1").exists():
            if time.monotonic() > end or self.server.poll() is not None:
                said = (self.folder / "compositor.log").read_text(errors="replace")
                self.close()
                raise SystemExit(f"{self.words[0]} did not start: {said[-2000:]}")
            time.sleep(LOOK_SECONDS)

    def picture(self):
        return b""

    def press(self):
        self.keys.stdin.write(b"\n")
        self.keys.stdin.flush()

    def close(self):
        for process in filter(None, (self.keys, self.server, self.bus)):
            process.kill()
            process.wait()


PRESS_BY_MUTTER = f"""
import sys
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
NAME = "org.gnome.Mutter.RemoteDesktop"
def call(path, interface, method, arguments=None):
    return bus.call_sync(NAME, path, interface, method, arguments, None, 0, 10000, None)
session, = call("/org/gnome/Mutter/RemoteDesktop", NAME, "CreateSession").unpack()
call(session, NAME + ".Session", "Start")
for line in sys.stdin:
    for is_down in (True, False):
        call(session, NAME + ".Session", "NotifyKeyboardKeycode", GLib.Variant("(ub)", ({KEY_CODE}, is_down)))
"""


class Mutter(Headless):
    kind, needed, may_hold = "mutter", ["mutter"], False
    words = ["mutter", "--headless", "--wayland", "--no-x11", "--wayland-display", "wayland-1", "--virtual-monitor", "1280x800"]

    def __init__(self, folder):
        super().__init__(folder)
        self.keys = subprocess.Popen(as_user([PYTHON_WITH_GTK, "-c", PRESS_BY_MUTTER]), env=self.environment,
                                     stdin=subprocess.PIPE)


class KWin(Headless):
    kind, needed = "kwin_wayland", ["kwin_wayland"]
    words = ["kwin_wayland", "--virtual", "--width", "1280", "--height", "800", "--socket", "wayland-1", "--no-lockscreen"]
    settings = {"KWIN_COMPOSE": "Q", "KWIN_WAYLAND_NO_PERMISSION_CHECKS": "1"}

    def __init__(self, folder):
        # KWin's program has a file capability, so it cannot be executed where that capability is not
        # available. A copy has none.
        copy = shutil.copy(shutil.which("kwin_wayland"), folder)
        self.words = [copy, *self.words[1:]]
        super().__init__(folder)
        # KWin looks up which program this is, so it must belong to the same user.
        self.keys = subprocess.Popen(
            as_user([PYTHON_WITH_GTK, HERE + "/fake_input.py", self.folder / "wayland-1", str(KEY_CODE)]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if not self.keys.stdout.readline():
            self.close()
            raise SystemExit("KWin lets nobody type here")


SESSIONS = [Openbox, Sway, Mutter11, Mutter, KWin11, KWin]


def missing(session):
    return next((f"no {name}" for name in session.needed if not shutil.which(name)), None)
