#!/usr/bin/env python3
"""Writes down which functions each program runs in an ordinary day: first those that serve, then those
that only start it. `make release` links them in this order, side by side (config/link/NAME.order), so
that few pages are touched. Names that no longer exist do no harm and win nothing.

Every function of a program gets a breakpoint that is taken out when it is first met: one stop per
function. x86-64 only; the lists serve every machine.
"""

import argparse
import ctypes
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from bench import (COLD, Daemon, echo_manifest, launch_request, manifest, parent_of,
                   prewarm_request, status_request, suspend_request)
from control import request

BREAKPOINT, RETURN = 0xCC, 0xC3
# ptrace(2); the instruction pointer is the seventeenth word of struct user.
TRACEME, PEEKUSER, POKEUSER, CONTINUE, DETACH = 0, 3, 6, 7, 17
SET_OPTIONS = 0x4200
INSTRUCTION_POINTER = 16 * 8
# fork, vfork, clone, exec: children have the breakpoints too, until they execute another program. The last option
# kills every traced process at the end of this one, so none is left with breakpoints.
OPTIONS = 0x2 | 0x4 | 0x8 | 0x10 | 0x100000
EVENT_EXEC = 4
ANY_CHILD = 0x40000000  # __WALL

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno() != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")
    return result


class Program:
    """An executable file with symbols, and which of its functions were met, stretch by stretch."""

    def __init__(self, path):
        self.path, self.is_fixed, self.functions = path, False, {}
        text = subprocess.run(["readelf", "--file-header", "--symbols", "--wide", path],
                              check=True, capture_output=True, text=True).stdout
        for words in map(str.split, text.splitlines()):
            if words[:2] == ["Type:", "EXEC"]:
                self.is_fixed = True
            elif len(words) == 8 and words[3] == "FUNC" and words[6] != "UND" and words[2] != "0":
                self.functions.setdefault(int(words[1], 16), words[7])
        # If the code were dropped, its breakpoints would be dropped with it.
        self.droppers = [address for address, name in self.functions.items()
                         if name == "gr_drop_text"]
        self.first, self.last = min(self.functions), max(self.functions)
        self.stretches, self.code = [{}], b""

    def base(self, pid):
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        return 0 if self.is_fixed else min(
            int(line.split("-")[0], 16) for line in maps if line.endswith(str(self.path)))

    def arm(self, pid):
        """Sets breakpoints in a process of this program. Returns the base address of its code."""
        base = self.base(pid)
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(base + self.first)
            self.code = self.code or memory.read(self.last + 1 - self.first)
            code = bytearray(self.code)
            for address in self.functions:
                code[address - self.first] = BREAKPOINT
            for address in self.droppers:
                code[address - self.first] = RETURN
            memory.seek(base + self.first)
            memory.write(code)
        return base

    def met(self, task, base, counts):
        """Notes a function, and removes its breakpoint, after which the task has stopped."""
        place = ptrace(PEEKUSER, task, INSTRUCTION_POINTER) - 1
        with open(f"/proc/{task}/mem", "r+b", buffering=0) as memory:
            memory.seek(place)
            offset = place - base - self.first
            memory.write(self.code[offset:offset + 1])
        ptrace(POKEUSER, task, INSTRUCTION_POINTER, place)
        if counts:
            self.stretches[-1].setdefault(self.functions[place - base])


def follow(driver, programs):
    """Until the driver has ended: it and what it starts are ours to wait for. When it stops itself,
    another stretch begins."""
    armed = {}
    os.waitpid(driver, 0)
    ptrace(SET_OPTIONS, driver, 0, OPTIONS)
    ptrace(CONTINUE, driver)
    while True:
        task, status = os.waitpid(-1, ANY_CHILD)
        if not os.WIFSTOPPED(status):
            armed.pop(task, None)
            if task == driver:
                return os.waitstatus_to_exitcode(status)
            continue
        number, event, deliver = os.WSTOPSIG(status), status >> 16, 0
        try:
            if event == EVENT_EXEC:
                program = programs.get(os.readlink(f"/proc/{task}/exe"))
                if not program:
                    ptrace(DETACH, task)
                    continue
                armed[task] = program, program.arm(task)
            elif event:
                pass
            elif number == signal.SIGTRAP:
                # A child runs its parent's code until its exec. That is not counted.
                parent = parent_of(Path(f"/proc/{task}"))
                program, base = armed.get(task) or armed[parent]
                program.met(task, base, counts=task in armed)
            elif number == signal.SIGSTOP and task == driver:
                for program in programs.values():
                    program.stretches.append({})
                for process, (program, _) in armed.items():
                    program.arm(process)
            elif number != signal.SIGSTOP:  # each traced child begins with it
                deliver = number
            ptrace(CONTINUE, task, 0, deliver)
        except (ProcessLookupError, FileNotFoundError):
            continue  # the task was killed after its stop


