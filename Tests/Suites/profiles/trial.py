"""One desktop program, on a screen and a message bus of its own: started directly, and held at its first window and
released. Both must leave the same windows and the same picture."""
import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from greenroomd import Daemon
from places import DEADLINE, ROOT
from screens import NOBODY, XServer, as_user

LOOK_SECONDS = 0.05
QUIET_LOOKS = 30  # longer than a cursor takes to blink
BLOCK = 4096
POINTER_BLOCKS = 64  # a pointer in another shape changes fewer than these; a window changes more
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={path}</listen>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""


class Wrong(Exception):
    """What the program does not do."""


class ProfiledDaemon(Daemon):
    def command(self):
        return [*super().command(), "--profiles", ROOT + "/config/profiles"]


class Trial:
    """`kind`: of the screen. `lines`: of the manifest's [Prewarm]; without them, the profile decides."""

    def __init__(self, app, words, kind=XServer, lines=""):
        self.app, self.words, self.lines = app, words, lines
        with contextlib.ExitStack() as stack:
            # Below the root, where a long name does not make a socket's path too long.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="profile-"))
            self.folder = Path(folder)
            if os.getuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
            os.chmod(folder, 0o700)
            self.home = self.folder / "home"
            self.home.mkdir()
            if os.getuid() == 0:
                os.chown(self.home, NOBODY, NOBODY)
            self.screen = kind(folder)
            stack.callback(self.screen.close)
            self.start_bus(stack)
            self.variables = {
                "HOME": str(self.home), "XDG_RUNTIME_DIR": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SHELL": "/bin/sh",
                "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.bus}", "NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory",
                **self.screen.variables}
            self.empty = self.screen.picture()
            self.closing = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.close()

    def start_bus(self, stack):
        self.bus = self.folder / "bus"
        configuration = self.folder / "bus.conf"
        configuration.write_text(BUS.format(path=self.bus))
        configuration.chmod(0o644)
        bus = subprocess.Popen(
            as_user(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile", "--print-address"]),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        stack.callback(bus.wait)
        stack.callback(bus.kill)
        if not bus.stdout.readline():
            raise Wrong("the message bus did not start")

    # --- What is seen.

    def is_empty(self, picture):
        """Whether no window is drawn. Some programs leave the pointer in another shape."""
        different = sum(picture[at:at + BLOCK] != self.empty[at:at + BLOCK] for at in range(0, len(picture), BLOCK))
        return different < POINTER_BLOCKS

    def pictures(self):
        """The screen's pictures once it changes no more but for what blinks."""
        end = time.monotonic() + DEADLINE
        seen, quiet = [], 0
        while quiet < QUIET_LOOKS:
            if time.monotonic() > end:
                raise Wrong("the screen does not come to rest")
            time.sleep(LOOK_SECONDS)
            picture = self.screen.picture()
            if self.is_empty(picture):
                seen, quiet = [], 0
            elif picture in seen[-2:]:
                quiet += 1
            else:
                seen, quiet = [*seen[-1:], picture], 0
        return seen

    def await_empty(self):
        end = time.monotonic() + DEADLINE
        while self.screen.windows():
            if time.monotonic() > end:
                raise Wrong("its windows stay when it has ended")
            time.sleep(LOOK_SECONDS)

    def files(self):
        """The files of the home, and when each was changed."""
        return {path: path.lstat().st_mtime_ns for path in self.home.rglob("*") if path.is_file()}

    # --- Started directly.

    def direct(self):
        process = subprocess.Popen(as_user(self.words), env=self.variables, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
        try:
            self.screen.line()
            return self.pictures(), self.screen.windows()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.await_empty()

    # --- By the daemon.

    def manifest(self):
        lines = [f"Environment={name}={value}" for name, value in self.variables.items()]
        if os.getuid() == 0:
            lines.append(f"User={NOBODY}")
        return "\n".join(["[App]", "Exec=" + " ".join(self.words), *lines, "[Prewarm]", "When=boot", self.lines, ""])

    def start_daemon(self, **options):
        kind = Daemon if self.lines else ProfiledDaemon
        daemon = kind(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, **options)
        self.closing.callback(daemon.stop)
        daemon.install(self.app, self.manifest())
        daemon.start()
        return daemon

    def reasons(self, daemon):
        return daemon.call("Explain", {"app": self.app})["reasons"]

    def await_held(self, daemon):
        def held():
            for reason in self.reasons(daemon):
                if reason["code"].startswith(("depth_", "window_", "no_withholding")):
                    raise Wrong(f"{reason['code']}: {reason['text']}")
            return [one for one in daemon.call("Status", {"app": self.app})["instances"]
                    if one["state"] == "prewarmed" and one.get("depth") == "window" and one.get("threadsFrozen")]
        return daemon.await_fact("a held window", held, LOOK_SECONDS)[0]

    def compare(self, **options):
        """Raises `Wrong` where held and released differs from started directly."""
        self.direct()  # what a first start leaves in the home is not the held program's doing
        expected, windows = self.direct()
        before = self.files()
        daemon = self.start_daemon(**options)
        held = self.await_held(daemon)
        self.changed = sorted(str(path.relative_to(self.home)) for path, time in self.files().items() if before.get(path) != time)
        if self.screen.windows() or not self.is_empty(self.screen.picture()):
            raise Wrong(f"it shows {self.screen.windows()} while it is held")
        began = time.perf_counter()
        launched = daemon.call("Launch", {"app": self.app})
        self.screen.line()
        took = time.perf_counter() - began
        if launched["kind"] != "prewarmed" or launched["instance"] != held["instance"]:
            raise Wrong(f"it was launched {launched['kind']}: {launched.get('coldReason')}")
        seen = self.pictures()
        if self.screen.windows() != windows:
            raise Wrong(f"its windows are {self.screen.windows()}, not {windows}")
        if not set(seen) & set(expected):
            self.keep(seen, expected)
            count = min(sum(a != b for a, b in zip(one, other)) for one in seen for other in expected)
            raise Wrong(f"it looks otherwise: {count} bytes differ")
        # The next one is prepared beside it, and must not make it show another window.
        daemon.await_fact("another instance", lambda: any(
            one["state"] == "prewarmed" for one in daemon.call("Status", {"app": self.app})["instances"]), LOOK_SECONDS)
        self.pictures()
        if self.screen.windows() != windows:
            raise Wrong(f"with the next one prepared, its windows are {self.screen.windows()}, not {windows}")
        return took, windows

    def keep(self, seen, expected):
        """Where KEEP= names a folder, pictures that differ go there."""
        folder = os.environ.get("KEEP")
        if folder:
            for name, picture in (("released", seen[-1]), ("direct", expected[-1])):
                (Path(folder) / f"{self.app}.{self.screen.kind}.{name}").write_bytes(picture)
