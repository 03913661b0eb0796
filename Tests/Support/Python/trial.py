"""Desktop programs on a screen and a message bus of a test's own: what they show, started directly and by the daemon.
Held at its first window and released, a program must leave the same windows and the same picture."""
import collections
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
LONGEST_LOOK_SECONDS = 0.25  # after a longer look, nobody knows what was shown in the meantime
QUIET_SECONDS = 1.5  # longer than a cursor takes to blink
KNOWN_SECONDS = 0.2
BLOCK = 4096
POINTER_BLOCKS = 64  # a pointer in another shape changes fewer than these; a window changes more
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={path}</listen><servicedir>{services}</servicedir>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""


class Wrong(Exception):
    """Says what is wrong with the program."""


def start_bus(folder, name):
    """Starts a message bus, and returns the path of its socket. The bus starts services that have a file in the folder
    `services`."""
    path, configuration = folder / name, folder / f"{name}.conf"
    configuration.write_text(BUS.format(path=path, services=folder / "services"))
    configuration.chmod(0o644)
    bus = subprocess.Popen(
        as_user(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile", "--print-address"]),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if not bus.stdout.readline():
        bus.wait()
        raise Wrong("the message bus did not start")
    return bus, path


class WindowProfile:
    """The profile of a program that may be held at its first window: its name, its program, and where it was tested."""

    def __init__(self, path):
        keys = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line and line[0] != "#")
        self.name, self.program, self.tested = path.stem, keys.get("Program"), keys.get("Tested", "").split(": ")[-1].split()
        self.may_be_held = keys.get("Window") == "yes"
        # Without its desktop entry, an app cannot have a name of one part.
        self.app = self.name if "." in self.name else "org.example." + self.name


def window_profiles():
    return [profile for path in sorted(Path(ROOT, "config/profiles").glob("*.conf"))
            if (profile := WindowProfile(path)).may_be_held]


class ProfiledDaemon(Daemon):
    def command(self):
        return [*super().command(), "--profiles", ROOT + "/config/profiles"]


class Ground:
    """A screen, a message bus and a home. `kind`: the kind of the screen."""

    def __init__(self, kind=XServer):
        with contextlib.ExitStack() as stack:
            # The folder is directly below the root, because a long name could make a socket's path too
            # long.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="profile-"))
            self.folder = Path(folder)
            if os.getuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
            os.chmod(folder, 0o700)
            self.home = Path(self.add_home("home"))
            self.screen = kind(folder)
            stack.callback(self.screen.close)
            self.bus = self.start_bus(stack, "bus")
            self.variables = {
                "HOME": str(self.home), "XDG_RUNTIME_DIR": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SHELL": "/bin/sh",
                "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.bus}", "NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory",
                **self.screen.variables}
            self.empty = self.screen.picture()
            self.program = None
            self.closing = stack
            self.set_up()
            self.closing = stack.pop_all()

    def set_up(self):
        """Sets up what else a test needs. If this fails, everything is closed."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.close()

    def add_home(self, name):
        home = self.folder / name
        home.mkdir()
        if os.getuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        return str(home)

    def start_bus(self, stack, name):
        bus, path = start_bus(self.folder, name)
        stack.callback(bus.wait)
        stack.callback(bus.kill)
        return path

    # --- What is seen.

    def is_empty(self, picture):
        """Whether no window is drawn. Some programs leave the pointer in another shape."""
        different = sum(picture[at:at + BLOCK] != self.empty[at:at + BLOCK] for at in range(0, len(picture), BLOCK))
        return different < POINTER_BLOCKS

    def threads(self):
        """Returns the states of the threads of the program that was started last."""
        states = []
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the program or a thread has ended
            for stat in Path(f"/proc/{self.program}/task").glob("*/stat"):
                states.append(stat.read_text().rpartition(")")[2].split()[0])
        return "".join(states)

    def is_waiting(self):
        """Whether no thread of the program that was started last wants to run: on a busy machine, a program that has not
        finished its window may draw nothing for seconds."""
        return "R" not in self.threads()

    def pictures(self, known=()):
        """Returns the screen's pictures when only blinking parts still change, or when the screen stays for a moment as in
        one of the known pictures."""
        now = time.monotonic()
        end, seen, quiet, looks = now + DEADLINE, [], 0, collections.Counter()
        while quiet < QUIET_SECONDS:
            if now > end:
                raise Wrong(f"the screen does not come to rest: {dict(looks)}, windows {self.screen.windows()}, "
                            f"threads {self.threads() or 'none'}")
            time.sleep(LOOK_SECONDS)
            picture = self.screen.picture()
            before, now = now, time.monotonic()
            if self.is_empty(picture):
                looks["empty"] += 1
                seen, quiet = [], 0
            elif picture not in seen[-2:]:
                looks["changed"] += 1
                seen, quiet = [*seen[-1:], picture], 0
            elif not self.is_waiting():
                looks["at work"] += 1
            else:
                looks["the same"] += 1
                quiet += min(now - before, LONGEST_LOOK_SECONDS)
                if quiet >= KNOWN_SECONDS and picture in known:
                    return [picture]
        return seen

    def await_fact(self, what, fact):
        end = time.monotonic() + DEADLINE
        while not fact():
            if time.monotonic() > end:
                raise Wrong(f"never: {what}")
            time.sleep(LOOK_SECONDS)

    def await_empty(self):
        self.await_fact("no window is left", lambda: not self.screen.windows())

    # --- Started directly.

    def begin(self, words, variables=None):
        return subprocess.Popen(as_user(words), env=variables or self.variables, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")

    @contextlib.contextmanager
    def started(self, words, variables=None):
        """Runs the program, which has its first window in this context and is ended afterwards, with all windows."""
        process = self.begin(words, variables)
        self.program = process.pid
        try:
            self.screen.line()
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.await_empty()

    # --- By the daemon.

    def manifest(self, words, lines="", variables=None):
        """Returns a manifest. `lines`: lines of [Prewarm]."""
        settings = [f"Environment={name}={value}" for name, value in (variables or self.variables).items()]
        if os.getuid() == 0:
            settings.append(f"User={NOBODY}")
        return "\n".join(["[App]", "Exec=" + " ".join(words), *settings, "[Prewarm]", "When=boot", lines, ""])

    def keep(self, name, seen, expected):
        """Writes pictures that differ to the folder that KEEP= names, if any."""
        folder = os.environ.get("KEEP")
        if folder:
            for way, picture in (("released", seen[-1]), ("direct", expected[-1])):
                (Path(folder) / f"{name}.{self.screen.kind}.{way}").write_bytes(picture)


def reasons(daemon, app):
    return daemon.call("Explain", {"app": app})["reasons"]


def await_held(daemon, app):
    """Returns the app's instance when it is held and frozen."""
    def held():
        for reason in reasons(daemon, app):
            # The name is free again when the former instance has ended.
            if reason["code"] != "depth_name_taken" and reason["code"].startswith(("depth_", "window_", "no_withholding")):
                raise Wrong(f"{reason['code']}: {reason['text']}")
        return [one for one in daemon.call("Status", {"app": app})["instances"]
                if one["state"] == "prewarmed" and one.get("depth") == "window" and one.get("threadsFrozen")]
    return daemon.await_fact("a held window", held, LOOK_SECONDS)[0]


class Trial(Ground):
    """A trial of one program. `lines`: lines of the manifest's [Prewarm]; without them, the profile decides."""

    def __init__(self, app, words, kind=XServer, lines=""):
        super().__init__(kind)
        self.app, self.words, self.lines = app, words, lines

    def files(self):
        """Returns the files of the home, and when each was changed."""
        return {path: path.lstat().st_mtime_ns for path in self.home.rglob("*") if path.is_file()}

    def direct(self):
        with self.started(self.words):
            return self.pictures(), self.screen.windows()

    def start_daemon(self, **options):
        kind = Daemon if self.lines else ProfiledDaemon
        daemon = kind(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, **options)
        self.closing.callback(daemon.stop)
        daemon.install(self.app, self.manifest(self.words, self.lines))
        daemon.start()
        return daemon

    def compare(self, **options):
        """Raises `Wrong` where a held and released program differs from a directly started one."""
        self.direct()  # what a first start leaves in the home must not count for the held program
        expected, windows = self.direct()
        before = self.files()
        daemon = self.start_daemon(**options)
        held = await_held(daemon, self.app)
        self.changed = sorted(str(path.relative_to(self.home)) for path, time in self.files().items() if before.get(path) != time)
        if self.screen.windows() or not self.is_empty(self.screen.picture()):
            raise Wrong(f"it shows {self.screen.windows()} while it is held")
        began = time.perf_counter()
        launched = daemon.call("Launch", {"app": self.app})
        self.screen.line()
        took = self.screen.heard - began
        if launched["kind"] != "prewarmed" or launched["instance"] != held["instance"]:
            raise Wrong(f"it was launched {launched['kind']}: {launched.get('coldReason')}")
        self.program = launched["processId"]
        seen = self.pictures()
        if self.screen.windows() != windows:
            raise Wrong(f"its windows are {self.screen.windows()}, not {windows}")
        if not set(seen) & set(expected):
            self.keep(self.app, seen, expected)
            count = min(sum(a != b for a, b in zip(one, other)) for one in seen for other in expected)
            raise Wrong(f"it looks otherwise: {count} bytes differ")
        # The next instance is prepared beside this one, and must not make it show another window.
        daemon.await_fact("another instance", lambda: any(
            one["state"] == "prewarmed" for one in daemon.call("Status", {"app": self.app})["instances"]), LOOK_SECONDS)
        self.pictures()
        if self.screen.windows() != windows:
            raise Wrong(f"with the next one prepared, its windows are {self.screen.windows()}, not {windows}")
        return took, windows
