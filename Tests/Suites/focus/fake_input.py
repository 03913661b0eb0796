"""Presses a key on KWin for each line of its input. Its arguments are the socket of KWin and the key's code in the kernel."""
import socket
import struct
import sys
import time

PATIENCE_SECONDS, LOOK_SECONDS = 30, 0.02


class FakeInput:
    """A client of KWin that types (org_kde_kwin_fake_input)."""
    DISPLAY, REGISTRY, CALLBACK, INPUT = 1, 2, 3, 4
    AUTHENTICATE, KEY = 0, 10
    NAME = b"org_kde_kwin_fake_input\0"

    def __init__(self, path, code):
        self.code = code
        end = time.monotonic() + PATIENCE_SECONDS
        while self.NAME not in (globals_ := self.connect(path)):  # the global comes a moment after the socket
            if time.monotonic() > end:
                raise SystemExit(f"KWin lets nobody type here: {sorted(globals_)}")
            self.socket.close()
            time.sleep(LOOK_SECONDS)
        self.send(self.REGISTRY, 0, struct.pack("=I", globals_[self.NAME]) + self.text(self.NAME)
                  + struct.pack("=II", 4, self.INPUT))
        self.send(self.INPUT, self.AUTHENTICATE, self.text(b"test\0") * 2)

    def connect(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.connect(str(path))
        self.send(self.DISPLAY, 1, struct.pack("=I", self.REGISTRY))
        self.send(self.DISPLAY, 0, struct.pack("=I", self.CALLBACK))
        return self.globals()

    def text(self, text):
        return struct.pack("=I", len(text)) + text + b"\0" * (-len(text) % 4)

    def send(self, thing, request, arguments):
        self.socket.sendall(struct.pack("=III", thing, (8 + len(arguments)) << 16 | request, 0)[:8] + arguments)

    def receive(self, size):
        got = b""
        while len(got) < size:
            more = self.socket.recv(size - len(got))
            if not more:
                raise SystemExit("KWin has ended")
            got += more
        return got

    def globals(self):
        found = {}
        while True:
            thing, head = struct.unpack("=II", self.receive(8))
            body = self.receive((head >> 16) - 8)
            if thing == self.CALLBACK:
                return found
            if thing == self.REGISTRY:
                number, length = struct.unpack_from("=II", body)
                found[body[8:8 + length]] = number

    def press(self):
        for is_down in (1, 0):
            self.send(self.INPUT, self.KEY, struct.pack("=II", self.code, is_down))


keyboard = FakeInput(sys.argv[1], int(sys.argv[2]))
print("ready", flush=True)
for line in sys.stdin:
    keyboard.press()
