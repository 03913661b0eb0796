"""A program run directly, and the same program paused by the preload library and launched: what the daemon does, by
hand, so that a test sees each message."""
import array
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time

import appchannel
from places import DEADLINE, PRODUCT

SHIM = PRODUCT + "/libgreenroom-prewarm.so"
RUNTIMES = PRODUCT + "/runtimes"
SET_COMMAND_LINE, NEW_SESSION, CONTROLLING_TERMINAL = 1, 2, 4
# The reasons for starting a launch anew: enum gr_anew_reason.
OPTIONS, PROGRAM, HIDDEN, CHANGED, ENVIRONMENT, SIGNALS, FAILED = range(1, 8)
CHANNEL = 1023
INHERIT, INHERITED_SIZE = 19, 424


class Refused(Exception):
    """The program did not pause, or did not go on."""


class Answer:
    """A message of the paused process, which is a header only."""

    def __init__(self, magic, version, type, *rest):
        self.type, self.status = type, rest[7]
        assert (magic, version) == (appchannel.MAGIC, appchannel.VERSION)

    def __repr__(self):
        return f"message {self.type}, status {self.status}"


class Instance:
    """A paused program. `environment` is that of the prewarm."""

    def __init__(self, words, environment, executable=None, errors=subprocess.DEVNULL):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.dup2(theirs.fileno(), CHANNEL, inheritable=True)
        theirs.close()
        environment = dict(environment, GREENROOM_PAUSE="call",
                           GREENROOM_CHANNEL=f"{CHANNEL}:{os.fstat(CHANNEL).st_ino}")
        own = environment.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = f"{SHIM}:{own}" if own else SHIM
        if executable:
            environment["GREENROOM_EXECUTABLE"] = executable
        self.process = subprocess.Popen(
            words, env=environment, cwd="/", pass_fds=(CHANNEL,), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        os.close(CHANNEL)
        self.channel.settimeout(DEADLINE)
        message = self._receive()
        if message is None or message.type != appchannel.PAUSED:
            self.end()
            raise Refused(f"instead of a pause: {message}, status {self.process.returncode}")
        self.anew = None
        self.closed = ()

    def _receive(self):
        data = self.channel.recv(appchannel.LIMIT)
        return Answer(*appchannel.HEADER.unpack(data)) if data else None

    def launch(self, words, environment, directory, streams, mask, flags=0):
        """Sends the launch. Returns the time before that."""
        roles = [number for number in range(3) if number not in self.closed]
        pairs = [os.fsencode(name) + b"=" + os.fsencode(value) for name, value in environment.items()]
        folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        message = appchannel.encode(appchannel.GO, cookie=7, flags=SET_COMMAND_LINE | flags, words=words,
                                    fields=pairs, umask=mask, roles=(*roles, -1))
        sent = array.array("i", [*(streams[number] for number in roles), folder])
        start = time.monotonic_ns()
        self.channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        os.close(folder)
        return start

    def inherit(self, ignored=(), closed=()):
        """The launch inherits from its caller that it ignores these signals, and that these of the descriptors 0
        to 2 are closed (struct gr_inherited)."""
        self.closed = closed
        state = struct.pack("<IIIiIIQQ", 0, sum(1 << number for number in closed), 0, 0, 0, 0,
                            sum(1 << (number - 1) for number in ignored), 0).ljust(INHERITED_SIZE, b"\0")
        header = appchannel.HEADER.pack(appchannel.MAGIC, appchannel.VERSION, INHERIT, 0, 0, 0, len(state), 0, 0, 0, 0, 0,
                                        *[0] * 28)
        self.channel.sendmsg([header, state])

    def await_start(self):
        """Waits for the answer to the launch. Afterwards `anew` is 0, or the reason for starting anew."""
        message = self._receive()
        if message is None or message.type != appchannel.STARTED:
            raise Refused(f"instead of a start: {message}")
        self.anew = message.status

    def end(self):
        self.channel.close()
        if self.process.poll() is None:
            try:
                self.process.wait(1)  # the paused process ends when its channel is closed
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Outcome:
    def __init__(self, status, output, errors, first, end):
        self.status, self.output, self.errors = status, output, errors
        self.first, self.end = first, end  # the times to the first byte and to the process's end, in nanoseconds


def run_directly(words, environment, directory, given=b"", mask=0o022):
    def start(streams):
        begin = time.monotonic_ns()
        return begin, subprocess.Popen(words, env=environment, cwd=directory, umask=mask, start_new_session=True,
                                       stdin=streams[0], stdout=streams[1], stderr=streams[2])

    return _collect(start, given)


def run_prewarmed(instance, words, environment, directory, given=b"", mask=0o022):
    def start(streams):
        begin = instance.launch(words, environment, directory, streams, mask)
        return begin, instance.process

    outcome = _collect(start, given)
    instance.await_start()
    return outcome


def talk_directly(words, environment, directory, dialogue, typed=b""):
    """Works as `run_directly`, on a terminal. `dialogue`: a pattern to wait for, and what to type then, in turns. `typed` is
    there before the program starts."""
    def start(terminal):
        pid = os.fork()
        if pid == 0:
            try:
                os.login_tty(terminal) if hasattr(os, "login_tty") else _take_terminal(terminal)
                for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                    signal.signal(number, signal.SIG_DFL)
                os.chdir(directory)
                os.execve(words[0], words, environment)
            finally:
                os._exit(127)
        return lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    return _talk(start, dialogue, typed)


def _take_terminal(terminal):
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)


def talk_prewarmed(instance, words, environment, directory, dialogue, typed=b""):
    def start(terminal):
        instance.launch(words, environment, directory, (terminal,) * 3, 0o022, NEW_SESSION | CONTROLLING_TERMINAL)
        return lambda: instance.process.wait(DEADLINE)

    outcome = _talk(start, dialogue, typed)
    instance.await_start()
    return outcome


def _talk(start, dialogue, typed):
    master, slave = pty.openpty()
    os.set_inheritable(master, False)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    if typed:  # without echo, whose place in the output would be random
        modes = termios.tcgetattr(slave)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        os.write(master, typed)
    begin = time.monotonic_ns()
    wait = start(slave)
    os.close(slave)
    seen, unread, first, turns = b"", b"", None, list(dialogue)
    while True:
        if turns and (match := re.search(turns[0][0], unread)):
            unread = unread[match.end():]
            os.write(master, turns.pop(0)[1])
            continue
        if not select.select([master], [], [], DEADLINE)[0]:
            break
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        first = first or time.monotonic_ns()
        seen, unread = seen + data, unread + data
    os.close(master)
    status = wait()
    return Outcome(status, seen, b"", (first or begin) - begin, time.monotonic_ns() - begin)


def _collect(start, given):
    assert len(given) < 65536
    sources, sinks = [os.pipe() for _ in range(3)], {}
    os.write(sources[0][1], given)
    os.close(sources[0][1])
    begin, process = start((sources[0][0], sources[1][1], sources[2][1]))
    for end in (sources[0][0], sources[1][1], sources[2][1]):
        os.close(end)
    first = None
    for reader, _ in sources[1:]:
        sinks[reader] = b""
    open_ends = list(sinks)
    while open_ends:
        ready = select.select(open_ends, [], [], DEADLINE)[0]
        if not ready:
            process.kill()
            break
        for reader in ready:
            data = os.read(reader, 65536)
            first = first or time.monotonic_ns()
            sinks[reader] += data
            if not data:
                open_ends.remove(reader)
    status = process.wait()
    end = time.monotonic_ns()
    for reader in sinks:
        os.close(reader)
    return Outcome(status, *sinks.values(), first - begin, end - begin)
