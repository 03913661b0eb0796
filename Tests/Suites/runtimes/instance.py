"""A program run directly, and the same program paused by the preload library and launched: what the daemon does, by
hand, so that a test sees each message."""
import array
import os
import select
import signal
import socket
import subprocess
import time

import appchannel
from places import DEADLINE, PRODUCT

SHIM = PRODUCT + "/libgreenroom-prewarm.so"
RUNTIMES = PRODUCT + "/runtimes"
SET_COMMAND_LINE, NEW_SESSION, CONTROLLING_TERMINAL = 1, 2, 4
# Why a launch was started anew: enum gr_anew_reason.
OPTIONS, PROGRAM, HIDDEN, CHANGED, ENVIRONMENT, SIGNALS, FAILED = range(1, 8)
CHANNEL = 1023


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

    def _receive(self):
        data = self.channel.recv(appchannel.LIMIT)
        return Answer(*appchannel.HEADER.unpack(data)) if data else None

    def launch(self, words, environment, directory, streams, mask, flags=0):
        """Sends the launch. Returns the time before."""
        pairs = [os.fsencode(name) + b"=" + os.fsencode(value) for name, value in environment.items()]
        folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        message = appchannel.encode(appchannel.GO, cookie=7, flags=SET_COMMAND_LINE | flags, words=words,
                                    fields=pairs, umask=mask, roles=(0, 1, 2, -1))
        sent = array.array("i", [*streams, folder])
        start = time.monotonic_ns()
        self.channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        os.close(folder)
        return start

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
        self.first, self.end = first, end  # nanoseconds to the first byte, and to the process's end


def run_directly(words, environment, directory, given=b"", mask=0o022):
    def start(streams):
        here = os.open(".", os.O_PATH)
        old = os.umask(mask)
        os.chdir(directory)
        try:
            begin = time.monotonic_ns()
            actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
            pid = os.posix_spawnp(words[0], words, environment, file_actions=actions, setsid=True,
                                  setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT])
        finally:
            os.fchdir(here)
            os.close(here)
            os.umask(old)
        return begin, pid

    return _collect(start, lambda pid: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), given)


def run_prewarmed(instance, words, environment, directory, given=b"", mask=0o022):
    def start(streams):
        begin = instance.launch(words, environment, directory, streams, mask)
        return begin, instance.process.pid

    def wait(pid):
        return instance.process.wait(DEADLINE)

    outcome = _collect(start, wait, given)
    instance.await_start()
    return outcome


def _collect(start, wait, given):
    assert len(given) < 65536
    sources, sinks = [os.pipe() for _ in range(3)], {}
    os.write(sources[0][1], given)
    os.close(sources[0][1])
    begin, pid = start((sources[0][0], sources[1][1], sources[2][1]))
    for end in (sources[0][0], sources[1][1], sources[2][1]):
        os.close(end)
    first = None
    for reader, _ in sources[1:]:
        sinks[reader] = b""
    open_ends, limit = list(sinks), time.monotonic() + DEADLINE
    while open_ends:
        ready = select.select(open_ends, [], [], max(0, limit - time.monotonic()))[0]
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        for reader in ready:
            data = os.read(reader, 65536)
            first = first or time.monotonic_ns()
            sinks[reader] += data
            if not data:
                open_ends.remove(reader)
    status = wait(pid)
    end = time.monotonic_ns()
    for reader in sinks:
        os.close(reader)
    return Outcome(status, *sinks.values(), first - begin, end - begin)
