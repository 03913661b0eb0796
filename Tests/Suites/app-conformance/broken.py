#!/usr/bin/env python3
"""A client of the app channel that obeys the rules, except the one that FAULT=NAME names.

Speaks the channel without the module for Python, because no SDK would let a client break the rules.
The faults and the check that must notice each are in Tests/Suites/app-conformance/suite.
"""
import array
import errno
import os
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../Support/Python")
from appchannel import (ACKNOWLEDGED, ANSWER, ARCHIVE, BEGIN, COMPLETED, CONNECT, CREDENTIALS, DELIVER, DISCARD, EVENTS,  # noqa: E402
                        END, ERROR, EXPIRE, EXTEND, FOREGROUND, GO, HEADER, LAUNCH, LIFECYCLE, LIMIT, PAUSED, PING,
                        PONG, QUIT, RESTORE, RUN, SAVE, SCENE, STARTED, STEP, SUBMIT, TIME, TIME_EXPIRES, encode)

FAULT = os.environ.get("FAULT", "")
AGAIN = 1 << 63
# Steps: main, willFinishLaunching, didFinishLaunching, active, background
MAIN, WILL, DID, ACTIVE, BACKGROUND = 0, 4, 6, 10, 11

number, _, inode = os.environ.pop("GREENROOM_CHANNEL").partition(":")
channel = socket.socket(fileno=int(number))
channel.set_inheritable(FAULT == "inheritable")
prewarmed = os.environ.get("ActivePrewarm") == "1"
launched = False
reported = set()
late = []
was_in_front = False
was_restored = False
saved_count = 0
held = []  # messages that came before the announced state
tasks, begun, is_expiring = [], 0, False
runs, known, asked = {}, [], {}


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def send(kind, cookie=0, status=0, words=(), fields=(), threads=0):
    channel.send(encode(kind, status, cookie, words=words, fields=fields, threads=threads), socket.MSG_NOSIGNAL)


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
    data, control, _, _ = channel.recvmsg(LIMIT, socket.CMSG_SPACE(4 * 28), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, content in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[:len(content) - len(content) % 4])
    return data, list(descriptors)


def read():
    """Returns a complete message, and its strings."""
    data, _ = receive()
    if not data:
        end()
    return HEADER.unpack_from(data), data[HEADER.size:].decode().split("\0")[:-1]


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
    background = not launch[3] & FOREGROUND
    if background and FAULT == "always-active":
        step(ACTIVE)
    if launch[3] & ARCHIVE and FAULT != "does-not-wait-for-its-state":
        wait_for_state()
    acknowledge(launch[9])
    launched = True
    for kind, cookie, status, strings in held:
        happen(kind, cookie, status, strings, [])


def wait_for_state():
    """Waits for the state. Messages that come before it are kept."""
    while True:
        header, strings = read()
        if header[2] == RESTORE:
            return restore(header[9], header[10], strings)
        held.append((header[2], header[9], header[10], strings))


def restore(cookie, status, strings):
    global was_restored
    if status == 0:
        was_restored = True
        if FAULT == "dies-of-its-state":
            os.abort()
        if FAULT == "saves-while-it-restores":
            send(EXTEND)
    if FAULT != ("forgets-late-state" if launched else "forgets-its-state"):
        send(ACKNOWLEDGED, cookie, 0 if status == 0 or FAULT == "restores-nothing" else 1)


def save(session):
    """Saves on the way out of the foreground."""
    global saved_count
    words = [] if session is None else [session]
    fields = ["/page=i7"] if session is None else ["restored=org.example.reading", "restored.info.page=7"]
    if FAULT == "saves-too-much":
        fields += [f"/{number}=s" + "x" * 1000 for number in range(40)]
    if FAULT == "saves-another-session" and session is not None:
        words = ["another"]
    if FAULT == "saves-no-activity" and session is not None:
        fields = ["/page=i7"]
    saved_count += 1
    if (was_restored and FAULT == "saves-nothing-anew") or (saved_count > 1 and FAULT == "saves-once"):
        return
    send(SAVE, words=words, fields=fields)
    if FAULT == "saves-twice":
        send(SAVE, words=words, fields=fields)


def end_tasks():
    global is_expiring
    is_expiring = True
    for task in list(tasks):
        if FAULT == "keeps-its-tasks":
            continue
        send(END, task + (7 if FAULT == "ends-another-task" else 0))
        if FAULT == "ends-another-task":
            send(END, task)
        tasks.remove(task)


