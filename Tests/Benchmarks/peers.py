#!/usr/bin/env python3
"""Greenroom beside what others offer, in one run: from the request to the first instruction of main of
the same program. `make bench-peers` installs them from Debian; what is missing is named.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from bench import (COLD, PREWARMED, Contender, Daemon, describe, launches, line, manifest,
                   percentile)

# s6-supervise and runsv wait a second before they restart a program that has ended sooner.
REST_SECONDS = 1.1


class Supervised:
    """One service of s6-supervise or runsv, started once by a byte into its control pipe: what s6-svc
    and sv do, without their own start."""

    def __init__(self, tool, probe, folder):
        self.name, self.times = f"{tool}, once", []
        self.service = Path(folder) / tool
        self.service.mkdir()
        (self.service / "down").touch()
        shutil.copy(probe, self.service / "run")
        self.output, write = os.pipe()
        self.process = subprocess.Popen(
            [tool, str(self.service)], stdin=subprocess.DEVNULL, stdout=write)
        os.close(write)
        end = time.monotonic() + 10
        self.control = None
        while self.control is None:
            with contextlib.suppress(OSError):
                self.control = os.open(
                    self.service / "supervise/control", os.O_WRONLY | os.O_NONBLOCK)
            if time.monotonic() > end:
                sys.exit(f"bench: {tool} did not make its control pipe")
            time.sleep(0.01)

    def measure(self):
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.write(self.control, b"o")
        self.times.append(int.from_bytes(os.read(self.output, 8), sys.byteorder) - start)

    def stop(self):
        os.write(self.control, b"x")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(3)
        self.process.kill()
        self.process.wait()


def report(ours, theirs, times):
    for percent in (50, 99):
        line(f"launch {ours.name}: request to main, p{percent}",
             percentile(ours.columns[0], percent) / 1000, "us", theirs,
             percentile(times, percent) / 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--product", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)
    print("# peers: the same probe.c, stamped at main's first instruction; AFL++'s fork server forks the "
          "same process for ever, with no environment,\n"
          "#        arguments, directory, credentials or descriptors of the launch's own; s6 and runit "
          "fork and exec, one start a second, as they\n#        allow; ours is then 'after a rest' too")
    probe = programs / "probe"
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        daemon.install("bench.probe", manifest(probe))
        daemon.install("bench.cold", manifest(probe, prewarm="never"))
        supervised = []
        try:
            daemon.start()
            for tool in ("s6-supervise", "runsv"):
                if shutil.which(tool):
                    supervised.append(Supervised(tool, probe, folder))
                else:
                    print(f"# {tool}: not installed")
            if not shutil.which("dinit"):
                print("# dinit: not installed (Debian 12 has no package of it)")
            measure(daemon, programs, supervised, arguments.rounds)
        finally:
            for service in supervised:
                service.stop()
            daemon.stop()


def measure(daemon, programs, supervised, rounds):
    def start(name, app, expected):
        return launches(name, daemon, programs, app, 15, expected=expected)

    prewarmed = start("prewarmed", "bench.probe", PREWARMED)
    cold = start("cold", "bench.cold", COLD)
    # To be compared with supervisors that start a program once a second: one launch after the same time.
    rested = [start(f"{contender.name} after a rest", app, expected)
              for contender, app, expected in (
                  (prewarmed, "bench.probe", PREWARMED), (cold, "bench.cold", COLD))]
    contenders = [prewarmed, cold]
    target = programs / "probe-afl"
    forked = Contender("AFL++ fork server", lambda n: [
        str(programs / "forkserver"), str(n), "--", str(target)], 15)
    if target.exists():
        contenders.append(forked)
    else:
        print("# AFL++: not installed")
    for number in range(-1, rounds):
        for contender in contenders:
            contender.measure(contender.per_round, keep=number >= 0)
        for rare in supervised + rested:
            time.sleep(REST_SECONDS / 2)
            rare.measure(*(() if rare in supervised else (1, number >= 0)))
    if forked.columns:
        report(prewarmed, forked.name, forked.columns[0])
    for service in supervised:
        for ours in rested:
            report(ours, service.name, service.times[1:])


if __name__ == "__main__":
    main()
