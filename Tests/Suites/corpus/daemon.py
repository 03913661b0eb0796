"""A private greenroomd of an ordinary user, for one batch of programs."""
import contextlib
import os
import shutil
import signal

import control
import greenroomd
from sandbox import NOBODY, descendants

PARTS = ("greenroomd", "greenroom-spawner", "greenroomctl", "libgreenroom-prewarm.so")
# Each program is prewarmed once (the back-off is long), and one at a time, so whatever the suite observes was caused by
# that program.
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
        """`apps`: the text of each app's manifest, by the app's identifier."""
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
        """The paused process of each app, by the app's identifier."""
        return {one["app"]: one.get("processId") for one in self.ask("Status").get("instances", [])
                if one["state"] == "prewarmed"}

    def run_words(self, app, arguments, is_on_terminal=False):
        streams = [] if is_on_terminal else ["--pipe"]
        return [str(self.product / "greenroomctl"), "run", app, "--socket", str(self.socket), *streams, "--", *arguments]

    def close(self):
        """Ends the daemon with everything that it started."""
        everything = self._open_descendants()
        try:
            self.stop()
        finally:
            for process in everything:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                os.close(process)

    def _open_descendants(self):
        """Pidfds: after `stop`, the processes' numbers may be those of strangers."""
        opened = {}
        for process in descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                opened[process] = os.pidfd_open(process)
        # A process may end before its pidfd is opened, and its number may then belong to a stranger.
        still = set(descendants(self.process.pid))
        for process in opened.keys() - still:
            os.close(opened.pop(process))
        return list(opened.values())
