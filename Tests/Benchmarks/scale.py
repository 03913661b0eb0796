#!/usr/bin/env python3
"""How Greenroom scales: with the apps that it knows, keeps prewarmed, runs, and is asked for at once.
Part of `make bench`. `scale.py --only known` runs one section.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import bars
from bench import (COLD, LIMIT, Daemon, cgroup_for_reference, describe, drop_priority, launch_request, launches,
                   line, manifest, percentile, prewarm_request, run_rounds,
                   status_request)
from control import request

KNOWN = (10, 100, 1000, 5000)
RUNNING, PAUSED, BURST = 1000, 200, 1000
# The instances that a supervisor takes over from the former one: running and paused, with the bar in milliseconds.
ADOPTED = ((500, 0, 25), (300, 200, 40))
RELOADS = 5
# Fewer than one user may have. The other calls wait behind the first call of each connection.
BURST_CONNECTIONS = 100


@contextlib.contextmanager
def daemon_with(product, programs, count, arguments=()):
    """A daemon that knows `count` apps beside the one that is launched, which never changes."""
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        daemon.install("bench.probe", manifest(programs / "probe"))
        daemon.install("bench.cold", manifest(programs / "probe", prewarm="never", arguments=arguments))
        for number in range(count):
            daemon.install(name(number), manifest(programs / "probe", arguments=arguments))
        try:
            daemon.start()
            yield daemon
        finally:
            daemon.stop()


def name(number):
    return f"org.example.bench{number:05}"


def own_bytes(daemon):
    """The supervisor's own memory: its heap, and the touched part of the state's mapping."""
    # The daemon listens before it has read its manifests, and answers afterwards.
    daemon.ask(request("org.varlink.service.GetInfo"))
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return sum(int(text.split()[1]) * 1024 for text in status.splitlines()
               if text.startswith(("RssAnon:", "RssShmem:")))


def both(daemon, programs, label, per_round=15):
    """Measures prewarmed and cold launches of the app."""
    return [
        launches(f"prewarmed, {label}", daemon, programs, "bench.probe", per_round),
        launches(f"cold, {label}", daemon, programs, "bench.cold", per_round, expected=COLD),
    ]


def hold_against_first(groups, rounds):
    """Compares the other groups with the first one."""
    run_rounds([contender for group in groups for contender in group], rounds)
    for group in groups[1:]:
        for ours, few in zip(group, groups[0]):
            line(f"launch {ours.name}: request to main, p50", percentile(ours.columns[0], 50) / 1000,
                 "us", few.name, percentile(few.columns[0], 50) / 1000, 1.3)


def reload_beside_calls(daemon):
    """Returns the milliseconds of a reload, and of the longest call of another client meanwhile."""
    call = status_request("bench.probe")
    with daemon.connect() as patient, daemon.connect() as hasty:
        began, longest, answer = time.monotonic(), 0, b""
        patient.send(request("Reload"))
        patient.socket.setblocking(False)
        while not answer.endswith(b"\0"):
            start = time.monotonic()
            hasty.send(call)
            hasty.receive()
            longest = max(longest, time.monotonic() - start)
            with contextlib.suppress(BlockingIOError):
                while part := patient.socket.recv(1 << 20):
                    answer += part
        return (time.monotonic() - began) * 1000, longest * 1000


def touch_manifests(daemon):
    for path in daemon.apps.iterdir():
        path.touch()


def reloads(daemon, what, change):
    """During a reload, no call may wait for longer than the bar."""
    times, waits = [], []
    for _ in range(RELOADS):
        change(daemon)
        took, longest = reload_beside_calls(daemon)
        times.append(took)
        waits.append(longest)
    line(f"reload of {KNOWN[-1]} manifests, {what}, p50", percentile(times, 50), "ms")
    line(f"another's longest call meanwhile, {what}", max(waits), "ms", LIMIT, 5, 1)


def known(product, programs, rounds):
    with contextlib.ExitStack() as stack:
        daemons = [(count, stack.enter_context(daemon_with(product, programs, count)))
                   for count in KNOWN]
        time.sleep(1)
        sizes = [own_bytes(daemon) for _, daemon in daemons]
        line(f"supervisor: memory per known app ({KNOWN[-1]} against {KNOWN[0]})",
             (sizes[-1] - sizes[0]) / (KNOWN[-1] - KNOWN[0]), "B", LIMIT, 2048, 1)
        for what, change in (("nothing changed", lambda daemon: None), ("all changed", touch_manifests)):
            reloads(daemons[-1][1], what, change)
        hold_against_first(
            [both(daemon, programs, f"{count} known") for count, daemon in daemons], rounds)


def prewarmed(product, programs, rounds):
    with daemon_with(product, programs, 10) as few, \
            daemon_with(product, programs, PAUSED) as many:
        before = own_bytes(many)
        for number in range(PAUSED):
            many.ask(prewarm_request(name(number)))
        line(f"supervisor: memory per prewarmed instance ({PAUSED})",
             (own_bytes(many) - before) / PAUSED, "B")
        hold_against_first([both(few, programs, "few prewarmed"),
                            both(many, programs, f"{PAUSED} prewarmed")], rounds)


def running(product, programs, rounds):
    with daemon_with(product, programs, 10, ["wait"]) as few, \
            daemon_with(product, programs, RUNNING, ["wait"]) as many:
        before = own_bytes(many)
        read, write = os.pipe()
        null, root = os.open("/dev/null", os.O_RDWR), os.open("/", os.O_PATH)
        with many.connect() as end:
            for number in range(RUNNING):
                end.send(launch_request(name(number)), [read, null, null, root])
                end.reply()
        time.sleep(1)
        line(f"supervisor: memory per running app ({RUNNING})", (own_bytes(many) - before) / RUNNING,
             "B", LIMIT, 4096, 1)
        hold_against_first([both(few, programs, "nothing running"),
                            both(many, programs, f"{RUNNING} running")], rounds)
        for descriptor in (read, write, null, root):
            os.close(descriptor)


def adopted(product, _, rounds):
    """Measures the time from a supervisor's start to its answer about an instance of the former one."""
    for count, paused, milliseconds in ADOPTED:
        with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
            daemon = Daemon(product, folder)
            daemon.install("bench.many", manifest("/usr/bin/sleep", arguments=["infinity"]).replace(
                "[Prewarm]", "Instances=multiple\nForegroundGroup=none\n[Prewarm]"))
            for number in range(paused):
                daemon.install(name(number), manifest("/usr/bin/sleep", arguments=["infinity"]))
            try:
                daemon.start()
                for _ in range(count):
                    daemon.ask(request("Launch", {"app": "bench.many", "background": True}))
                for number in range(paused):
                    daemon.ask(prewarm_request(name(number)))
                times = [take_over(daemon, count + paused) for _ in range(max(5, rounds))]
            finally:
                daemon.stop()
        what = f"{count} running" + (f", {paused} paused" if paused else "")
        line(f"start to answer, {what}, p50", percentile(times, 50), "ms", LIMIT, milliseconds, 1)
        line(f"start to answer, {what}, worst", max(times), "ms")


