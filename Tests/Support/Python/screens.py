"""A test's own display servers: an X server without a window manager, and a Wayland compositor without an
output device. Each says which windows appear, which are there, and what the screen shows."""
import os
import select
import subprocess
import time
from pathlib import Path

from desk import XDesk

PATIENCE_SECONDS = 30
PROBES = Path(__file__).resolve().parents[2] / "Probes"
NOBODY = 65534  # the user of desktop programs if the test runs as root


def as_user(command):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command] if os.getuid() == 0 else command


class Screen:
    """A display server, and its client that prints the name of each window that appears.

    `heard`: when that client heard of the last window whose name was read (time.perf_counter())."""

    def start_watch(self, folder, source, libraries):
        probe = f"{folder}/{source}-probe"
        subprocess.run(["clang", "-D_GNU_SOURCE", PROBES / f"{source}.c", "-o", probe, *libraries], check=True)
        self.probe = probe
        self.watch = subprocess.Popen([probe, "times"], stdout=subprocess.PIPE, env=self.variables)
        while self.line() != b"watching":
            pass

    def line(self):
        """The name of the next window that appears. Reads without a buffer, in which select would not see
        bytes."""
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self.watch.stdout], [], [], PATIENCE_SECONDS)[0]:
                raise SystemExit("no window appeared")
            byte = os.read(self.watch.stdout.fileno(), 1)
            if not byte:
                raise SystemExit("the client that prints windows has ended")
            text += byte
        time_of_event, space, name = text[:-1].partition(b" ")
        if not space:
            return text[:-1]  # the client itself says something
        self.heard = float(time_of_event)
        return name

    def skip_lines(self):
        """Forgets the windows that have appeared so far."""
        while select.select([self.watch.stdout], [], [], 0)[0] and os.read(self.watch.stdout.fileno(), 65536):
            pass

    def windows(self):
        """The names of all windows."""
        done = subprocess.run([self.probe, "asks"], env=self.variables, capture_output=True, check=True)
        return done.stdout.decode(errors="replace").splitlines()

    def end(self):
        """Ends the server, as a crash does."""
        self.server.kill()
        self.server.wait()

    def close(self):
        self.watch.kill()
        self.watch.wait()
        self.end()


class XServer(Screen):
    kind, program = "x11", "Xvfb"

    def __init__(self, folder):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset",
             "-fbdir", str(folder)],
            pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as number:
            self.variables = {"DISPLAY": ":" + number.readline().strip()}
        self.start_watch(folder, "windows", ["-l:libX11.so.6", "-l:libxcb.so.1"])
        self.memory = Path(folder) / "Xvfb_screen0"

    def picture(self):
        """The bytes of the screen, for comparisons."""
        return self.memory.read_bytes()


class ManagedXServer(XServer):
    """An X server with a window manager: openbox(1), or the command `words`."""
    kind, program = "x11 with openbox", "openbox"
    words, settings = ["openbox", "--sm-disable"], {}

    def __init__(self, folder):
        super().__init__(folder)
        self.manager = subprocess.Popen(as_user(self.words), env={"PATH": "/usr/bin:/bin", "HOME": folder, **self.variables,
                                        **self.settings}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.desk = XDesk(self.variables["DISPLAY"])
        self.desk.await_owner("WM_S0")

    def end(self):
        self.desk.close()  # libX11 ends the whole process when it loses its server
        self.manager.kill()
        self.manager.wait()
        super().end()


class Compositor(Screen):
    kind, program = "wayland", "sway"

    def __init__(self, folder):
        config = Path(folder) / "sway.conf"
        config.touch(mode=0o644)
        self.server = subprocess.Popen(
            as_user(["sway", "--config", str(config)]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder, "WLR_BACKENDS": "headless",
                 "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1"})
        self.variables = {"WAYLAND_DISPLAY": "wayland-1", "XDG_RUNTIME_DIR": folder, "QT_QPA_PLATFORM": "wayland",
                          "GDK_BACKEND": "wayland"}
        end = time.monotonic() + PATIENCE_SECONDS
        while not (Path(folder) / "wayland-1").exists():
            if time.monotonic() > end or self.server.poll() is not None:
                raise SystemExit("sway did not start")
            time.sleep(0.02)
        self.start_watch(folder, "toplevels", ["-l:libwayland-client.so.0"])

    def picture(self):
        """The bytes of the screen, for comparisons (grim(1))."""
        done = subprocess.run(["grim", "-t", "ppm", "-"], env={"PATH": "/usr/bin:/bin", **self.variables},
                              capture_output=True, check=True)
        return done.stdout
