"""A private greenroomd: a supervisor with its own spawner, manifests and runtime directory."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from control import Connection, Lost
from places import DEADLINE, FACT_DEADLINE, PRODUCT

LOOK_SECONDS = 0.005  # between looks
PATIENCE = {"PauseDeadlineSec": 60, "StartDeadlineSec": 20}


class Failed(RuntimeError):
    pass


class Daemon:
    """`start` starts it. A caller that passes a folder removes it; otherwise there is a temporary folder,
    which is removed with the daemon.

    environment         of the daemon; the test's own by default
    user                the number of the user who runs it
    directories         which of "state" and "cache" the daemon has
    sees_machine        whether the daemon reads this machine's load, memory and batteries; by default it is never
                        short of anything
    has_own_session     whether signals to the test's process group do not reach the daemon
    """

    def __init__(self, folder=None, product=PRODUCT, configuration="", environment=None, user=None,
                 directories=("state", "cache"), sees_machine=False, has_own_session=False):
        self.has_own_folder = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="greenroom-test-"))
        if self.has_own_folder:
            self.folder.chmod(0o755)
        self.product = Path(product)
        self.runtime, self.apps = self.folder / "run", self.folder / "apps"
        self.socket = self.runtime / "control"
        self.environment = dict(os.environ if environment is None else environment)
        self.environment.pop("NOTIFY_SOCKET", None)  # the daemon is not anybody's service
        self.user, self.directories = user, directories
        self.sees_machine, self.has_own_session = sees_machine, has_own_session
        self.runtime.mkdir(mode=0o700)
        self.apps.mkdir()
        if user is not None:
            for path in (self.folder, self.runtime):
                os.chown(path, user, user)
        # Unless a test has settings of its own, windows are held although nobody is in front of the machine.
        self.write_configuration(configuration or "[Greenroom]\nWindowNeedsSession=no\n")
        self.log_path = self.folder / "greenroomd.log"
        self.output = open(self.log_path, "ab")
        self.process = None

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def write_configuration(self, text):
        """Unless the text says otherwise, instances that stand still on a busy machine have time to pause and to start."""
        lines = [f"{key}={value}\n" for key, value in PATIENCE.items() if key + "=" not in text]
        self.write("greenroom.conf", text + "".join(lines))

    def install(self, app, manifest):
        """Writes a manifest. The daemon notices it when it reads its manifests again."""
        (self.apps / f"{app}.app").write_text(manifest)

    # --- The process.

    def command(self):
        words = [self.product / "greenroomd", "--runtime-directory", self.runtime, "--apps", self.apps,
                 "--config", self.folder / "greenroom.conf"]
        for name in self.directories:
            words += [f"--{name}-directory", self.folder / name]
        if not self.sees_machine:
            words += ["--machine-root", self.folder / "machine"]
        return [str(word) for word in words]

    def execute(self):
        """Starts the daemon, the first time or again, and does not wait for it."""
        identity = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, env=self.environment,
            cwd="/", start_new_session=self.has_own_session, **identity)

    def start(self):
        """Starts the daemon, and returns when it answers, and so has read its manifests."""
        self.execute()
        self.await_fact("greenroomd answers", self.answers)

    def answers(self, method="org.varlink.service.GetInfo", parameters=None):
        # A process that outlives a killed daemon for a moment may hold its socket without answering.
        with contextlib.suppress(Lost):
            self.call(method, parameters)
            return True
        return False

    def await_fact(self, what, fact, look_seconds=LOOK_SECONDS):
        """Returns the fact, once it is true."""
        end = time.monotonic() + FACT_DEADLINE
        while not (found := fact()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failed(f"never: {what}; the daemon said: {self.said()[-2000:]}")
            time.sleep(look_seconds)
        return found

    def said(self):
        return self.log_path.read_text(errors="replace")

    def spawners(self):
        """The spawners that serve the daemon: one, except for a moment."""
        found = {pid for pid, words in commands() if words[0].endswith("greenroom-spawner")
                 and str(self.runtime) in words}
        # A child of a spawner shares its memory, and so its command line, until it executes a program.
        return [pid for pid in found if parent(pid) not in found]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the daemon and its spawner."""
        try:
            if self.process:
                self.terminate()
        finally:
            self.output.close()
            if self.has_own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def terminate(self):
        spawners = self.spawners()
        self.process.terminate()
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("greenroomd does not end on SIGTERM") from None
        finally:
            for spawner in spawners:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(spawner, signal.SIGTERM)

    # --- Its clients.

    def connect(self, seconds=DEADLINE):
        return Connection(self.socket, seconds)

    def call(self, method, parameters=None, seconds=DEADLINE):
        with self.connect(seconds) as connection:
            return connection.call(method, parameters)

    def ctl(self, *words, **options):
        """The output of `greenroomctl`. Raises an error if the command fails."""
        verb = 2 if words[0] == "debug" else 1
        done = subprocess.run(
            [self.product / "greenroomctl", *words[:verb], "--socket", self.socket, *words[verb:]],
            capture_output=True, text=True, timeout=DEADLINE, **options)
        if done.returncode:
            raise Failed(f"greenroomctl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def instances(self, app):
        return [one for one in json.loads(self.ctl("status", "--json"))["instances"] if one["app"] == app]


def commands():
    """Every process and the words of its command."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if words[0]:
                    yield int(entry.name), words


def parent(pid):
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None
