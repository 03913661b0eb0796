#!/usr/bin/env python3
"""The bars of the benchmarks: what each figure must reach, in one table at the end.

A benchmark describes itself with `begin`, notes each bar with `at_most`, `at_least` or `skip`, and ends with `report`,
which prints its table. With BENCH_BARS=FILE it adds to that file instead, and `bars.py FILE` prints the table of all
benchmarks. A missed bar does not change the exit status, because a figure of a busy machine is no failure; the last
lines of the table name every missed bar.
"""

import json
import os
import sys
from pathlib import Path

# Read at the start, because a benchmark may change its environment.
FILE = os.environ.get("BENCH_BARS")
MET, MISSED, SKIPPED = "met", "MISSED", "not measured"
entries = []
# The benchmark's name in the table. A benchmark with several modes sets it.
benchmark = Path(sys.argv[0]).stem


def add(entry):
    entries.append(entry)
    if FILE:
        with open(FILE, "a") as file:
            file.write(json.dumps(entry) + "\n")


def load():
    return f"{os.getloadavg()[0]:.2f}"


def begin(made):
    """Notes how the figures are made: the machine, the build, the number of rounds."""
    add({"benchmark": benchmark, "made": made, "load": load()})


def note(bar, value, bound, verdict):
    value, bound = value.strip(), bound.strip()
    add({"benchmark": benchmark, "bar": bar, "value": value, "bound": bound, "verdict": verdict})
    return f"  ({bound}: {verdict})"


def at_most(bar, value, bound, unit, digits=2):
    """Returns what to print beside the figure."""
    return note(bar, f"{value:.{digits}f} {unit}", f"at most {bound:g} {unit}", MET if value <= bound else MISSED)


def at_least(bar, value, bound, unit, digits=2):
    return note(bar, f"{value:.{digits}f} {unit}", f"at least {bound:g} {unit}", MET if value >= bound else MISSED)


def skip(bar, reason):
    """Notes that the bar cannot be measured on this machine."""
    note(bar, "-", reason, SKIPPED)


def report():
    add({"benchmark": benchmark, "load": load()})
    if not FILE:
        print_table(entries)


def print_table(all_entries):
    print("\n=== Bars")
    counts = {MET: 0, MISSED: 0, SKIPPED: 0}
    missed = []
    for one in dict.fromkeys(entry["benchmark"] for entry in all_entries):
        own = [entry for entry in all_entries if entry["benchmark"] == one]
        loads = [entry["load"] for entry in own if "load" in entry]
        for entry in own:
            if "made" in entry:
                print(f"\n{one}: {entry['made']}; load {' to '.join(loads)}")
            elif "verdict" in entry:
                verdict, bar = entry["verdict"], entry["bar"]
                print(f"  {verdict:<12} {bar:<88} {entry['value']:>14}  {entry['bound']}")
                counts[verdict] += 1
                if verdict == MISSED:
                    missed.append(f"{one}: {bar}: {entry['value']} ({entry['bound']})")
    first = float(all_entries[0]["load"])
    if first > os.cpu_count() / 2:
        print(f"\n=== BUSY MACHINE: load {first} on {os.cpu_count()} CPUs before anything was measured")
    print("\n=== " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    for text in missed:
        print(f"{MISSED} {text}")


if __name__ == "__main__":
    print_table([json.loads(text) for text in Path(sys.argv[1]).read_text().splitlines()])
