"""The messages of the app channel, written by greenroom-protocol(7) and wire.h and not taken from the code
under test, so that the code is not compared with itself."""
import os
import struct

HEADER = struct.Struct("<IHHIIIIIIQiI28i")
MAGIC, VERSION = 0x31435247, 1
LIMIT = HEADER.size + 65536  # bytes of a message
PAUSED, STARTED, PONG, ERROR, GO, PING, QUIT = 1, 2, 3, 4, 16, 17, 18
LAUNCH, LIFECYCLE, CONNECT, SCENE, DISCARD, DELIVER, ANSWER, CREDENTIALS, EVENTS = range(32, 41)
RESTORE, TIME, TIME_EXPIRES, RUN, PENDING, EXPIRE = 48, 51, 52, 53, 54, 55
ACKNOWLEDGED, STEP, OVERRAN, FIRST_FRAME, REQUEST_SCENE, OPEN_URL = range(64, 70)
SAVE, EXTEND, COMPLETE, BEGIN, END, SUBMIT, QUERY, COMPLETED, LAUNCH_TASK = range(80, 89)
LAUNCH_STEPS = 92
# Flags of LAUNCH.
FOREGROUND, SCENES, UNLOCKED, ARCHIVE, FIRST, FIRST_OF_VERSION = 1, 2, 4, 16, 32, 64
# The events of LIFECYCLE and SCENE.
ENTER_FOREGROUND, ACTIVE, RESIGN, BACKGROUND, TERMINATE = range(1, 6)
LOCKED, AVAILABLE = 8, 9


class Malformed(Exception):
    pass


class Message:
    def __init__(self, data):
        (magic, version, self.type, self.flags, words, fields, size, self.umask, count, self.cookie, self.status,
         self.threads, *roles) = HEADER.unpack_from(data)
        strings = data[HEADER.size:]
        if magic != MAGIC or version != VERSION or len(strings) != size or (size and strings[-1]):
            raise Malformed(f"a malformed message of type {self.type}")
        texts = [os.fsdecode(one) for one in strings.split(b"\0")[:-1]]
        if len(texts) != words + fields:
            raise Malformed(f"{len(texts)} strings instead of {words} + {fields}")
        self.words, self.fields, self.roles = texts[:words], texts[words:], roles[:count]

    def __repr__(self):
        return (f"<{self.type} cookie={self.cookie} status={self.status} flags={self.flags} "
                f"words={self.words} fields={[one[:80] for one in self.fields]}>")


def encode(type, status=0, cookie=0, flags=0, words=(), fields=(), umask=0, roles=(), threads=0):
    texts = b"".join(os.fsencode(one) + b"\0" for one in (*words, *fields))
    return HEADER.pack(MAGIC, VERSION, type, flags, len(words), len(fields), len(texts), umask, len(roles), cookie,
                       status, threads, *roles, *[0] * (28 - len(roles))) + texts
