#!/usr/bin/env python3
"""Greenroom's figures beside their C references, measured together.

Every contender gets a few samples per round, in an order that turns from round to round, so that
whatever else the machine does falls on all alike. Ratios are what counts; times are this machine's.
A line per figure: name, value, unit | reference, value | ratio; at last a table of the bars (bars.py).
Nothing here fails on a slow machine: `make bench` reports, tests judge.
"""

import argparse
import contextlib
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Support/Python"))
import bars  # noqa: E402
import greenroomd  # noqa: E402
from control import Refused, request  # noqa: E402

# Longer than any cold start here.
PATIENCE_SECONDS = 30
# Other work of the machine must not prevent what is measured.
CONFIGURATION = "[Greenroom]\nPressureWarningStallSec=1s\nPressureCriticalStallSec=1s\nPrewarmMaxLoad=0\n"
# The programs of the demo, each with an argument that makes it do its smallest job.
REAL_PROGRAMS = {
    "ffmpeg -version": ["ffmpeg", "-version"],
    "inkscape --version": ["inkscape", "--version"],
    "git --version": ["git", "--version"],
}


# --- Requests to greenroomd: only these functions know the interface.


def launch_request(app, arguments=()):
    """A call that launches with the descriptors of `launch start`: input, output, error, directory."""
    parameters = {
        "app": app,
        "background": True,
        "standardInputDescriptor": 0,
        "standardOutputDescriptor": 1,
        "standardErrorDescriptor": 2,
        "workingDirectoryDescriptor": 3,
    }
    if arguments:
        parameters["arguments"] = list(arguments)
    return request("Launch", parameters)


def prewarm_request(app):
    """A call that is answered when an instance is paused."""
    return request("Prewarm", {"app": app})


def status_request(app):
    """A call for the status of one app, because the answer must not grow with every launch."""
    return request("Status", {"app": app})


def suspend_request(app):
    """A call that is answered when the app is frozen."""
    return request("Suspend", {"app": app})


SERVERS = ("bench.server0", "bench.server1")
PREWARMED, COLD = '"prewarmed"', '"cold"'


def manifest(executable, environment=None, prewarm="demand", arguments=()):
    lines = ["[App]", "Exec=" + " ".join([str(executable), *arguments])]
    if environment:
        lines.append(f"Environment={environment}")
    lines += ["[Prewarm]", f"When={prewarm}"]
    return "\n".join(lines) + "\n"


def echo_manifest(product, address):
    """The manifest of the sample that answers at a socket. The sample runs until it is told to end."""
    return (f"[App]\nType=application-kit\nExec={product}/samples/greenroom-echo\nBackgroundGraceSec=1h\n"
            f"[Socket]\nListenStream={address}\n[Prewarm]\nWhen=never\n")


# --- A private greenroomd.


class Daemon(greenroomd.Daemon):
    """A private supervisor and spawner, in a folder that is removed afterwards."""

    def __init__(self, product, folder, directories=("state",)):
        super().__init__(
            folder, product, CONFIGURATION, directories=directories, sees_machine=True)

    def ask(self, message):
        """Returns the reply's parameters, and how many bytes the reply has."""
        with self.connect(PATIENCE_SECONDS) as connection:
            connection.send(message)
            answer = connection.receive()
        reply = json.loads(answer)
        if "error" in reply:
            raise Refused(reply)
        return reply.get("parameters", {}), len(answer) + 1

    def spawner(self):
        return next(iter(self.spawners()), None)

    def launch(self, app, read):
        """Launches the app, and has `read` take its output from a pipe. Returns the time of the request
        (CLOCK_MONOTONIC, in nanoseconds), what `read` returned, and how the launch was served."""
        output, its_output = os.pipe()
        null, here = os.open("/dev/null", os.O_RDWR), os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        with self.connect(PATIENCE_SECONDS) as connection:
            began = time.monotonic_ns()
            connection.send(launch_request(app), [null, its_output, null, here])
            for descriptor in (its_output, null, here):
                os.close(descriptor)
            value = read(output)
            kind = connection.reply()["kind"]
        os.close(output)
        return began, value, kind


# --- Samples.


@dataclass
class Contender:
    """Something that is measured: a command that prints a line of nanoseconds per sample."""

    name: str
    command: object  # (count) -> argv
    per_round: int
    environment: dict = field(default_factory=dict)
    columns: list = field(default_factory=list)

    def measure(self, count, keep=True):
        result = subprocess.run(
            self.command(count), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={**os.environ, **self.environment}, timeout=count * PATIENCE_SECONDS,
        )
        if result.returncode != 0:
            sys.exit(f"bench: {self.name}: {result.stderr.strip()}")
        if keep:
            for line in result.stdout.splitlines():
                values = [int(word) for word in line.split()]
                self.columns = self.columns or [[] for _ in values]
                for column, value in zip(self.columns, values):
                    column.append(value)


