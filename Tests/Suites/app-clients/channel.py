"""A daemon's end of the app channel for tests: starts one client, says to it what a test wants, and shows what
it answers. With its own codec, written after greenroom-protocol(7) and wire.h, so that nothing is held against
itself."""
import os
import socket
import struct
import subprocess
import tempfile
import time

DEADLINE = 60  # seconds; a machine under load is slow, a hang is for ever
HEADER = struct.Struct("<IHHIIIIIIQiI28i")
MAGIC = 0x31435247
PAUSED, STARTED, PONG, ERROR, GO, PING, QUIT = 1, 2, 3, 4, 16, 17, 18
LAUNCH, LIFECYCLE, CONNECT, SCENE, DISCARD, DELIVER, ANSWER, CREDENTIALS = range(32, 40)
ACKNOWLEDGED, STEP, OVERRAN, FIRST_FRAME, REQUEST_SCENE, OPEN_URL = range(64, 70)
RESTORE, TIME, TIME_EXPIRES, RUN, PENDING, EXPIRE = 48, 51, 52, 53, 54, 55
SAVE, EXTEND, COMPLETE, BEGIN, END, SUBMIT, QUERY, COMPLETED, LAUNCH_TASK = range(80, 89)
LAUNCH_STEPS = 92
FOREGROUND, SCENES, UNLOCKED, ARCHIVE, FIRST, FIRST_OF_VERSION = 1, 2, 4, 16, 32, 64
ENTER_FOREGROUND, ACTIVE, RESIGN, BACKGROUND, TERMINATE = range(1, 6)
LOCKED, AVAILABLE = 8, 9


class Wrong(Exception):
    pass


class Message:
    def __init__(self, data):
        (magic, version, self.type, self.flags, words, fields, size, _, _, self.cookie, self.status, self.threads,
         *_) = HEADER.unpack_from(data)
        strings = data[HEADER.size:]
        if magic != MAGIC or version != 1 or len(strings) != size or (size and strings[-1]):
            raise Wrong(f"a malformed message of type {self.type}")
        texts = [os.fsdecode(one) for one in strings.split(b"\0")[:-1]]
        if len(texts) != words + fields:
            raise Wrong(f"{len(texts)} strings instead of {words} + {fields}")
        self.words, self.fields = texts[:words], texts[words:]

    def __repr__(self):
        return (f"<{self.type} cookie={self.cookie} status={self.status} flags={self.flags} "
                f"words={self.words} fields={[one[:80] for one in self.fields]}>")


class Client:
    """One process of the client, and what it has written down: in PROBE_LOG, or to its standard output."""

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
        texts = b"".join(os.fsencode(one) + b"\0" for one in (*words, *fields))
        header = HEADER.pack(MAGIC, 1, type, flags, len(words), len(fields), len(texts), umask, len(roles), cookie,
                             status, 0, *roles, *([0] * (28 - len(roles))))
        if descriptors:
            socket.send_fds(self.socket, [header + texts], descriptors)
        else:
            self.socket.send(header + texts)

    def receive(self, type):
        """The next message that is not about how far it is; it has to be of this type."""
        while True:
            try:
                data = self.socket.recv(160 + 65536)
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
        """Sends it with a cookie of its own."""
        self.cookie += 1
        self.send(type, status, cookie=self.cookie, **more)
        return self.cookie

    def acknowledged(self, cookie, handled=True):
        message = self.receive(ACKNOWLEDGED)
        if (message.cookie, message.status) != (cookie, 0 if handled else 1):
            raise Wrong(f"{message} instead of the acknowledgement of {cookie}, {'' if handled else 'not '}handled")

    def start(self, flags=FOREGROUND | UNLOCKED, reason=0, fields=()):
        """Launches it. Its cookie."""
        launch = self.event(LAUNCH, reason, flags=flags, words=[""], fields=["requested=1", *fields])
        if self.is_prewarmed:
            variables = [f"{name}={value}" for name, value in self.environment.items()]
            self.send(GO, cookie=launch, words=self.words, fields=variables, umask=0xFFFFFFFF)
        if self.receive(STARTED).cookie != launch:
            raise Wrong("STARTED has another cookie")
        return launch

    def launch(self, flags=FOREGROUND | UNLOCKED, reason=0, fields=()):
        """And takes it to its first state."""
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
        """Opens probe:WORD. The acknowledgement is yet to come."""
        return self.event(DELIVER, fields=["url=probe:" + word])

    def sync(self):
        """Everything that was sent before has been handled."""
        self.send(PING, cookie=7)
        self.receive(PONG)

    def lines(self):
        try:
            with open(self.log) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def expect(self, *lines):
        """The log is exactly this, in the end; it begins anew."""
        end = time.monotonic() + DEADLINE
        while len(self.lines()) < len(lines) and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.005)  # between looks
        if self.lines() != list(lines):
            raise Wrong("expected\n  " + "\n  ".join(lines) + "\ngot\n  " + "\n  ".join(self.lines()))
        open(self.log, "w").close()

    def forget(self):
        """What the log holds so far."""
        open(self.log, "w").close()
