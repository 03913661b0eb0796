#!/usr/bin/env python3
"""Launches while a prewarm of the app is under way: how long from the request to main, beside a
cold launch of the same program. The program works for a tenth of a second before main."""

import argparse
import os
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from bench import CONFIGURATION, Daemon, describe, manifest, percentile, prewarm_request, status_request

APP, COLD = "bench.slow", "bench.slow.cold"
WORK_SECONDS = 0.1


def launch(daemon, app):
    """Returns the milliseconds from the request to main, and how the launch was served."""
    began, stamp, kind = daemon.launch(app, lambda output: os.read(output, 8))
    return (struct.unpack("Q", stamp)[0] - began) / 1e6, kind


def states(daemon):
    return [one["state"] for one in daemon.ask(status_request(APP))[0].get("instances", [])]


def sample(daemon, percent):
    """Launches the app when its prewarm is done to this percentage, according to the time of the last one."""
    daemon.ask(prewarm_request(APP))
    launch(daemon, APP)  # this takes the instance from the pool, which is filled again
    while "prewarming" not in states(daemon):
        pass
    time.sleep(WORK_SECONDS * percent / 100)
    return launch(daemon, APP)


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
        daemon.write("greenroom.conf", CONFIGURATION + "RefillDelaySec=0\n")
        preload = f"LD_PRELOAD={programs / 'slow.so'}"
        daemon.install(APP, manifest(programs / "probe", preload))
        daemon.install(COLD, manifest(programs / "probe", preload, prewarm="never"))
        daemon.start()
        try:
            samples = {name: [] for name in ("cold", 10, 50, 90)}
            for _ in range(arguments.rounds):
                for name, values in samples.items():
                    values.append(launch(daemon, COLD) if name == "cold" else sample(daemon, name))
        finally:
            daemon.stop()
    cold = percentile([value for value, _ in samples["cold"]], 50)
    for name, values in samples.items():
        what = "cold" if name == "cold" else f"at {name} % of the way to the pause"
        median = percentile([value for value, _ in values], 50)
        served = sum(kind == "prewarmed" for _, kind in values)
        print(f"launch {what:<36} {median:8.2f} ms | cold {cold:8.2f} | {median / cold:5.2f}  "
              f"({served} of {len(values)} by the prewarm)")


if __name__ == "__main__":
    main()