def launches(name, daemon, programs, app, per_round, words=(), expected=PREWARMED, environment=None):
    """Launches by the caller in C, which waits for the program's stamp; unless they are cold, each of them after
    a prewarm."""
    before = json.dumps(prewarm_request(app)) if expected == PREWARMED else ""
    launch = json.dumps(launch_request(app, words))
    return Contender(name, lambda count: [
        str(programs / "launch"), "start", str(daemon.socket), str(count), before, launch, expected,
    ], per_round, environment or {})


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def median(values):
    return percentile(values, 50)


def noise(values, others):
    """A difference of two medians that means nothing, as a part of the second: the sum of their notches, each
    1.57 times the interquartile range by the square root of the number of samples (McGill, Tukey and Larsen 1978)."""
    notches = (1.57 * (percentile(each, 75) - percentile(each, 25)) / math.sqrt(len(each)) for each in (values, others))
    return sum(notches) / median(others)


def run_rounds(contenders, rounds):
    for contender in contenders:
        contender.measure(2, keep=False)  # page cache, pools
    for number in range(rounds):
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            contender.measure(contender.per_round)
        print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)


@contextlib.contextmanager
def processors_awake():
    """No processor sleeps in this context: each runs a process that gives way to all others."""
    processes = []
    try:
        for cpu in os.sched_getaffinity(0):
            processes.append(subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)]))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True: pass
"""


# --- Report.


LIMIT = "limit"  # the name of a reference that is the bar itself


def line(name, value, unit, reference="", reference_value=None, at_most=None, after=""):
    text = f"{name:<52} {value:>10.2f} {unit:<5}"
    if reference_value is None:
        print(text + " |")
        return
    ratio = value / reference_value if reference_value else float("inf") if value else 0.0
    text += f" | {reference:<24} {reference_value:>10.2f} | {ratio:6.2f}"
    if at_most is not None:
        text += (bars.at_most(name, value, reference_value * at_most, unit) if reference == LIMIT
                 else bars.at_most(f"{name}, to {reference}", ratio, at_most, "×"))
    print(text + after)


# The 99th percentile of launches divided by their median, to the same ratio of the reference in the same run.
SPREAD_AT_MOST, SPREAD_SAMPLES = 1.3, 101


def spread(name, values, reference, references):
    """What to print beside the 99th percentile of launches. With fewer samples, that is the largest of them."""
    ours, theirs = (percentile(each, 99) / percentile(each, 50) for each in (values, references))
    text = f" | p99/p50 {ours:6.2f} | {theirs:6.2f} | {ours / theirs:6.2f}"
    name, count = f"{name}, p99/p50, to {reference}", min(len(values), len(references))
    if count < SPREAD_SAMPLES:
        bars.skip(name, f"{count} samples are too few")
        return text
    return text + bars.at_most(name, ours / theirs, SPREAD_AT_MOST, "×")


def compare(name, ours, reference, column=0, reference_column=None, at_most=None, is_launch=False):
    """Prints p50 and p99 of a column of `ours` beside those of `reference`, in microseconds."""
    theirs = column if reference_column is None else reference_column
    values, references = ours.columns[column], reference.columns[theirs]
    for percent, bound in ((50, at_most), (99, None)):
        line(
            f"{name}, p{percent}", percentile(values, percent) / 1000, "us",
            reference.name, percentile(references, percent) / 1000, bound,
            spread(name, values, reference.name, references) if is_launch and percent == 99 else "",
        )


def compare_launches(*arguments, **options):
    compare(*arguments, **options, is_launch=True)


def take_priority():
    """With BENCH_PRIORITY=N everything runs with that real-time priority (root; sched(7)): figures of a
    machine on which others work. Whatever is started takes it over, ours and theirs alike."""
    priority = int(os.environ.get("BENCH_PRIORITY", "0"))
    if priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def raise_priority():
    """Lets this process run before what it measures, if that has a real-time priority. Otherwise it could share a processor with
    a program of the same priority, and read the program's first byte only when the program ends. Returns the priority of the
    others; 0 if they have none."""
    priority = int(os.environ.get("BENCH_PRIORITY", "0"))
    if priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority + 1))
    return priority


def drop_priority():
    """Gives processes that are started from now on the ordinary priority."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        print("# at ordinary priority:")
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def commit_of(folder):
    return subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False).stdout.strip() or "no git"