def take_over(daemon, count):
    """Kills the supervisor and starts another. Returns the milliseconds to the first answer."""
    def living():
        return sorted(i["instance"] for i in daemon.ask(request("Status"))[0]["instances"]
                      if "processId" in i)

    before = living()
    if len(before) != count:
        sys.exit(f"bench: {len(before)} instances instead of {count}")
    daemon.kill()
    one = {"instance": before[-1]} if before else None
    start = time.monotonic()
    daemon.execute()
    daemon.await_fact("an answer", lambda: daemon.answers("Status", one), 0.0002)
    elapsed = (time.monotonic() - start) * 1000
    if living() != before:
        sys.exit("bench: not every instance was adopted")
    return elapsed


def fill_pools(daemon):
    with daemon.connect() as end:
        for number in range(BURST):
            end.send(prewarm_request(name(number)))
            end.receive()


def at_once(product, programs, rounds):
    """Launches apps that stay in main, and programs that end at once and are cleaned up meanwhile."""
    # With a real-time priority, the process that closes what clients have sent would not run during a burst, and the
    # daemon ends the connections of a user who has too much that is not closed.
    drop_priority()
    for arguments, label in ((["wait"], "that stay"), ([], "that end at once")):
        burst_of(product, programs, rounds, arguments, label)


def burst_of(product, programs, rounds, arguments, label):
    def requests(app):
        return "\n".join(
            json.dumps(request("Launch", {
                "app": app(number), "background": True, "standardOutputDescriptor": 0,
                "standardInputDescriptor": 1}))
            for number in range(BURST)) + "\n"

    def sample(words, text=""):
        result = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"bench: {result.stderr.strip()}")
        return int(result.stdout.split()[0])

    program = ["--", str(programs / "probe"), *arguments]
    with daemon_with(product, programs, BURST, arguments) as daemon:
        burst = [str(programs / "launch"), "burst", str(daemon.socket), str(BURST_CONNECTIONS)]
        cold, paused, alone, relayed, resumed = [], [], [], [], []
        daemon.ask(prewarm_request(name(0)))
        cgroup = cgroup_for_reference(daemon)
        for number in range(max(1, rounds // 4)):
            # The pools come first, because the other samples must not run beside refills.
            fill_pools(daemon)
            alone.append(sample([str(programs / "cold"), "burst", str(BURST), *program]))
            relayed.append(sample([str(programs / "cold"), "burst-relayed", str(BURST),
                                   str(cgroup or "-"), *program]))
            resumed.append(sample([str(programs / "relay"), "burst", str(BURST), *arguments]))
            cold.append(sample(burst, requests(lambda number: "bench.cold")))
            paused.append(sample(burst, requests(name)))
        if cgroup:
            cgroup.rmdir()
        # The cost of the sockets between three processes, and of a session and a cgroup for each, without Greenroom.
        line(f"{BURST} {label}, by C, through server and spawner", percentile(relayed, 50) / 1e6, "ms",
             "C vfork+exec of them", percentile(alone, 50) / 1e6)
        line(f"{BURST} {label}, by C, prewarmed, through a server", percentile(resumed, 50) / 1e6, "ms",
             "C vfork+exec of them", percentile(alone, 50) / 1e6)
        for text, times, bound in (("cold", cold, 1.2), ("prewarmed", paused, 0.5)):
            line(f"{BURST} {label}, launched at once, {text}: all in main", percentile(times, 50) / 1e6, "ms",
                 "C vfork+exec of them", percentile(alone, 50) / 1e6, bound)


SECTIONS = {"known": known, "prewarmed": prewarmed, "running": running, "adopted": adopted,
            "at-once": at_once}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--product", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    arguments = parser.parse_args()
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)
    print("# memory: RssAnon and RssShmem of /proc/PID/status, the difference by the count; at once: "
          f"{BURST_CONNECTIONS} connections")
    for section in arguments.only or SECTIONS:
        SECTIONS[section](product, programs, arguments.rounds)
    bars.report()


if __name__ == "__main__":
    main()
