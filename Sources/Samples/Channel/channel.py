#!/usr/bin/env python3
"""An app that speaks on the app channel without an SDK, by greenroom-protocol(7) alone. This is the least
that an SDK for another language does. The app prints what happens to it, opens nothing, and keeps no state.

    [App]
    Type=application-kit
    Exec=/usr/bin/python3 /path/to/channel.py
"""
import array
import errno
import os
import socket
import struct
import sys
import time

HEADER = struct.Struct("<IHHIIIIIIQiI28i")
NAMES = ("will enter foreground", "did become active", "will resign active",
         "did enter background", "will terminate", "did receive memory warning",
         "significant time change", "protected data will become unavailable",
         "protected data did become available")


def say(*words):
    print(*words, flush=True)


class Message:
    """One datagram: a header, words and fields, and descriptors with their roles."""

    def __init__(self, data, control):
        (_, _, self.number, self.flags, words, fields, size, self.umask, count,
         self.cookie, self.status, _, *roles) = HEADER.unpack(data[:160])
        files = array.array("i", b"".join(content for _, _, content in control))
        self.files = list(zip(roles, files))
        strings = data[160:]
        if self.number == 16 and self.flags & 8:
            strings = os.pread(files[-1], size, 0)
        self.is_whole = len(strings) == size and len(files) == count
        strings = strings.split(b"\0")
        self.words, self.fields = strings[:words], strings[words:words + fields]


class App:
    """Finds its channel, pauses if it is prewarmed, launches, and then handles the daemon's messages."""

    def __init__(self):
        value = os.environ.pop("GREENROOM_CHANNEL", "0:0")
        number, inode = map(int, value.split(":"))
        if os.fstat(number).st_ino != inode:
            sys.exit("started by hand")
        self.channel = socket.socket(fileno=number)
        self.channel.set_inheritable(False)
        self.launch, self.is_started = None, False
        self.last, self.steps, self.held = 0, set(), []

    def send(self, number, cookie=0, status=0, threads=0):
        header = HEADER.pack(0x31435247, 1, number, 0, 0, 0, 0, 0, 0, cookie,
                             status, threads, *[0] * 28)
        self.channel.send(header, socket.MSG_NOSIGNAL)

    def step(self, number):
        if number not in self.steps:
            self.steps.add(number)
            self.send(65, time.monotonic_ns(), number)

    def receive(self):
        data, control, _, _ = self.channel.recvmsg(
            160 + 65536, socket.CMSG_SPACE(4 * 28), socket.MSG_CMSG_CLOEXEC)
        if not data:
            sys.exit("greenroomd is gone" if self.is_started else 0)
        return Message(data, control)

    def run(self):
        is_prewarm = "ActivePrewarm" in os.environ
        if is_prewarm:
            self.send(1, time.monotonic_ns(), 2, threads=1)
        while not self.is_started:
            message = self.receive()
            if message.number == 32:
                self.launch = message
            if message.number == (16 if is_prewarm else 32) and self.launch:
                self.start(message)
            elif message.number != 32:
                self.common(message)
        while True:
            self.event(self.held.pop(0) if self.held else self.receive())

    def start(self, message):
        self.is_started = True
        if message.number == 16:
            self.go(message)
        self.send(2, message.cookie)
        self.step(0)
        say("will finish launching", *map(os.fsdecode, self.launch.fields))
        self.step(4)
        while self.launch.flags & 16:  # an app that saves state reads it here
            message = self.receive()
            if message.number == 48:
                self.send(64, message.cookie, 1)
                break
            self.held.append(message)
        self.step(6)
        self.send(64, self.launch.cookie)

    def go(self, message):
        os.environ.clear()
        for field in message.fields:
            name, _, value = os.fsdecode(field).partition("=")
            os.environ[name] = value
        if message.flags & 2:
            os.setsid()
        for role, file in message.files:
            if role == -1:
                os.fchdir(file)
            elif role >= 0:
                os.dup2(file, role)
            if file != role:
                os.close(file)
        if message.umask != 0xFFFFFFFF:
            os.umask(message.umask)

    def common(self, message):
        """Handles messages that may come at any time, and refuses those that must not come now."""
        if message.number == 17:
            self.send(3, message.cookie)
        elif message.number == 18:
            sys.exit(0)
        else:
            known = message.number == 16 or 32 <= message.number <= 57
            self.send(4, message.cookie, errno.EPROTO if known else errno.ENOSYS)
        for _, file in message.files:
            os.close(file)

    def event(self, message):
        number, cookie = message.number, message.cookie
        if number in (33, 34, 35) and cookie < 1 << 63:
            if cookie <= self.last:
                return self.send(64, cookie)
            self.last = cookie
        if number == 33 and message.status <= len(NAMES):
            say(NAMES[message.status - 1])
        if number in (33, 35) and message.status in (2, 4):
            self.step(10 if message.status == 2 else 11)
        if number == 53:  # this app has no handlers for scheduled work
            self.send(87, cookie, 2)
        elif number in (33, 34, 35, 36, 37, 39, 40, 48, 56, 57) and message.is_whole:
            # This app opens nothing and wants no state.
            self.send(64, cookie, 1 if number in (37, 48) else 0)
        elif number not in (38, 51, 52, 54, 55):
            return self.common(message)
        if (number, message.status) == (33, 5):
            sys.exit(0)
        for _, file in message.files:
            os.close(file)


App().run()
