"""A daemon's end of the app channel for tests: starts one client, says to it what a test wants, and shows what
it answers."""
import os
import socket
import subprocess
import tempfile
import time

from appchannel import *  # noqa: F403
from appchannel import LIMIT, Message, encode
from places import DEADLINE


class Wrong(Exception):
    pass


class Client:
    """One process of the client, and its log: in PROBE_LOG, or on its standard output."""

    def __init__(self, command, is_prewarmed=False, does_print=False, **environment):
        self.folder = tempfile.TemporaryDirectory(prefix="greenroom-channel-")
        self.log = self.folder.name + "/log"
        self.is_prewarmed = is_prewarmed
        self.cookie = 100
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE)
        self.environment = {**os.environ, "PROBE_LOG": self.log, **environment}
        given = {**self.environment, "GREENROOM_CHANNEL": f"{theirs.fileno()}:{os.fstat(theirs.fileno()).st_ino}"}
        given.pop("ActivePrewarm", None)
        if is_prewarmed:
            given["ActivePrewarm"] = "1"
        self.words = [*command.split(), "word"]
        with open(self.log if does_print else os.devnull, "ab") as output:
            self.process = subprocess.Popen(
                self.words, env=given, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=output if does_print else None)
        theirs.close()
        if is_prewarmed:
            self.receive(PAUSED)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def send(self, type, status=0, cookie=0, flags=0, words=(), fields=(), umask=0, descriptors=(), roles=()):
        message = encode(type, status, cookie, flags, words, fields, umask, roles)
        if descriptors:
            socket.send_fds(self.socket, [message], descriptors)
        else:
            self.socket.send(message)

    def receive(self, type):
        """Returns the next message except reports of progress. It must have this type."""
        while True:
            try:
                data = self.socket.recv(LIMIT)
            except TimeoutError:
                raise Wrong(f"nothing came instead of a message of type {type}; the log: {self.lines()}") from None
            if not data:
                raise Wrong(f"the client ended instead of sending {type}; the log: {self.lines()}")
            message = Message(data)
            if message.type in {STEP, OVERRAN, LAUNCH_STEPS} - {type}:
                continue
            if message.type != type:
                raise Wrong(f"{message} instead of a message of type {type}; the log: {self.lines()}")
            return message

    def event(self, type, status=0, **more):
        """Sends an event with a new cookie, which it returns."""
        self.cookie += 1
        self.send(type, status, cookie=self.cookie, **more)
        return self.cookie

    def acknowledged(self, cookie, handled=True):
        message = self.receive(ACKNOWLEDGED)
        if (message.cookie, message.status) != (cookie, 0 if handled else 1):
            raise Wrong(f"{message} instead of the acknowledgement of {cookie}, {'' if handled else 'not '}handled")

    def start(self, flags=FOREGROUND | UNLOCKED, reason=0, fields=()):
        """Launches the client. Returns the cookie."""
        launch = self.event(LAUNCH, reason, flags=flags, words=[""], fields=["requested=1", *fields])
        if self.is_prewarmed:
            variables = [f"{name}={value}" for name, value in self.environment.items()]
            self.send(GO, cookie=launch, words=self.words, fields=variables, umask=0xFFFFFFFF)
        if self.receive(STARTED).cookie != launch:
            raise Wrong("STARTED has another cookie")
        return launch

    def launch(self, flags=FOREGROUND | UNLOCKED, reason=0, fields=()):
        """Launches the client, and takes it to its first state."""
        self.acknowledged(self.start(flags, reason, fields))
        if flags & SCENES:
            return
        self.move(ACTIVE if flags & FOREGROUND else BACKGROUND)
        self.await_line("after launch ")

    def await_line(self, beginning):
        end = time.monotonic() + DEADLINE
        while not any(line.startswith(beginning) for line in self.lines()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise Wrong(f"never: {beginning}; the log: {self.lines()}")
            time.sleep(0.005)  # between looks

    def move(self, *events):
        for one in events:
            self.acknowledged(self.event(LIFECYCLE, one))

    def move_scene(self, session, *events):
        for one in events:
            self.acknowledged(self.event(SCENE, one, words=[session]))

    def ask(self, word):
        """Opens probe:WORD, and does not wait for the acknowledgement."""
        return self.event(DELIVER, fields=["url=probe:" + word])

    def sync(self):
        """Waits until everything that was sent before was handled."""
        self.send(PING, cookie=7)
        self.receive(PONG)

    def lines(self):
        try:
            with open(self.log) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def expect(self, *lines):
        """Waits until the log is exactly this, and empties it."""
        end = time.monotonic() + DEADLINE
        while len(self.lines()) < len(lines) and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.005)  # between looks
        if self.lines() != list(lines):
            raise Wrong("expected\n  " + "\n  ".join(lines) + "\ngot\n  " + "\n  ".join(self.lines()))
        open(self.log, "w").close()

    def forget(self):
        """Empties the log."""
        open(self.log, "w").close()