def describe(product, arguments):
    """Prints how the figures are made, for the table of the bars too."""
    take_priority()
    now = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    program = (product / "greenroomd").stat()
    built = time.strftime("%Y-%m-%d %H:%M", time.localtime(program.st_mtime))
    machine = f"{platform.release()} {platform.machine()}, {os.cpu_count()} CPUs"
    print(f"# made: {now}, build {product} of {built} ({commit_of(product)}, greenroomd {program.st_size / 1e6:.1f} MB)")
    print(f"# on:   {machine}, load {' '.join(f'{x:.2f}' for x in os.getloadavg())}, uid {os.getuid()}")
    print(f"# how:  {arguments.rounds} rounds, contenders take turns; references are C, built with "
          f"clang -O2;\n#       prewarming minds neither the machine's load nor short stalls")
    bars.begin(f"{now}, {arguments.rounds} rounds, {machine}, build of {built}, sources {commit_of(product)}")


# --- The figures.


def kernel_numbers(pid):
    """Returns resident bytes, threads, and the context switches of all threads so far."""
    status = dict(
        text.split(":\t", 1)
        for text in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in text
    )
    switches = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for text in (task / "status").read_text().splitlines():
            if "ctxt_switches" in text:
                switches += int(text.split()[-1])
    return int(status["VmRSS"].split()[0]) * 1024, int(status["Threads"]), switches


def sizes(daemon, identifiers):
    for identifier in identifiers:
        daemon.ask(prewarm_request(identifier))
    pids = {"supervisor": daemon.process.pid, "spawner": daemon.spawner()}
    limits = {"supervisor": 8, "spawner": 3}
    # Work that was set in motion (refills, the spawner giving back memory) ends first. Then come ten seconds in which
    # nobody asks for anything, which are measured.
    time.sleep(3)
    before = {name: kernel_numbers(pid) for name, pid in pids.items() if pid}
    time.sleep(10)
    for name, (resident, threads, switches) in before.items():
        line(f"{name}: resident with {len(identifiers)} apps, quiet", resident / 1e6, "MB",
             LIMIT, limits[name], 1)
        line(f"{name}: threads", threads, "", LIMIT, 1, 1)
        line(f"{name}: context switches in 10 s idle",
             kernel_numbers(pids[name])[2] - switches, "", LIMIT, 0, 0)
    for name in pids.keys() - before.keys():
        print(f"# {name}: its process was not found")


def cgroup_for_reference(daemon):
    """Makes a cgroup beside the daemon's if apps get their own cgroups here; else returns None."""
    pid = daemon.spawner()
    mount = next(
        (text.split()[1] for text in Path("/proc/mounts").read_text().splitlines()
         if text.split()[2] == "cgroup2"), None,
    )
    if not pid or not mount:
        return None
    apps = [
        entry for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and parent_of(entry) == pid
    ]
    own = Path(f"/proc/{pid}/cgroup").read_text()
    if not any((app / "cgroup").read_text() != own for app in apps):
        return None
    here = next(text for text in own.splitlines() if text.startswith("0::"))[3:]
    folder = Path(mount + here) / f"bench-{os.getpid()}"
    with contextlib.suppress(OSError):
        folder.mkdir()
        return folder
    return None


def parent_of(entry):
    with contextlib.suppress(OSError):
        return int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the C references")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    product, programs = arguments.product.resolve(), arguments.programs.resolve()
    describe(product, arguments)

    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        probe = programs / "probe"
        identifiers = [f"bench.idle{number}" for number in range(10)]
        for identifier in identifiers:
            daemon.install(identifier, manifest(probe, prewarm="demand"))
        daemon.install("bench.probe", manifest(probe))
        daemon.install("bench.cold", manifest(probe, prewarm="never"))
        # Both servers are launched before anything is measured, and the one that is measured running stays running.
        for identifier in SERVERS:
            daemon.install(identifier, echo_manifest(product, f"{folder}/{identifier}"))
        stamp = programs / "stamp.so"
        real = {}
        for name, words in REAL_PROGRAMS.items():
            path = shutil.which(words[0])
            if not path or not stamp.exists():
                reason = "no stamp on this machine" if path else "not installed"
                print(f"# {name}: skipped, {reason}")
                bars.skip(f"{name}: request to main, p50", reason)
                continue
            real[name] = [str(Path(path).resolve()), *words[1:]]
            daemon.install(f"bench.{words[0]}", manifest(real[name][0], f"LD_PRELOAD={stamp}"))
        cgroup = None
        try:
            daemon.start()
            daemon.ask(prewarm_request("bench.idle0"))
            cgroup = cgroup_for_reference(daemon)
            for identifier in SERVERS:
                daemon.ask(request("Launch", {"app": identifier, "background": True}))
            measure(daemon, programs, real, cgroup, identifiers, arguments.rounds)
        finally:
            daemon.stop()
            if cgroup:
                cgroup.rmdir()
    bars.report()


