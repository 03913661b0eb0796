#!/usr/bin/env python3
"""The control socket: calls per second of one synchronous client beside a C echo, and what others
notice of hostile clients. Part of `make bench`.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import bars
from bench import Contender, Daemon, describe, line, manifest, percentile, status_request
from control import encode, request

APP = "bench.status"
# The attacks, each of which goes on until it is ended; see `attack`.
ATTACKS = {
    "connect": "connecting for ever",
    "crowd": "10,000 connections",
    "half": "half messages of 16 MiB",
    "deaf": "calls whose answers are not read",
    "flood": "calls without a pause",
}
STRANGER = 65534


# --- The attacker: a separate process, of another user where that is possible.


def attack(kind, path):
    # With real-time priorities, the attacker runs before all that is not measured, and after all that is measured.
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    else:
        os.nice(19)
    if os.getuid() == 0:
        os.setgid(STRANGER)
        os.setuid(STRANGER)
    call = encode(request("List"))

    def connect():
        end = socket.socket(socket.AF_UNIX)
        end.settimeout(10)
        end.connect(path)
        return end

    print("ready", flush=True)
    held = []
    while True:
        with contextlib.suppress(OSError):
            if kind == "connect":
                connect().close()
            elif kind == "crowd":
                # The limit is reached after about a thousand connections. All others are refused, again and again.
                held.append(connect())
                held = held[-10_000:]
            elif kind == "half":
                with connect() as end:
                    for _ in range(17):
                        end.sendall(b" " * (1 << 20))
            elif kind == "deaf":
                end = connect()
                held.append(end)
                end.setblocking(False)
                with contextlib.suppress(OSError):
                    while True:
                        end.sendall(call * 1000)
                held = held[-100:]
            elif kind == "flood":
                with connect() as end:
                    while True:
                        end.sendall(call * 200)
                        expected = 200
                        while expected > 0:
                            expected -= end.recv(1 << 16).count(b"\0")


@contextlib.contextmanager
def attacked(kind, path, cpu):
    process = subprocess.Popen(
        [sys.executable, __file__, "--attack", kind, path], stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(process.pid, cpu)
    try:
        process.stdout.readline()
        time.sleep(0.2)
        yield
    finally:
        process.kill()
        process.wait()


# --- The figures.


def per_second(contender):
    """The rate in the best tenth of short stretches, in which nothing else used the core."""
    samples, size = contender.columns[0], 50
    rates = sorted(1e9 * size / sum(samples[i:i + size])
                   for i in range(0, len(samples) - size + 1, size))
    return rates[-max(1, len(rates) // 10)]


def throughput(daemon, programs, cpus, rounds):
    status = json.dumps(status_request(APP))
    _, answer_bytes = daemon.ask(status_request(APP))
    words = ["taskset", "-c", str(min(cpus))]
    # The daemon has one core, as the child of `echo` has, because this compares work and not the way between cores.
    os.sched_setaffinity(daemon.process.pid, {min(cpus)})
    ours = Contender("status", lambda n: [
        *words, str(programs / "launch"), "call", str(daemon.socket), str(n), status], 5000)
    echo = Contender("C echo", lambda n: [
        *words, str(programs / "echo"), str(n), str(len(status) + 1), str(answer_bytes)], 5000)
    for number in range(rounds):
        for contender in (ours, echo) if number % 2 else (echo, ours):
            contender.measure(5000)
    os.sched_setaffinity(daemon.process.pid, cpus)
    value, reference = per_second(ours), per_second(echo)
    name = "status calls per second, one client"
    verdict = bars.at_least(f"{name}, to C echo", value / reference, 0.5, "×")
    print(f"{name:<52} {value:>10.0f} {'1/s':<5} | {'C echo':<24} {reference:>10.0f} | {value / reference:6.2f}{verdict}")


def hostility(daemon, programs, cpus, rounds):
    status = json.dumps(status_request(APP))
    victim = [str(programs / "launch"), "call", str(daemon.socket)]
    first, last = {min(cpus)}, {max(cpus)}
    os.sched_setaffinity(daemon.process.pid, first)

    def contender(name):
        return Contender(name, lambda n: [
            "taskset", "-c", str(max(cpus)), *victim, str(n), status], 2000)

    idle = contender("idle")
    for kind, text in ATTACKS.items():
        under = contender(kind)
        for _ in range(rounds):
            idle.measure(2000)
            with attacked(kind, str(daemon.socket), last):
                under.measure(2000)
        for percent, bound in ((50, None), (99, 2)):
            line(f"others' call, {text}, p{percent}",
                 percentile(under.columns[0], percent) / 1000, "us", "nobody else",
                 percentile(idle.columns[0], percent) / 1000, bound)
    os.sched_setaffinity(daemon.process.pid, cpus)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--product", type=Path)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--attack", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.attack:
        return attack(arguments.attack[0], arguments.attack[1])
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)
    cpus = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        os.chmod(folder, 0o755)
        daemon = Daemon(product, folder)
        daemon.runtime.chmod(0o755)
        daemon.install(APP, manifest(programs / "probe"))
        try:
            daemon.start()
            throughput(daemon, programs, cpus, arguments.rounds)
            hostility(daemon, programs, cpus, arguments.rounds)
        finally:
            daemon.stop()
    bars.report()


if __name__ == "__main__":
    main()