def obey(url):
    """Does what greenroomctl conformance asks for."""
    global begun
    if url == "conformance:begin" and (not is_expiring or FAULT == "begins-when-it-is-over"):
        begun += 1
        if FAULT == "begins-again-with-1":
            begun = 1
        if FAULT == "begins-once" and begun > 1:
            return
        identifier = begun - (FAULT == "begins-with-0")
        tasks.append(identifier)
        send(BEGIN, identifier)
    if url == "conformance:submit":
        cookie = len(asked) + (FAULT != "asks-with-0")
        asked[cookie] = "refresh"
        send(SUBMIT, cookie, words=["refresh"])


def run_task(number, identifier):
    if number in known and FAULT != "runs-again":
        return
    known.append(number)
    if identifier != "refresh":
        if FAULT != "says-nothing-of-unknown-work":
            send(COMPLETED, number, 0 if FAULT == "succeeds-with-unknown-work" else 2)
    elif FAULT == "completes-without-a-handler":
        send(COMPLETED, number, 2)
    else:
        runs[number] = identifier
        if FAULT == "runs-again":
            expire_task(number)


def expire_task(number):
    if number not in runs and FAULT != "completes-again":
        return
    runs.pop(number, None)
    if FAULT != "never-completes":
        send(COMPLETED, number + 100 * (FAULT == "completes-another-run"), 1)
        if FAULT == "completes-another-run":
            send(COMPLETED, number, 1)


def ask_again():
    for cookie, identifier in asked.items():
        again = cookie | (0 if FAULT == "asks-again-as-before" else AGAIN)
        if FAULT != "does-not-ask-again":
            send(SUBMIT, again, words=[identifier])


def background(kind, cookie, strings):
    """Handles messages that are not acknowledged."""
    global is_expiring
    if kind == TIME and cookie == (1 << 64) - 1:
        is_expiring = False
    if FAULT == "acknowledges-its-time" and kind == TIME:
        send(ACKNOWLEDGED, cookie)
    elif kind == TIME_EXPIRES:
        end_tasks()
    elif kind == RUN:
        run_task(cookie, strings[0])
    elif kind == EXPIRE:
        expire_task(cookie)


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
        if len(data) != HEADER.size + header[6] and FAULT != "reads-anything":
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
        elif LIFECYCLE <= kind <= EVENTS and kind != ANSWER:
            if not launched and FAULT != "acts-while-paused":
                refuse(errno.EPROTO, cookie)
                continue
            happen(kind, cookie, status, data[HEADER.size:].decode().split("\0")[:-1], descriptors)
        elif launched and kind == RESTORE:
            restore(cookie, status, [])
        elif launched and kind == ANSWER:
            if cookie == 0:
                ask_again()
            elif FAULT != "asks-what-was-answered":
                asked.pop(cookie, None)
        elif launched and kind in (TIME, TIME_EXPIRES, RUN, EXPIRE):
            background(kind, cookie, data[HEADER.size:].decode().split("\0")[:-1])
        elif FAULT == "ignores-the-unknown":
            pass
        elif FAULT == "dies-of-the-unknown":
            sys.exit(1)
        else:
            refuse(errno.EPROTO if FAULT == "calls-the-unknown-wrong" else errno.ENOSYS, cookie)


def saves(kind, status, strings):
    """Saves before the acknowledgement of a step out of the foreground."""
    global was_in_front
    if (kind, status) in ((LIFECYCLE, 2), (SCENE, 2)):
        was_in_front = True
    leaves = (kind, status) in ((LIFECYCLE, 4), (LIFECYCLE, 5), (SCENE, 4))
    if leaves and (was_in_front or FAULT == "saves-in-the-background"):
        was_in_front = False
        save(strings[0] if kind == SCENE else None)


def happen(kind, cookie, status, strings, descriptors):
    if kind == CREDENTIALS and FAULT != "keeps-credentials":
        for descriptor in descriptors:
            os.close(descriptor)
    if kind == DELIVER:
        if FAULT == "forgets-the-notification" and strings[0] == "1":
            return
        for one in strings:
            obey(one.partition("=")[2])
    if FAULT not in ("saves-late", "saves-after-its-end"):
        saves(kind, status, strings)
    if (kind, status) in ((LIFECYCLE, 2), (SCENE, 2)) and FAULT != "never-active":
        step(ACTIVE)
    silent = {"forgets-scenes": (CONNECT,), "forgets-memory": (LIFECYCLE,), "forgets-to-discard": (DISCARD,),
              "forgets-content": (DELIVER,), "forgets-to-disconnect": (SCENE,)}.get(FAULT, ())
    status_of = {"forgets-memory": 6, "forgets-to-disconnect": 5}.get(FAULT, status)
    if kind == CONNECT and FAULT == "shows-hidden-scenes":
        step(ACTIVE)
    if kind not in silent or status != status_of:
        acknowledge(cookie)
    if FAULT in ("saves-late", "saves-after-its-end"):
        saves(kind, status, strings)
    if (kind, status) == (LIFECYCLE, 5):
        end()


main()
