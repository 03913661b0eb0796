"""A private greenroomd of an ordinary user, for one batch of programs."""
import contextlib
import os
import shutil
import signal

import control
import greenroomd
from sandbox import NOBODY, descendants

PARTS = ("greenroomd", "greenroom-spawner", "greenroomctl", "libgreenroom-prewarm.so")
# One attempt each, one at a time: what is seen is then that program's.
CONFIGURATION = """[Greenroom]
PrewarmBudget=64G
PrewarmMinMemory=0
PrewarmMaxLoad=0
PrewarmMinBattery=0
PrewarmTimeToLiveSec=1h
ConcurrentPrewarms=1
PauseDeadlineSec=20
BackOffFirstSec=5min
BackOffCapSec=5min
CrashLoopCount=100
TerminateGraceSec=1
"""


class Daemon(greenroomd.Daemon):
    def __init__(self, product, folder, environment, apps):
        """`apps`: identifier, lines of its manifest."""
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        super().__init__(folder, product, CONFIGURATION, environment, NOBODY, has_own_session=True)
        for app, text in apps.items():
            self.install(app, text)
        self.start()
        self.spawner = self.await_fact("it has a spawner", self.spawners)[0]

    def ask(self, method, **parameters):
        """The reply's parameters; an error is a reply with "error"."""
        try:
            return self.call(method, parameters, seconds=40)
        except control.Refused as refusal:
            return {"error": refusal.error, **refusal.parameters}
        except control.Lost as lost:
            return {"error": str(lost)}

    def paused(self):
        """By app: the process that is paused."""
        return {one["app"]: one.get("processId") for one in self.ask("Status").get("instances", [])
                if one["state"] == "prewarmed"}

    def run_words(self, app, arguments, is_on_terminal=False):
        streams = [] if is_on_terminal else ["--pipe"]
        return [str(self.product / "greenroomctl"), "run", app, "--socket", str(self.socket), *streams, "--", *arguments]

    def close(self):
        """Ends it with everything that it started."""
        everything = descendants(self.process.pid)
        try:
            self.stop()
        finally:
            for process in everything:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
