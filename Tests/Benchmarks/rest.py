#!/usr/bin/env python3
"""Launches after a rest: how long from the request to main when nothing has happened for a while, beside the same
hops in C after the same rest, and beside both without one. What a rest adds to the C program, which does nothing in
between, is the machine's: processors that a hypervisor has to wake, and caches. The last lines say how much that is of
what a rest adds to a launch."""

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import bars
from bench import (
    Contender, Daemon, compare_launches, describe, launches, manifest, percentile, run_rounds,
)

APP = "bench.probe"
# The rests in milliseconds, each with the number of samples of a round.
RESTS = [(0, 30), (50, 6), (200, 6), (1000, 3)]


def median(contender):
    """Returns the median in microseconds."""
    return percentile(contender.columns[0], 50) / 1000


def say_whose(pairs):
    """Prints how much of the time that a rest adds is the machine's."""
    (_, ours, relay), *rested = pairs
    without = median(ours), median(relay)
    for after, ours, relay in rested:
        added, machine = median(ours) - without[0], median(relay) - without[1]
        share = 0 if machine <= 0 else 1 if machine >= added else machine / added
        print(f"{after}, p50 of {len(ours.columns[0])}: {added:.1f} us more to main than without a rest; the machine's "
              f"(hypervisor and caches, by the C relay: {median(relay):.1f} against {without[1]:.1f}) {machine:.1f} us, "
              f"{share:.0%} of it")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the C programs")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        daemon.install(APP, manifest(programs / "probe"))
        pairs = []
        for rest, count in RESTS:
            environment = {"BENCH_REST_MSEC": str(rest)} if rest else {}
            after = f"after {rest} ms" if rest else "without a rest"
            pairs.append((
                after,
                launches(f"launch, {after}", daemon, programs, APP, count, environment=environment),
                Contender(
                    f"C relay, {after}", lambda n: [str(programs / "relay"), str(n)], count, environment)))
        daemon.start()
        try:
            run_rounds([contender for _, *both in pairs for contender in both], arguments.rounds)
        finally:
            daemon.stop()
    for after, ours, relay in pairs:
        compare_launches(f"request to main, {after}", ours, relay, at_most=2 if after.startswith("after") else 1.3)
    say_whose(pairs)
    bars.report()


if __name__ == "__main__":
    main()
