#!/usr/bin/env python3
"""What a caller of a program feels: the program executed directly, and through a link to greenroom-run, from
vfork to the end of waitpid, in turns, and beside them the least that a client, a server and a paused process can
take (floor.c). And what greenroom-run itself takes: from its exec to main, and from the app's end to the caller.
With --corpus the programs are those of Debian's base (base.py), each beside itself executed directly, and once more
directly: how many are slower through the link, and how many are "slower" than themselves."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import bars
import base
from bench import (
    LIMIT, PATIENCE_SECONDS, Contender, Daemon, compare, compare_launches, describe, line, manifest, median, noise,
    percentile, prewarm_request, run_rounds,
)
from control import request

# The programs, each with an argument that makes it do its smallest job, and their bars.
PROGRAMS = [
    (["git", "--version"], 1.0),
    (["bash", "-c", ":"], 1.0),
    (["true"], 1.0),
    (["sqlite3", "-version"], 1.0),
    (["ffmpeg", "-version"], 0.07),
    (["inkscape", "--version"], 0.2),
]


# The number of programs of Debian's base.
CORPUS_LIMIT = 60


class Floor:
    """The server that holds one program at its main (floor.c)."""

    def __init__(self, programs, folder, name, words):
        self.program, self.socket = str(programs / "floor"), f"{folder}/{name}.floor"
        self.process = subprocess.Popen(
            [self.program, "serve", self.socket, str(programs / "hold.so"), "--", *words], stdin=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"bench: the floor of {name} does not listen")
            time.sleep(0.01)

    def contender(self, name, caller, per_round):
        return Contender(f"least client, {name}", lambda n: [
            caller, str(n), self.socket, "hold", "--", self.program, self.socket], per_round)

    def stop(self):
        self.process.kill()
        self.process.wait()


def environment():
    """The environment of the paused instances. A caller with another environment is launched cold."""
    return {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}


def through_link(name, caller, daemon, app, link, words, per_round):
    return Contender(name, lambda n: [
        *caller, str(n), str(daemon.socket), json.dumps(prewarm_request(app)), "--", str(link), *words],
        per_round, {"GREENROOM_SOCKET": str(daemon.socket)})


def last_launch(daemon, app):
    """Returns how the app was launched last, with the reason if it was cold."""
    launched = daemon.ask(request("Explain", {"app": app}))[0].get("lastLaunch", {"kind": "never"})
    return launched["kind"], launched.get("coldReason", "")


def measure_base(product, caller, rounds):
    """Measures each program in three ways in turns: through the link, directly, and directly again."""
    paths, count = base.choose(CORPUS_LIMIT)
    print(f"# {len(paths)} of {count} programs of Debian's base, every {count / max(1, len(paths)):.1f}th by the path")
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        measured = []
        for number, path in enumerate(paths):
            app, link = f"bench.base{number}", Path(folder) / str(number) / os.path.basename(path)
            daemon.install(app, manifest(path))
            link.parent.mkdir()
            link.symlink_to(product / "greenroom-run")
            directly = [Contender(path, lambda n, path=path: [caller, str(n), "--", path, base.ARGUMENT], 2)
                        for _ in range(2)]
            measured.append((path, app, through_link(path, [caller], daemon, app, link, [base.ARGUMENT], 2), *directly))
        try:
            daemon.start()
            run_rounds([contender for _, _, *contenders in measured for contender in contenders], rounds)
            launched = {path: last_launch(daemon, app) for path, app, *_ in measured}
        finally:
            daemon.stop()
    # Programs that are launched cold, or executed by greenroom-run itself, are counted like the others: their callers
    # wait for them.
    others = [f"{path} {' '.join(how)}" for path, how in launched.items() if how[0] != "prewarmed"]
    print(f"# the last launch: prewarmed {len(paths) - len(others)} of {len(paths)}{'; ' if others else ''}{', '.join(others)}")
    report_base([(path, *(contender.columns[0] for contender in contenders)) for path, _, *contenders in measured])


def report_base(measured):
    ratios, own_ratios, slower, slower_than_itself = [], [], [], []
    for path, linked, direct, again in measured:
        for values, found, beyond in ((linked, ratios, slower), (again, own_ratios, slower_than_itself)):
            ratio, bound = median(values) / median(direct), 1 + noise(values, direct)
            found.append(ratio)
            if ratio > bound:
                beyond.append(f"{path} ({ratio:.2f}, noise to {bound:.2f})")
        line(f"{path} {base.ARGUMENT}: call to end, p50", median(linked) / 1000, "us", "itself", median(direct) / 1000)
    for what, found, beyond in (("through the link", ratios, slower), ("the same again", own_ratios, slower_than_itself)):
        print(f"{what}, to executed directly: {sum(ratio > 1 for ratio in found)} of {len(found)} above 1, {len(beyond)} "
              f"beyond noise; median {statistics.median(found):.3f}, worst {max(found):.3f}; median of "
              f"{len(measured[0][1])}{': ' if beyond else ''}{', '.join(beyond)}")
    print("the bar" + bars.at_most(
        f"programs of {len(ratios)} slower through the link, beyond noise", len(slower), 0, "", digits=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the C programs")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--corpus", action="store_true", help=f"{CORPUS_LIMIT} programs of Debian's base")
    arguments = parser.parse_args()
    if arguments.corpus:
        bars.benchmark += " --corpus"
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)
    caller, probe = str(programs / "caller"), str(programs / "probe")
    own = environment()
    os.environ.clear()
    os.environ.update(own)
    if arguments.corpus:
        measure_base(product, caller, arguments.rounds)
        return bars.report()

    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        links = Path(folder) / "links"
        links.mkdir()
        pairs, contenders, floors = [], [], {}

        def add(name, words, per_round, at_most=None, stamped=False):
            app = f"bench.{name.split()[0]}"
            daemon.install(app, manifest(words[0]))
            link = links / name.split()[0]
            link.symlink_to(product / "greenroom-run")
            kind = ["stamped"] if stamped else []
            direct = Contender(
                f"{name} itself", lambda n: [caller, *kind, str(n), "--", *words], per_round)
            linked = through_link(
                name, [caller, *kind], daemon, app, link, words[1:], per_round)
            pairs.append((name, linked, direct, at_most))
            contenders.extend([linked, direct])
            return app

        add("probe", [probe], 5, stamped=True)
        plain = Contender(
            "greenroomctl run", lambda n: [
                caller, "stamped", str(n), str(daemon.socket), json.dumps(prewarm_request("bench.probe")),
                "--", str(product / "greenroomctl"), "run", "bench.probe"],
            5, {"GREENROOM_SOCKET": str(daemon.socket)})
        contenders.append(plain)
        for words, at_most in PROGRAMS:
            path = shutil.which(words[0])
            if not path:
                print(f"# {words[0]}: skipped, not installed")
                bars.skip(f"{' '.join(words)}: call to end, p50", "not installed")
                continue
            name, command = " ".join(words), [str(Path(path).resolve()), *words[1:]]
            add(name, command, 6, at_most)
            if (programs / "hold.so").exists():
                floor = Floor(programs, folder, words[0], command)
                floors[name] = floor, floor.contender(name, caller, 2)
                contenders.append(floors[name][1])
        try:
            daemon.start()
            run_rounds(contenders, arguments.rounds)
            for name, *_ in pairs:
                kind, reason = last_launch(daemon, f"bench.{name.split()[0]}")
                if kind != "prewarmed":
                    sys.exit(f"bench: {name} was launched {kind} {reason}")
        finally:
            daemon.stop()
            for floor, _ in floors.values():
                floor.stop()

    probed, itself = pairs[0][1], pairs[0][2]
    line("greenroom-run: exec to main, p50", percentile(probed.columns[1], 50) / 1e6, "ms",
         LIMIT, 0.6, 1)
    line("greenroom-run: exec to main, p50", percentile(probed.columns[1], 50) / 1000, "us",
         plain.name, percentile(plain.columns[1], 50) / 1000)
    later = percentile(probed.columns[2], 50) - percentile(itself.columns[2], 50)
    line("the end at the caller, after a parent would see it", later / 1e6, "ms", LIMIT, 0.1, 1)
    for name, linked, direct, at_most in pairs[1:]:
        if at_most == 1.0:  # within noise
            at_most += round(noise(linked.columns[0], direct.columns[0]), 3)
        compare_launches(f"{name}: call to end", linked, direct, at_most=at_most)
        if name in floors:
            compare("  the least client, server and paused process", floors[name][1], direct)
    bars.report()


if __name__ == "__main__":
    main()
