"""Tests the reasons for which a held program is not launched: another session or display than those of the hold, a library
or a file of settings that has changed, another scale, age, and a program that has not come to rest. `Explain` names each."""
import os
import shutil
import signal
import subprocess
from itertools import cycle
from pathlib import Path

from control import request
from screens import XServer
from trial import Ground, ProfiledDaemon, Wrong, await_held

# Programs of two toolkits: GTK 3 and Qt 5. Both load this library.
PROGRAMS = {"galculator": "/usr/bin/galculator", "featherpad": "/usr/bin/featherpad"}
# What each has read, or looked for, at its start: of its toolkit, and of its own.
SETTINGS = {"galculator": ".config/gtk-3.0/settings.ini", "featherpad": ".config/featherpad/fp.conf"}
LIBRARY = next(iter(Path("/usr/lib").glob("*/libpng16.so.16")), Path("/none"))
# Programs are held on demand, so that no other instance is prepared in place of a refused one.
ON_DEMAND = "When=demand\n"
LOOK_SECONDS = 0.05
CHANGE_SECONDS = 1  # changes are told at most once in this time


class Held(Ground):
    """A program with a display, whose library may be replaced."""

    def __init__(self, name, path, lines=""):
        self.app, self.words, self.lines = "org.example." + name, [path], lines
        super().__init__()

    def set_up(self):
        self.libraries = self.folder / "libraries"
        self.libraries.mkdir(mode=0o755)
        shutil.copy(LIBRARY, self.libraries / LIBRARY.name)
        self.variables["LD_LIBRARY_PATH"] = str(self.libraries)
        self.daemon = ProfiledDaemon(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        self.closing.callback(self.daemon.stop)
        self.daemon.install(self.app, self.manifest(self.words, ON_DEMAND + self.lines))
        self.daemon.start()

    def hold(self):
        self.daemon.call("Prewarm", {"app": self.app})
        self.held = await_held(self.daemon, self.app)["instance"]

    def end_reason(self, instance):
        """Returns why the instance ended; None while it runs."""
        for one in self.daemon.call("Status", {"instance": instance})["instances"]:
            if ended := one.get("exit"):
                return ended["reason"]
        return None

    def await_end(self, instance, reason):
        ended = self.daemon.await_fact("the end of the held program", lambda: self.end_reason(instance), LOOK_SECONDS)
        if ended != reason:
            raise Wrong(f"the held program ended by {ended}, not by {reason}")

    def expect_cold(self, reason, differing=(), **options):
        """Expects a launch to be cold for this reason, which `Explain` names, with the variables that differ."""
        launched = self.daemon.call("Launch", {"app": self.app, **options})
        last = self.daemon.call("Explain", {"app": self.app})["lastLaunch"]
        for told in (launched, last):
            if told["kind"] != "cold" or told.get("coldReason") != reason:
                raise Wrong(f"{told}, not cold: {reason}")
        if last.get("differingVariables", []) != list(differing):
            raise Wrong(f"the variables that differ are {last.get('differingVariables')}, not {differing}")
        return launched["instance"]

    def prewarming(self):
        """Returns the process of a prewarm that has not come to rest."""
        return next((one["processId"] for one in self.daemon.call("Status", {"app": self.app})["instances"]
                     if one["state"] == "prewarming" and one.get("processId")), None)


def is_refused_for_its_session(name, path):
    """Each launch has a daemon of its own: a program that has a name on its bus may not be held again beside the launched one."""
    for variable, value in (("XDG_SESSION_ID", "4711"), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")):
        with Held(name, path) as held:
            held.hold()
            held.expect_cold("environment_mismatch", [variable], environment={variable: value})
            held.screen.line()


def is_refused_for_its_display(name, path):
    with Held(name, path) as held, Ground(XServer) as other:
        held.hold()
        held.expect_cold("environment_mismatch", ["DISPLAY"], environment=other.screen.variables)
        other.screen.line()
        if held.screen.windows() or not other.screen.windows():
            raise Wrong(f"the windows are {held.screen.windows()}, and elsewhere {other.screen.windows()}")


def is_refused_for_a_library(name, path):
    with Held(name, path) as held:
        held.hold()
        new = held.libraries / "new"
        shutil.copy(LIBRARY, new)
        new.rename(held.libraries / LIBRARY.name)
        held.await_end(held.held, "stale")
        held.expect_cold("stale")


def is_refused_for_a_file(name, path):
    with Held(name, path) as held:
        held.hold()
        file = held.home / SETTINGS[name]
        file.parent.mkdir(parents=True)
        file.write_text("[Settings]\n")
        held.expect_cold("file_changed")


def is_refused_for_its_scale(name, path):
    """The scale changes until it is heard, because the program's settings are watched only from its hold on."""
    with Held(name, path) as held:
        held.hold()
        resolutions = cycle(["144", "192"])

        def has_ended():
            subprocess.run([held.screen.probe, "changes", "resources", next(resolutions)], env=held.screen.variables, check=True)
            return held.end_reason(held.held)
        held.daemon.await_fact("the end of the held program", has_ended, CHANGE_SECONDS)
        held.await_end(held.held, "stale")
        held.expect_cold("appearance_changed")


def is_refused_for_its_age(name, path):
    with Held(name, path, "TimeToLiveSec=2s\n") as held:
        held.hold()
        held.await_end(held.held, "prewarm_expired")
        held.expect_cold("none_ready")


def is_refused_before_it_rests(name, path):
    """Stops the program on its way to its first window, so that it cannot come to rest before the launch."""
    with Held(name, path) as held:
        with held.daemon.connect() as connection:
            connection.send(request("Prewarm", {"app": held.app}))
            process = held.daemon.await_fact("a prewarm", held.prewarming)
            os.kill(process, signal.SIGSTOP)
            held.expect_cold("none_ready")
            os.kill(process, signal.SIGCONT)


REFUSALS = {"its session": is_refused_for_its_session, "its display": is_refused_for_its_display,
            "a library": is_refused_for_a_library, "a file": is_refused_for_a_file, "its scale": is_refused_for_its_scale,
            "its age": is_refused_for_its_age, "its unrest": is_refused_before_it_rests}