def measure(daemon, programs, real, cgroup, identifiers, rounds):
    launcher, probe, control = str(programs / "launch"), str(programs / "probe"), str(daemon.socket)
    client = str(daemon.product / "greenroomctl")

    def reference(name, per_round, kind, *words, **environment):
        return Contender(
            name, lambda n: [str(programs / kind), words[0], str(n), *words[1:]] if words
            else [str(programs / kind), str(n)], per_round, environment,
        )

    status = json.dumps(status_request(identifiers[0]))
    _, answer_bytes = daemon.ask(status_request(identifiers[0]))
    prewarmed = launches("prewarmed", daemon, programs, "bench.probe", 30)
    cold = launches("cold", daemon, programs, "bench.cold", 15, expected=COLD)
    relay = reference("C relay", 30, "relay")
    exec_only = reference("C vfork+exec", 15, "cold", "plain", "--", probe)
    exec_as_app = reference("C clone3 as app", 15, "cold", "app", str(cgroup or "-"), "--", probe)
    exec_relayed = reference(
        "C client, server, spawner", 15, "cold", "relayed", str(cgroup or "-"), "--", probe)
    attached = reference(
        "run", 15, "cold", "plain", "--", client, "run", "--socket", control, "bench.probe"
    )
    def calls():
        return (Contender("status", lambda n: [launcher, "call", control, str(n), status], 500),
                Contender("C echo", lambda n: [
                    str(programs / "echo"), str(n), str(len(status) + 1), str(answer_bytes)], 500))

    call, echo = calls()
    awake_call, awake_echo = calls()
    contenders = [prewarmed, relay, exec_only, cold, exec_as_app, exec_relayed, attached, call, echo]
    server_running, server_woken = (
        Contender(
            name, lambda n, app=app, before=before: [
                launcher, "talk", control, str(n), before, f"{daemon.folder}/{app}"], 10)
        for name, app, before in (
            ("the same app running", SERVERS[0], ""),
            ("woken", SERVERS[1], json.dumps(suspend_request(SERVERS[1])))))
    contenders += [server_running, server_woken]
    pairs = {}
    for name, command in real.items():
        ours = launches(
            f"prewarmed {name}", daemon, programs, f"bench.{name.split()[0]}", 6, command[1:])
        theirs = reference(
            "C vfork+exec", 6, "cold", "plain", "--", *command,
            BENCH_PRELOAD=str(programs / "stamp.so"),
        )
        pairs[name] = (ours, theirs)
        contenders += [ours, theirs]
    run_rounds(contenders, rounds)
    with processors_awake():
        run_rounds([awake_call, awake_echo], rounds)

    print(f"# n = {len(prewarmed.columns[0])} launches, {len(call.columns[0])} calls; apps "
          f"{'in cgroups' if cgroup else 'without cgroups'}; "
          f"load afterwards {os.getloadavg()[0]:.2f}")
    compare_launches("launch prewarmed: request to main", prewarmed, relay, at_most=1.3)
    compare_launches("launch prewarmed: request to main", prewarmed, exec_only, at_most=0.3)
    compare_launches("launch prewarmed: request to answer", prewarmed, relay, 2, 1, at_most=1.3)
    for name, (ours, theirs) in pairs.items():
        compare_launches(f"{name}: request to main", ours, theirs, at_most=0.3)
        compare_launches(f"{name}: request to end", ours, theirs, 1)
    compare_launches("greenroomctl run: exec of the client to main", attached, exec_only)
    compare_launches("launch cold: request to main", cold, exec_as_app, at_most=1.1)
    # The cost of the two sockets between client and spawner alone, and the rest of Greenroom's cost.
    compare("C alone, through server and spawner", exec_relayed, exec_as_app)
    compare_launches("launch cold: request to main", cold, exec_relayed, at_most=1.1)
    compare(f"status call, answer of {answer_bytes} bytes", call, echo, at_most=2)
    compare("status call, processors awake", awake_call, awake_echo, at_most=2)

    compare("suspended socket app: byte in to byte out", server_woken, server_running, at_most=5)

    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        fresh = Daemon(daemon.product, folder, directories=())
        command = fresh.command()
        ready = Contender("ready", lambda n: [str(programs / "ready"), str(n), "--", *command], 20)
        ready.measure(2, keep=False)
        ready.measure(20)
        fresh.stop()
    for percent, bound in ((50, 1), (99, None)):
        line(f"greenroomd: exec to READY=1, p{percent}", percentile(ready.columns[0], percent) / 1e6,
             "ms", LIMIT, 15, bound)
    sizes(daemon, identifiers)


if __name__ == "__main__":
    main()
