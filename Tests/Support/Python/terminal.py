"""A program on its own terminal: types to it, and reads what it writes."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios

from places import DEADLINE


class Terminal:
    def __init__(self, command, environment):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            # Python ignores two signals, and nohup(1) another; the program must get them as after a login.
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.seen = b""

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def wait(self, pattern):
        """Waits until the program has written text that matches, and returns the text before it and the
        match."""
        while not (match := re.search(pattern.encode(), self.seen)):
            if not select.select([self.descriptor], [], [], DEADLINE)[0]:
                raise TimeoutError(f"no {pattern} in {self.seen!r}")
            try:
                self.seen += os.read(self.descriptor, 65536)
            except OSError:
                raise EOFError(f"the program ended: {self.seen!r}") from None
        before, self.seen = self.seen[:match.start()], self.seen[match.end():]
        return before.decode(errors="replace"), match

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)
