#!/usr/bin/env python3
"""Launches after a rest: how long from the request to main when nothing has happened for a while, beside the same
hops in C after the same rest, and beside both without one. What a rest costs the C programs is the machine's: caches,
and processors that a hypervisor has to wake."""

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import bars
from bench import (
    Contender, Daemon, compare_launches, describe, launches, manifest, run_rounds,
)

APP = "bench.probe"
# Milliseconds, each with the samples of a round.
RESTS = [(0, 30), (50, 6), (200, 2), (1000, 1)]


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
    bars.report()


if __name__ == "__main__":
    main()
