#!/usr/bin/env python3
"""What linking ApplicationKit costs an app: from exec to its delegate, with and without.

Two programs of one build, one after the other: each pair gives a difference, and their median is what
counts, so that whatever else the machine does falls on both alike. `make bench` runs it.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import bars
from bench import describe

LIMIT_MILLISECONDS = 0.2


def sample(program):
    """Milliseconds from exec to the byte that the delegate writes."""
    read, write = os.pipe()
    start = time.perf_counter()
    pid = os.posix_spawn(
        program, [program], {"SWIFT_BACKTRACE": "enable=no"},
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)],
    )
    os.close(write)
    said = os.read(read, 1)
    end = time.perf_counter()
    os.waitpid(pid, 0)
    os.close(read)
    if said != b"\1":
        raise SystemExit(f"sdk: {program} did not reach its delegate")
    return (end - start) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True, help="folder of the two programs")
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    describe(arguments.programs, arguments)
    programs = [str(arguments.programs / name) for name in ("bench-plain-app", "bench-kit-app")]
    times = {program: [] for program in programs}
    for program in programs * 5:
        sample(program)  # page cache
    for number in range(arguments.rounds):
        for program in programs if number % 2 else reversed(programs):
            times[program].append(sample(program))
    plain, kit = (statistics.median(times[program]) for program in programs)
    difference = statistics.median(b - a for a, b in zip(*times.values()))
    verdict = bars.at_most("app with ApplicationKit: exec to delegate, difference, p50", difference, LIMIT_MILLISECONDS, "ms")
    print(f"{'app with ApplicationKit: exec to delegate, p50':<52} {kit:>10.2f} ms    | "
          f"{'without it':<24} {plain:>10.2f} | +{difference:.2f} ms{verdict}")
    bars.report()


main()
