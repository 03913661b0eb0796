"""A private greenroomd with apps of one client, and the file in which they write down every callback."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from channel import DEADLINE, Wrong

HERE = os.path.dirname(os.path.abspath(__file__))
PRODUCT = os.environ.get("PRODUCT", HERE + "/../../../.build/debug")

# What each app has in its manifest besides: lines of [App], lines of [Application].
APPS = {
    "plain": ("", ""),
    "scenes": ("", "Scenes=yes\n"),
    "state": ("Version=1.2\nEnvironment=PROBE_STATE=yes\n", "DocumentTypes=*.letter\n"),
    "views": ("Environment=PROBE_STATE=yes\n", "Scenes=yes\n"),
    "work": ("BackgroundGraceSec=100ms\n", "ScheduledTasks=refresh process leave\n"),
}
# More background time than a test takes on a busy machine.
CONFIGURATION = "[Greenroom]\nBackgroundTaskSec=120\n"


class Daemon:
    def __init__(self, command, apps=APPS, environment=""):
        """`environment`: Environment= of every app."""
        self.command, self.environment = command, environment
        self.apps = [f"org.example.{name}.{kind}" for name in apps for kind in ("warm", "cold")]
        self.folder = tempfile.mkdtemp(prefix="greenroom-clients-")
        os.chmod(self.folder, 0o755)
        self.log = self.folder + "/log"
        for name in ("run", "apps"):
            os.mkdir(f"{self.folder}/{name}")
        os.chmod(self.folder + "/run", 0o700)
        self.put("token", "s3cret")
        self.put("greenroom.conf", CONFIGURATION)
        for name, lines in apps.items():
            for prewarm in ("boot", "never"):
                self.write(f"org.example.{name}.{'warm' if prewarm == 'boot' else 'cold'}", prewarm, *lines)
        environment = {**os.environ, "STATE_DIRECTORY": self.folder + "/state", "CACHE_DIRECTORY": self.folder + "/cache"}
        environment.pop("PROBE_WORD", None)
        self.output = open(self.folder + "/daemon", "wb")
        self.process = subprocess.Popen(
            [PRODUCT + "/greenroomd", "--runtime-directory", self.folder + "/run", "--apps", self.folder + "/apps",
             "--config", self.folder + "/greenroom.conf",
             # A machine that is never short of anything.
             "--machine-root", self.folder + "/machine"],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, env=environment)
        self.await_fact("the daemon's socket", lambda: os.path.exists(self.folder + "/run/control"))
        self.watched = open(self.folder + "/events", "wb")
        self.watcher = subprocess.Popen(
            [PRODUCT + "/greenroomctl", "watch", "--json", "--after", "0", "--socket", self.folder + "/run/control"],
            stdin=subprocess.DEVNULL, stdout=self.watched, stderr=self.output)

    def put(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)

    def write(self, app, prewarm, lines, keys):
        self.put(f"apps/{app}.app",
                 f"[App]\nType=application-kit\nForegroundGroup={app}\nExec={self.command} word\n"
                 f"Environment=PROBE_LOG={self.log}\nLoadCredential=token:{self.folder}/token\n{lines}"
                 f"{self.environment}"
                 f"[Prewarm]\nWhen={prewarm}\n"
                 f"[Application]\nURLSchemes=probe\nQuickActions=new\nRemoteNotifications=yes\n{keys}")

    def configure(self, text):
        self.put("greenroom.conf", text)
        self.ctl("reload")

    def ctl(self, *words):
        verb = 2 if words[0] == "debug" else 1
        done = subprocess.run(
            [PRODUCT + "/greenroomctl", *words[:verb], "--socket", self.folder + "/run/control", *words[verb:]],
            capture_output=True, text=True, timeout=DEADLINE)
        if done.returncode:
            raise Wrong(f"greenroomctl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def instances(self, app):
        return [one for one in json.loads(self.ctl("status", "--json"))["instances"] if one["app"] == app]

    def states(self, app):
        return sorted(one["state"] for one in self.instances(app))

    def tasks(self, app):
        """The app's scheduled work that is not over, as `greenroomctl tasks` shows it."""
        return {one["identifier"]: one["state"] for one in json.loads(self.ctl("tasks", app, "--json"))["tasks"]}

    def events(self, app, kind):
        """What happened of that kind, from the daemon's start."""
        with open(self.folder + "/events") as file:
            whole = file.read().rpartition("\n")[0]
        events = (json.loads(line) for line in whole.split("\n") if line)
        events = (one.get("event", one) for one in events)
        return [one for one in events if one.get("app") == app and one["kind"] == kind]

    def lines(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [line for line in file.read().split("\n") if line]

    def await_fact(self, what, fact):
        end = time.monotonic() + DEADLINE
        while not fact():
            if time.monotonic() > end or self.process.poll() is not None:
                raise Wrong(f"never: {what}; the log: {self.lines()}")
            time.sleep(0.01)  # between looks

    def await_line(self, line):
        self.await_fact(line, lambda: line in self.lines())

    def await_state(self, app, state):
        self.await_fact(f"{app} is {state}", lambda: state in self.states(app))

    def await_end(self, app):
        self.await_fact("its end", lambda: not any(
            state not in ("prewarmed", "prewarming") for state in self.states(app)))

    def expect(self, *lines, last_two_in_any_order=False):
        """The log is exactly this, in the end; it begins anew. What differs each time is left out."""
        lines = [line for line in lines if line is not None]
        self.await_fact(f"{len(lines)} lines", lambda: len(self.lines()) >= len(lines))
        got = [re.sub(r"^(should restore \S+) \d{16}", r"\1 TIME", line) for line in self.lines()]
        got = [re.sub(r"^(run \w+ \w+) [-\d ]+$", r"\1", line) for line in got]
        if last_two_in_any_order and got == [*lines[:-2], lines[-1], lines[-2]]:
            got = lines
        if got != lines:
            raise Wrong("expected\n  " + "\n  ".join(lines) + "\ngot\n  " + "\n  ".join(got))
        os.unlink(self.log)

    def reclaim(self, app):
        """The machine needs memory, and takes it: step by step, until the app is gone without a word."""
        self.await_state(app, "suspended")
        instance = next(one["instance"] for one in self.instances(app) if one["state"] == "suspended")

        def is_gone():
            self.ctl("debug", "pressure", "critical")
            return any(one["instance"] == instance for one in self.events(app, "exited"))
        self.await_fact("its end", is_gone)
        self.ctl("debug", "pressure", "none")
        for one in self.apps:  # what was taken from a pool is not prewarmed again for half a minute
            self.ctl("reset-failed", one)
        cause = next(one["exit"]["reason"] for one in self.events(app, "exited") if one["instance"] == instance)
        if cause != "reclaimed":
            raise Wrong(f"it ended as {cause}")

    def printed(self):
        """What the apps have written to their standard output, which is the daemon's."""
        with open(self.folder + "/daemon") as file:
            return [line for line in file.read().splitlines() if not line.startswith("greenroomd: ")]

    def forget(self):
        """What the log holds so far."""
        if os.path.exists(self.log):
            os.unlink(self.log)

    def end(self, app):
        self.ctl("terminate", app)
        self.await_fact("its end", lambda: "active" not in self.states(app) and "background" not in self.states(app))
        self.expect("will_terminate " + self.last_state)

    last_state = "ACTIVE"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(DEADLINE)
        self.watcher.wait(DEADLINE)  # it ends with the daemon
        self.watched.close()
        self.output.close()
        shutil.rmtree(self.folder)


# --- What a client writes down when it is launched.


def temperature(app):
    return "cold" if app.endswith("cold") else "prewarmed"


def before(app, count, word):
    """What stood there before the pause: of a prewarmed app, nothing of the launch."""
    return f"{count} None {word}" if app.endswith("cold") else "2 1 None"


def ready(daemon, app):
    if app.endswith("warm"):
        daemon.ctl("prewarm", app)


def did(app, reason, extra="", word="None"):
    words = "['word'" + (f", '{extra}'" if extra else "") + "]"
    return f"did {reason} {temperature(app)} {words} {word} {'None' if app.endswith('cold') else '1'} before {before(app, 3 if extra else 2, word)}"
