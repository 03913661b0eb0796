#!/usr/bin/env python3
"""What a caller of a program feels: the program executed directly, and through a link to greenroom-run, from
vfork to the end of waitpid, in turns, and beside them the least that a client, a server and a paused process can
take (floor.c). And what greenroom-run itself takes: from its exec to main, and from the app's end to the caller."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import bars
from bench import (
    LIMIT, PATIENCE_SECONDS, Contender, Daemon, compare, compare_launches, describe, line, manifest, percentile,
    prewarm_request, run_rounds,
)

# Each with an argument that makes it do its smallest job, and the bar.
PROGRAMS = [
    (["git", "--version"], 1.0),
    (["bash", "-c", ":"], 1.0),
    (["true"], 1.0),
    (["sqlite3", "-version"], 1.0),
    (["ffmpeg", "-version"], 0.07),
    (["inkscape", "--version"], 0.2),
]


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
    """That of the paused instances, which the daemon hands out as it is: a caller with another is launched cold."""
    return {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the C programs")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)
    caller, probe = str(programs / "caller"), str(programs / "probe")
    own = environment()
    os.environ.clear()
    os.environ.update(own)

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
            linked = Contender(
                name, lambda n: [caller, *kind, str(n), str(daemon.socket), json.dumps(prewarm_request(app)),
                                 "--", str(link), *words[1:]],
                per_round, {"GREENROOM_SOCKET": str(daemon.socket)})
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
                kind = daemon.ask({
                    "method": "io.greenroom.Control.Explain",
                    "parameters": {"app": f"bench.{name.split()[0]}"}})[0]["lastLaunch"]
                if kind["kind"] != "prewarmed":
                    sys.exit(f"bench: {name} was launched cold: {kind}")
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
        compare_launches(f"{name}: call to end", linked, direct, at_most=at_most)
        if name in floors:
            compare("  the least client, server and paused process", floors[name][1], direct)
    bars.report()


if __name__ == "__main__":
    main()
