"""A private greenroomd with apps of one client, and the file in which they write down every callback."""
import json
import os
import re
import subprocess

import greenroomd
from channel import Wrong
from places import DEADLINE

# What each app's manifest has besides: lines of [App], and lines of [Application].
APPS = {
    "plain": ("", ""),
    "scenes": ("", "Scenes=yes\n"),
    "state": ("Version=1.2\nEnvironment=PROBE_STATE=yes\n", "DocumentTypes=*.letter\n"),
    "views": ("Environment=PROBE_STATE=yes\n", "Scenes=yes\n"),
    "work": ("BackgroundGraceSec=100ms\n", "ScheduledTasks=refresh process leave\n"),
}
# More background time than a test takes on a busy machine.
# Tests kill apps to get rid of them, and launch them in the background afterwards.
CONFIGURATION = "[Greenroom]\nBackgroundTaskSec=120\nForceQuitLasts=no\nTerminateGraceSec=60\nLaunchDeadlineSec=120\n"


class Daemon(greenroomd.Daemon):
    def __init__(self, command, apps=APPS, environment=""):
        """- `environment`: the value of Environment= for every app."""
        own = {name: value for name, value in os.environ.items() if name != "PROBE_WORD"}
        super().__init__(configuration=CONFIGURATION, environment=own)
        self.command_of_apps, self.environment_of_apps = command, environment
        self.names = [f"org.example.{name}.{kind}" for name in apps for kind in ("warm", "cold")]
        self.log = self.folder / "log"
        self.write("token", "s3cret")
        for name, lines in apps.items():
            for prewarm in ("boot", "never"):
                self.install_app(f"org.example.{name}.{'warm' if prewarm == 'boot' else 'cold'}", prewarm, *lines)
        self.start()
        self.watched = open(self.folder / "events", "wb")
        self.watcher = subprocess.Popen(
            [self.product / "greenroomctl", "watch", "--json", "--after", "0", "--socket", self.socket],
            stdin=subprocess.DEVNULL, stdout=self.watched, stderr=self.output)

    def install_app(self, app, prewarm, lines, keys):
        self.install(app,
                     f"[App]\nType=application-kit\nForegroundGroup={app}\nExec={self.command_of_apps} word\n"
                     f"Environment=PROBE_LOG={self.log}\nLoadCredential=token:{self.folder}/token\n{lines}"
                     f"{self.environment_of_apps}"
                     f"[Prewarm]\nWhen={prewarm}\n"
                     f"[Application]\nURLSchemes=probe\nQuickActions=new\nRemoteNotifications=yes\n{keys}")

    def configure(self, text):
        self.write_configuration(text)
        self.ctl("reload")

    def states(self, app):
        return sorted(one["state"] for one in self.instances(app))

    def tasks(self, app):
        """The app's scheduled work that is not over, as `greenroomctl tasks` shows it."""
        return {one["identifier"]: one["state"] for one in json.loads(self.ctl("tasks", app, "--json"))["tasks"]}

    def events(self, app, kind):
        """The events of that kind since the daemon's start."""
        whole = (self.folder / "events").read_text().rpartition("\n")[0]
        events = (json.loads(line) for line in whole.split("\n") if line)
        events = (one.get("event", one) for one in events)
        return [one for one in events if one.get("app") == app and one["kind"] == kind]

    def lines(self):
        return [line for line in self.log.read_text().split("\n") if line] if self.log.exists() else []

    def await_fact(self, what, fact, *more):
        try:
            return super().await_fact(what, fact, *more)
        except greenroomd.Failed as error:
            raise Wrong(f"{error}; the log: {self.lines()}") from None

    def await_line(self, line):
        self.await_fact(line, lambda: line in self.lines())

    def await_state(self, app, state):
        self.await_fact(f"{app} is {state}", lambda: state in self.states(app))

    def await_end(self, app):
        self.await_fact("its end", lambda: not any(
            state not in ("prewarmed", "prewarming") for state in self.states(app)))

    def expect(self, *lines, last_two_in_any_order=False):
        """Waits until the log is exactly this, and empties it. Texts that differ each time are left out."""
        lines = [line for line in lines if line is not None]
        self.await_fact(f"{len(lines)} lines", lambda: len(self.lines()) >= len(lines))
        got = [re.sub(r"^(should restore \S+) \d{16}", r"\1 TIME", line) for line in self.lines()]
        got = [re.sub(r"^(run \w+ \w+) [-\d ]+$", r"\1", line) for line in got]
        if last_two_in_any_order and got == [*lines[:-2], lines[-1], lines[-2]]:
            got = lines
        if got != lines:
            raise Wrong("expected\n  " + "\n  ".join(lines) + "\ngot\n  " + "\n  ".join(got))
        self.forget()

    def reclaim(self, app):
        """Reports a shortage of memory again and again, until the app is gone without a callback."""
        self.await_state(app, "suspended")
        instance = next(one["instance"] for one in self.instances(app) if one["state"] == "suspended")

        def is_gone():
            self.ctl("debug", "pressure", "critical")
            return any(one["instance"] == instance for one in self.events(app, "exited"))
        self.await_fact("its end", is_gone)
        self.ctl("debug", "pressure", "none")
        for one in self.names:  # otherwise, an app whose pool was reclaimed is not prewarmed again for half a minute
            self.ctl("reset-failed", one)
        cause = next(one["exit"]["reason"] for one in self.events(app, "exited") if one["instance"] == instance)
        if cause != "reclaimed":
            raise Wrong(f"it ended as {cause}")

    def printed(self):
        """What the apps have written to their standard output, which is the daemon's. A line of the daemon may
        interrupt a line that an app writes in pieces."""
        return re.sub("greenroomd: [^\n]*\n", "", self.said()).splitlines()

    def forget(self):
        """Empties the log."""
        self.log.unlink(missing_ok=True)

    def end(self, app, *before):
        self.ctl("terminate", app)
        self.await_fact("its end", lambda: "active" not in self.states(app) and "background" not in self.states(app))
        self.expect(*before, "will_terminate " + self.last_state)

    last_state = "ACTIVE"

    def stop(self):
        try:
            super().stop()
        finally:
            self.watcher.wait(DEADLINE)  # it ends with the daemon
            self.watched.close()


# --- The lines that a client writes when it is launched.


def temperature(app):
    return "cold" if app.endswith("cold") else "prewarmed"


def before(app, count, word):
    """The log's words about the time before the pause: a prewarmed app knows nothing of the launch then."""
    return f"{count} None {word}" if app.endswith("cold") else "2 1 None"


def ready(daemon, app):
    if app.endswith("warm"):
        daemon.ctl("prewarm", app)


def did(app, reason, extra="", word="None"):
    words = "['word'" + (f", '{extra}'" if extra else "") + "]"
    return f"did {reason} {temperature(app)} {words} {word} {'None' if app.endswith('cold') else '1'} before {before(app, 3 if extra else 2, word)}"