def ordinary_day(product, executable, launcher, folder):
    """Does what is asked for most first, because code that runs together should lie together in the file."""
    daemon = Daemon(product, folder)
    for number in range(10):
        daemon.install(f"org.example.app{number}", manifest(executable))
    daemon.install("org.example.cold", manifest(executable, prewarm="never"))
    daemon.install("org.example.stays", manifest("/bin/sleep", arguments=["1000"]))
    address = str(Path(folder) / "echo")
    daemon.install("org.example.echo", echo_manifest(product, address))
    client = str(product / "greenroomctl")

    def ctl(verb, *words):
        # Started by the driver itself, so that the client is traced, too.
        subprocess.run([client, verb, "--socket", str(daemon.socket), *words], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    try:
        daemon.start()
        # The loop answers this, so the start is over.
        daemon.ask(status_request("org.example.cold"))
        os.kill(os.getpid(), signal.SIGSTOP)
        for number in range(10):
            daemon.ask(prewarm_request(f"org.example.app{number}"))
        daemon.ask(request("Launch", {"app": "org.example.echo", "background": True}))
        for app in ["org.example.app0", "org.example.app1", "org.example.cold"] * 3:
            ctl("run", app)
            ctl("launch", app, "--background")
        # More launches than instances are paused, so that pools run out and are filled again.
        for _ in range(6):
            for number in range(10):
                daemon.ask(request("Launch", {"app": f"org.example.app{number}", "background": True}))
        daemon.ask(status_request("org.example.app0"))
        # More launches than the daemon remembers, so that it forgets some.
        subprocess.run([launcher, "start", str(daemon.socket), "600", "",
                        json.dumps(launch_request("org.example.cold")), COLD],
                       check=True, stdout=subprocess.DEVNULL)
        for _ in range(3):
            for before in ("", json.dumps(suspend_request("org.example.echo"))):
                subprocess.run([launcher, "talk", str(daemon.socket), "5", before, address],
                               check=True, stdout=subprocess.DEVNULL)
        time.sleep(3)  # some deadlines pass in this time
        ctl("launch", "org.example.stays")
        for verb in ["background", "suspend", "resume", "foreground", "terminate"]:
            ctl(verb, "org.example.stays")
        ctl("terminate", "org.example.echo")
        for words in [["status"], ["list"], ["explain", "org.example.app0"], ["reload"], ["history"]]:
            ctl(*words)
    finally:
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--bench", type=Path, required=True, help="what apps execute and clients run")
    parser.add_argument("--to", type=Path, required=True, help="folder of the lists")
    parser.add_argument("programs", type=Path, nargs="+", help="as linked, with their symbols")
    arguments = parser.parse_args()
    if platform.machine() != "x86_64":
        sys.exit("order: this records on x86-64 only; the lists that there are serve every machine")

    with tempfile.TemporaryDirectory(prefix="greenroom-order-") as folder:
        product, bench = Path(folder).resolve() / "product", arguments.bench.resolve()
        shutil.copytree(arguments.product, product)
        for file in arguments.programs:
            shutil.copy(file, product)
        programs = {str(product / file.name): Program(product / file.name)
                    for file in arguments.programs}
        driver = os.fork()
        if driver == 0:
            ptrace(TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            ordinary_day(product, bench / "probe", str(bench / "launch"), folder)
            os._exit(0)
        if follow(driver, programs) != 0:
            sys.exit("order: the day did not go well; nothing was written")
        for program in programs.values():
            start, day = program.stretches
            names = dict.fromkeys([*day, *start])
            arguments.to.mkdir(exist_ok=True)
            (arguments.to / f"{program.path.name}.order").write_text("\n".join(names) + "\n")
            print(f"order: {program.path.name}: {len(day)} functions serve, "
                  f"{len(names) - len(day)} only start it")


if __name__ == "__main__":
    main()
