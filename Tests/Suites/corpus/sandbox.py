"""A place of its own for the run: no network, and everything it started ends with it."""
import ctypes
import os
import signal
import subprocess
import time

LIBC = ctypes.CDLL(None, use_errno=True)
NOBODY = 65534
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x20000, 0x08000000, 0x40000000


def prctl(option, value):
    LIBC.prctl(option, value, 0, 0, 0)


def _unshare(what):
    if LIBC.unshare(what) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def enter_network():
    """Without any but its own loopback."""
    _unshare(CLONE_NEWNET)
    subprocess.run(["ip", "link", "set", "lo", "up"], capture_output=True)


def enter_mounts(keep):
    """Temporary folders of its own, but for the one that `keep` is in."""
    _unshare(CLONE_NEWNS | CLONE_NEWIPC)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in ("/var/tmp", "/dev/shm"):
        if not keep.startswith(folder):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "corpus", folder], capture_output=True)


def children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def descendants(process):
    found = []
    for child in children(process):
        found += descendants(child) + [child]
    return found


def end_all(but=()):
    """Ends what is left of this process's descendants, which come to it: it is their subreaper."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        left = [one for one in descendants(os.getpid()) if one not in but]
        if not left:
            return
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap(but)
        time.sleep(0.01)


def reap(but=()):
    for child in children(os.getpid()):
        if child in but:
            continue
        try:
            os.waitpid(child, os.WNOHANG)
        except ChildProcessError:
            pass
