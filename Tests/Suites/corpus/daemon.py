"""A private greenroomd of an ordinary user, for one batch of programs."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from sandbox import NOBODY, children, descendants

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


class Daemon:
    def __init__(self, product, folder, environment, apps):
        """`apps`: identifier, lines of its manifest."""
        self.product, self.folder, self.environment = product, folder, environment
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("", "run", "apps", "state", "cache", "machine"):
            os.mkdir(f"{folder}/{name}")
            os.chown(f"{folder}/{name}", NOBODY, NOBODY)
        os.chmod(folder + "/run", 0o700)
        for app, text in apps.items():
            self._write(f"apps/{app}.app", text)
        self._write("greenroom.conf", CONFIGURATION)
        self.log = open(folder + "/log", "wb")
        self.control = folder + "/run/control"
        self.process = subprocess.Popen(
            [product + "/greenroomd", "--runtime-directory", folder + "/run", "--state-directory", folder + "/state",
             "--cache-directory", folder + "/cache", "--apps", folder + "/apps", "--config", folder + "/greenroom.conf",
             "--machine-root", folder + "/machine"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment, cwd="/",
            user=NOBODY, group=NOBODY, extra_groups=[], start_new_session=True)
        self._await("answered", self._answers)
        self.spawner = self._await("started its spawner", self._find_spawner)

    def _answers(self):
        try:
            return "apps" in self.call("List")
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    def _write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{self.folder}/{name}", 0o644)

    def _find_spawner(self):
        for child in descendants(self.process.pid):
            try:
                if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "greenroom-spawner":
                    return child
            except OSError:
                pass
        return None

    def _await(self, what, fact, seconds=30):
        end = time.monotonic() + seconds
        while True:
            found = fact()
            if found:
                return found
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"the daemon has not {what}: {self.said()[-300:]}")
            time.sleep(0.01)

    def said(self):
        with open(self.folder + "/log", errors="replace") as file:
            return file.read()

    def call(self, method, seconds=40, **parameters):
        """The reply's parameters; an error is a reply with "error"."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            connection.connect(self.control)
            message = {"method": "io.greenroom.Control." + method, "parameters": parameters}
            connection.sendall(json.dumps(message).encode() + b"\0")
            answer = b""
            while not answer.endswith(b"\0"):
                part = connection.recv(1 << 16)
                if not part:
                    return {"error": "the connection was closed"}
                answer += part
        reply = json.loads(answer[:-1])
        parameters = reply.get("parameters", {})
        return {"error": reply["error"], **parameters} if "error" in reply else parameters

    def paused(self):
        """By app: the process that is paused."""
        return {one["app"]: one.get("processId") for one in self.call("Status").get("instances", [])
                if one["state"] == "prewarmed"}

    def run_words(self, app, arguments, is_on_terminal=False):
        streams = [] if is_on_terminal else ["--pipe"]
        return [self.product + "/greenroomctl", "run", app, "--socket", self.control, *streams, "--", *arguments]

    def close(self):
        """Ends it with everything that it started."""
        everything = descendants(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for process in everything:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.log.close()
