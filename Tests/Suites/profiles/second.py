"""Second launches of programs that run once: a held instance must leave the same windows, with the same titles, as an instance
that was started directly and is seen."""
import contextlib
import os
import signal
import struct
import zlib
from pathlib import Path

from screens import XServer
from trial import Ground, ProfiledDaemon, Wrong, await_held


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


PICTURE = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
           + chunk(b"IDAT", zlib.compress(b"\0" * 72)) + chunk(b"IEND", b""))
# The programs of which a second process gives everything to the first. The document of each, and the name by which it is an
# org.freedesktop.Application.
PROGRAMS = {
    "org.xfce.mousepad": ("letter.txt", "org.xfce.mousepad"),
    "org.gnome.gedit": ("letter.txt", "org.gnome.gedit"),
    "org.gnome.eog": ("picture.png", "org.gnome.eog"),
    "thunar": ("folder", "org.xfce.Thunar"),
    "featherpad": ("letter.txt", None),
    "lximage-qt": ("picture.png", None),
}
SHORT = ["org.xfce.mousepad"]


def has_process(group):
    """Whether a process of the group runs. One that has ended may stay until somebody asks for its end."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, own, *_ = stat.read_text().rpartition(")")[2].split()
            if int(own) == group and state not in "ZX":
                return True
    return False


class Second(Ground):
    """One program."""

    def __init__(self, profile, kind=XServer):
        self.profile, self.processes = profile, []
        self.name, self.bus_name = PROGRAMS[profile.name]
        super().__init__(kind)

    def set_up(self):
        self.closing.callback(self.end_others)
        self.document = self.home / self.name
        if self.document.suffix == ".txt":
            self.document.write_text("Dear Sir\n")
        elif self.document.suffix == ".png":
            self.document.write_bytes(PICTURE)
        else:
            self.document.mkdir()
        self.document.chmod(0o777)

    # --- Second launches.

    def actions(self):
        """What starts the program a second time, by its name."""
        program, entry = self.profile.program, f"/usr/share/applications/{self.profile.name}.desktop"
        file = str(self.document)
        found = {"it is started": [program], "its desktop entry is launched": ["gio", "launch", entry],
                 "it is started with a file": [program, file],
                 "its desktop entry is launched with a file": ["gio", "launch", entry, file]}
        if self.bus_name:
            call = ["gdbus", "call", "--session", "--dest", self.bus_name, "--object-path", "/" + self.bus_name.replace(".", "/"),
                    "--method"]
            found["the bus activates it"] = [*call, "org.freedesktop.Application.Activate", "{}"]
            found["the bus opens a file"] = [*call, "org.freedesktop.Application.Open", f"['file://{file}']", "{}"]
        return found

    def act(self, words):
        self.processes.append(self.begin(words))

    def end_others(self):
        """A second process that waits for what it has started, or gives nothing to the first."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.processes = []

    # --- What they leave.

    def settled(self):
        """The names of the windows, once the second process has given what it has to the first and ended."""
        for process in self.processes:
            self.await_fact("the second process ends", lambda process=process: process.poll() is not None
                            and not has_process(process.pid))
        self.pictures()
        return sorted(self.screen.windows())

    def beside_warm(self, words):
        with self.started([self.profile.program]):
            self.pictures()
            self.act(words)
            windows = self.settled()
            self.end_others()
        return windows

    def start_daemon(self):
        self.daemon = ProfiledDaemon(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        self.closing.callback(self.daemon.stop)
        self.daemon.install(self.profile.app, self.manifest([self.profile.program]))
        self.daemon.start()

    def beside_held(self, words):
        held = await_held(self.daemon, self.profile.app)
        if self.screen.windows():
            raise Wrong(f"it shows {self.screen.windows()} while it is held")
        self.program = held["processId"]
        self.act(words)
        try:
            windows = self.settled()
            states = [one["state"] for one in self.daemon.call("Status", {"app": self.profile.app})["instances"]
                      if one["instance"] == held["instance"]]
            return windows, states
        finally:
            self.end_others()
            with contextlib.suppress(Exception):  # it may have ended by itself
                self.daemon.call("Kill", {"instance": held["instance"]})
            self.await_empty()


def missing(profile):
    entry = f"/usr/share/applications/{profile.name}.desktop"
    return None if os.path.exists(entry) else f"no {entry}"


def compare_all(profile, kind, report):
    """`report(what, body)` calls the body, which raises `Wrong` where the windows differ."""
    with Second(profile, kind) as second:
        second.beside_warm(["true"])  # what a first start leaves in the home is not the held program's doing
        actions = second.actions()
        expected = {what: second.beside_warm(words) for what, words in actions.items()}
        second.start_daemon()

        def compare(what):
            windows, states = second.beside_held(actions[what])
            if windows != expected[what]:
                raise Wrong(f"the windows are {windows}, not {expected[what]}; the held instance is {states}")
            return f"{windows}; the held instance is {states}"
        for what in actions:
            report(what, lambda what=what: compare(what))
