"""Runs one command and returns what it wrote and how it ended, within a time and a size."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

TIME = 6.0
SIZE = 1 << 20


class Outcome:
    def __init__(self, status, output, errors, files=None):
        self.status, self.output, self.errors, self.files = status, output, errors, files

    def __eq__(self, other):
        return (self.status, self.output, self.errors, self.files) == (other.status, other.output, other.errors, other.files)

    @property
    def is_whole(self):
        """Whether it ended by itself."""
        return isinstance(self.status, int)

    def difference(self, other):
        words = []
        if self.status != other.status:
            words.append(f"status {self.status} and {other.status}")
        for name in ("output", "errors"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
                start = max(0, at - 30)
                words.append(f"{name} at byte {at}: {mine[start:at + 50]!r} and {theirs[start:at + 50]!r}")
        if self.files != other.files:
            names = sorted(name for name in {*(self.files or {}), *(other.files or {})}
                           if (self.files or {}).get(name) != (other.files or {}).get(name))
            words.append("files: " + " ".join(names[:8]))
        return "; ".join(words)


def run(words, environment, folder, user, given=b"", seconds=TIME):
    """Ends the command's whole process group when it takes too long or writes too much.

    `given`: its input, or, on a terminal, what is typed: pairs of what it must have written before, and keys.
    """
    if isinstance(given, list):
        return _run_on_terminal(words, environment, folder, user, given, seconds)
    # The input is complete before the start, as that of a shell's "<", so that nobody has to write
    # meanwhile.
    reading, writing = os.pipe()
    if len(given) > 60000:
        raise ValueError("more input than a pipe holds")
    os.write(writing, given)
    os.close(writing)
    identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    try:
        process = subprocess.Popen(words, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                   cwd=folder, start_new_session=True, **identity)
    except OSError as error:
        return Outcome(f"not started: {error.strerror}", b"", b"")
    finally:
        os.close(reading)
    written = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
    order = list(written)
    end, status = time.monotonic() + seconds, None
    # A process that the program leaves behind may hold its output, so only the program's own end counts.
    ended = os.pidfd_open(process.pid)
    open_ones, is_over = set(order), False
    while open_ones:
        wait = max(0.0, (0.2 if is_over else end - time.monotonic()))
        ready, _, _ = select.select([*open_ones, *([] if is_over else [ended])], [], [], wait)
        if not ready:
            status = None if is_over else "did not end"
            break
        if ended in ready:
            is_over = True
            ready.remove(ended)
        for one in ready:
            part = os.read(one, 1 << 16)
            if not part:
                open_ones.discard(one)
            written[one] += part
        if sum(map(len, written.values())) > SIZE:
            status = "wrote too much"
            break
    if status is None and not is_over:
        if not select.select([ended], [], [], max(0.0, end - time.monotonic()))[0]:
            status = "did not end"
    os.close(ended)
    if status is not None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.stdout.close()
    process.stderr.close()
    code = process.wait()
    return Outcome(code if status is None else status, written[order[0]], written[order[1]])


def _run_on_terminal(words, environment, folder, user, typed, seconds):
    """All three streams are a terminal, the command's controlling one; its output is what is shown there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    identity = {}
    if user is not None:
        os.fchown(slave, user, user)
        identity = {"user": user, "group": user, "extra_groups": []}
    try:
        process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder,
                                   start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                   **identity)
    except OSError as error:
        os.close(master)
        return Outcome(f"not started: {error.strerror}", b"", b"")
    finally:
        os.close(slave)
    shown, seen, typed = b"", 0, list(typed)
    end, status = time.monotonic() + seconds, None
    ended = os.pidfd_open(process.pid)
    waiting = [master, ended]
    while True:
        # Each prompt is answered once, with the keys that belong to it.
        while typed and typed[0][0] in shown[seen:]:
            prompt, keys = typed.pop(0)
            seen += shown[seen:].index(prompt) + len(prompt)
            os.write(master, keys)
        is_over = ended not in waiting
        ready, _, _ = select.select(waiting, [], [], 0.2 if is_over else max(0.0, end - time.monotonic()))
        if not ready:
            status = None if is_over else "did not end"
            break
        if ended in ready:
            waiting.remove(ended)
        if master in ready:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # EIO: nobody has the terminal any more
                waiting.remove(master)
                if not waiting:
                    break
                continue
            shown += part
            if len(shown) > SIZE:
                status = "wrote too much"
                break
    if status is None and typed:
        status = f"did not ask {typed[0][0]!r}"
    if status is not None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    code = process.wait()
    os.close(ended)
    os.close(master)
    return Outcome(code if status is None else status, shown, b"")
