#!/usr/bin/env python3
"""A client of the app channel that is right, and wrong in one way each for FAULT=NAME.

Speaks the channel by itself, without the module for Python: what it does wrong no SDK would let it.
The faults and the check that must notice each are in Tests/app-conformance/suite.
"""
import array
import errno
import os
import socket
import struct
import sys
import threading
import time

FAULT = os.environ.get("FAULT", "")
HEADER = struct.Struct("<IHHIIIIIIQiI28i")
PAUSED, STARTED, PONG, ERROR, GO, PING, QUIT = 1, 2, 3, 4, 16, 17, 18
LAUNCH, LIFECYCLE, CONNECT, SCENE, DISCARD, DELIVER, ANSWER, CREDENTIALS = range(32, 40)
ACKNOWLEDGED, STEP = 64, 65
# Steps: main, willFinishLaunching, didFinishLaunching, active, background
MAIN, WILL, DID, ACTIVE, BACKGROUND = 0, 4, 6, 10, 11

number, _, inode = os.environ.pop("GREENROOM_CHANNEL").partition(":")
channel = socket.socket(fileno=int(number))
channel.set_inheritable(FAULT == "inheritable")
prewarmed = os.environ.get("ActivePrewarm") == "1"
launched = False
reported = set()
late = []


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def send(kind, cookie=0, status=0, words=(), threads=0):
    strings = b"".join(word.encode() + b"\0" for word in words)
    channel.send(HEADER.pack(0x31435247, 1, kind, 0, len(words), 0, len(strings), 0, 0, cookie, status,
                             threads, *[0] * 28) + strings, socket.MSG_NOSIGNAL)


def step(which, at=None):
    if which in reported and FAULT != "active-twice":
        return
    reported.add(which)
    send(STEP, at if at is not None else now(), which)


def refuse(code, cookie):
    if FAULT == "refuses-with-another-cookie":
        cookie += 1
    send(ERROR, cookie, code)


def acknowledge(cookie):
    if FAULT == "acknowledges-twice":
        send(ACKNOWLEDGED, cookie)
    if FAULT == "reorders" and launched:
        late.append(cookie)
        if len(late) < 2:
            return
        send(ACKNOWLEDGED, late.pop())
        cookie = late.pop()
    send(ACKNOWLEDGED, cookie + (FAULT == "acknowledges-another"))


def receive():
    data, control, _, _ = channel.recvmsg(160 + 65536, socket.CMSG_SPACE(4 * 28), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, content in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[:len(content) - len(content) % 4])
    return data, list(descriptors)


def place(header, descriptors):
    roles = header[12:12 + len(descriptors)]
    for role, descriptor in zip(roles, descriptors):
        if role == -1 and FAULT != "ignores-the-directory":
            os.fchdir(descriptor)
        if role >= 0 and FAULT != "ignores-descriptors":
            os.dup2(descriptor, role)
        os.close(descriptor)
    if header[7] != 0xFFFFFFFF and FAULT != "ignores-the-umask":
        os.umask(header[7])


def begin(cookie):
    global launched
    if FAULT == "starts-silently":
        return
    send(STARTED, cookie + (FAULT == "starts-another"))


def run(launch):
    global launched
    order = [DID, WILL] if FAULT == "steps-in-disorder" else [WILL, DID]
    time_of = 5 if FAULT == "times-of-another-clock" else None
    step(MAIN, time_of)
    if FAULT == "crashes":
        os.abort()
    for which in order:
        step(which, time_of)
    unknown = launch[3] & ~0xF
    if unknown and FAULT == "strict-flags":
        return refuse(errno.EPROTO, launch[9])
    background = not launch[3] & 1
    if background and FAULT == "always-active":
        step(ACTIVE)
    acknowledge(launch[9])
    launched = True


def end():
    if FAULT == "runs-anyway":
        send(STARTED, 0)
    if FAULT == "stays":
        while True:
            time.sleep(1000)
    sys.exit(7 if FAULT == "ends-with-7" else 0)


def main():
    launch = None
    if prewarmed:
        if FAULT == "starts-a-thread":
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        if FAULT == "no-pause":
            send(STARTED, 0)
        send(PAUSED, 0 if FAULT == "pauses-at-no-time" else now(), 0 if FAULT == "pauses-at-main" else 2,
             threads=7 if FAULT == "counts-threads-badly" else 1)
    while True:
        try:
            data, descriptors = receive()
        except OSError:
            end()
        if not data:
            if not launched:
                end()
            time.sleep(1000)
        header = HEADER.unpack_from(data)
        kind, cookie, status = header[2], header[9], header[10]
        if len(data) != 160 + header[6] and FAULT != "reads-anything":
            refuse(errno.EPROTO, cookie)
            continue
        if kind == PING:
            if FAULT != "deaf":
                send(PONG, cookie + (FAULT == "pongs-another"))
        elif kind == QUIT:
            end()
        elif kind == LAUNCH and (launch is None or FAULT == "launches-again"):
            if launch is not None:
                acknowledge(cookie)
                continue
            launch = header
            if not prewarmed:
                begin(cookie)
                run(launch)
        elif kind == GO and prewarmed and not launched:
            place(header, descriptors)
            begin(cookie)
            run(launch)
        elif kind == LAUNCH or kind == GO:
            if FAULT != "keeps-descriptors":
                for descriptor in descriptors:
                    os.close(descriptor)
            refuse(errno.EPROTO, cookie)
        elif LIFECYCLE <= kind <= CREDENTIALS and kind != ANSWER:
            if not launched and FAULT != "acts-while-paused":
                refuse(errno.EPROTO, cookie)
                continue
            happen(kind, cookie, status)
        elif FAULT == "ignores-the-unknown":
            pass
        elif FAULT == "dies-of-the-unknown":
            sys.exit(1)
        else:
            refuse(errno.EPROTO if FAULT == "calls-the-unknown-wrong" else errno.ENOSYS, cookie)


def happen(kind, cookie, status):
    if (kind, status) in ((LIFECYCLE, 2), (SCENE, 2)) and FAULT != "never-active":
        step(ACTIVE)
    silent = {"forgets-scenes": (CONNECT,), "forgets-memory": (LIFECYCLE,), "forgets-to-discard": (DISCARD,),
              "forgets-content": (DELIVER,), "forgets-to-disconnect": (SCENE,)}.get(FAULT, ())
    status_of = {"forgets-memory": 6, "forgets-to-disconnect": 5}.get(FAULT, status)
    if kind == CONNECT and FAULT == "shows-hidden-scenes":
        step(ACTIVE)
    if kind not in silent or status != status_of:
        acknowledge(cookie)
    if (kind, status) == (LIFECYCLE, 5):
        end()


main()
