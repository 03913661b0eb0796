#!/usr/bin/env python3
"""Desktop programs from the request to their first window, on an X server of their own, with and without a window manager
(openbox), and on a Wayland compositor of their own (sway without an output device): executed directly, launched from before
main with the libraries open that an earlier launch has opened, and launched with the window held (Depth=window).

The ways take turns. The time is from the request to the moment at which another client has heard that the window is
mapped; on X, also to the last change of the screen before it stays the same for a while. One line per program has the medians,
and one line per bar says whether it is met. A program is skipped, with the reason, where it is missing. The programs run
as nobody if this runs as root, whose programs are not held. Programs without a bus name use the same message bus as others.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Support/Python"))
import shutil  # noqa: E402

from greenroomd import Daemon  # noqa: E402
from screens import Compositor, ManagedXServer, XServer  # noqa: E402
from trial import Ground, await_held  # noqa: E402

PROGRAMS = {"x11": ["galculator", "kcalc", "gpicview", "mousepad", "featherpad", "xcalc", "gnome-calculator"],
            "wayland": ["galculator", "kcalc", "mousepad", "gnome-calculator"]}
FORWARDING = {"mousepad", "featherpad"}  # a second process gives its file to the first
ANIMATED = {"gnome-calculator"}  # fades in
MAP_MS, MAP_RATIO, QUIET_MS, FORWARDER_RATIO, AIRING_MS = 5, 0.05, 40, 0.35, 1
QUIET_SECONDS = 0.4  # less than a cursor takes to blink
IDLE_SECONDS = 5
AIRING_SECONDS = 90  # a held program is aired each minute, give or take some seconds
missed = 0


def bar(name, is_met, text):
    global missed
    missed += not is_met
    print(f"  {'met' if is_met else 'MISSED':<7} {name}: {text}", flush=True)


class Bench:
    def __init__(self, product, kind, rounds, releases):
        self.ground = Ground(kind)
        self.screen = self.ground.screen
        self.rounds, self.releases = rounds, releases
        # What is not held has a bus and a home of its own: it must not find the name of a held program, nor write
        # settings that this has read, as Mousepad does when it ends.
        other = self.ground.start_bus(self.ground.closing, "other-bus")
        self.other_variables = {**self.ground.variables, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={other}",
                                "HOME": self.ground.add_home("other-home")}
        self.daemon = Daemon(product=product, environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        self.ground.closing.callback(self.daemon.stop)
        self.daemon.start()

    def instances(self, app):
        return self.daemon.call("Status", {"app": app})["instances"]

    def await_paused(self, app, depth):
        if depth == "window":
            return await_held(self.daemon, app)
        return self.daemon.await_fact(f"{app} is paused at {depth}", lambda: [
            one for one in self.instances(app) if one["state"] == "prewarmed" and one.get("depth") == depth])[0]

    def quiet(self, began):
        """Seconds from `began` to the last change of the screen; nil on Wayland, where a picture takes too long."""
        if not isinstance(self.screen, XServer):
            return None
        last, changed = self.screen.picture(), time.perf_counter()
        while time.perf_counter() - changed < QUIET_SECONDS:
            picture = self.screen.picture()
            if picture != last:
                last, changed = picture, time.perf_counter()
        return changed - began

    def end(self, app):
        for one in self.instances(app):
            if one["state"] not in ("prewarmed", "prewarming", "not_running"):
                self.daemon.call("Terminate", {"instance": one["instance"]})
        self.ground.await_empty()

    def launch(self, app):
        """Seconds to the window, and to the last change of the screen."""
        with self.daemon.connect() as connection:
            began = time.perf_counter()
            launched = connection.call("Launch", {"app": app})
            self.screen.line()
            took = time.perf_counter() - began
            quiet = self.quiet(began)
        if launched["kind"] != "prewarmed":
            raise SystemExit(f"{app} was launched {launched['kind']}: {launched.get('coldReason')}")
        return took, quiet

    def direct(self, words, variables):
        began = time.perf_counter()
        with self.ground.started(words, variables):
            return time.perf_counter() - began

    def prepare(self, name, path):
        """Installs the program twice, and lets it learn its libraries."""
        app = f"org.example.{name}"
        held = self.ground.manifest([path], "Depth=window")
        libraries = self.ground.manifest([path], "Depth=libraries", self.other_variables)
        self.daemon.install(f"{app}-libraries", libraries)
        self.daemon.install(f"{app}-window", held)
        self.daemon.call("Reload")
        self.await_paused(f"{app}-libraries", "main")
        self.launch(f"{app}-libraries")
        self.end(f"{app}-libraries")
        return app

    def measure(self, name, path):
        app = self.prepare(name, path)
        times = {way: [] for way in ("direct", "libraries", "window")}
        quiets = []
        for number in range(self.rounds + 1):
            took = {"direct": self.direct([path], self.other_variables)}
            for depth in ("libraries", "window"):
                self.await_paused(f"{app}-{depth}", depth)
                took[depth], quiet = self.launch(f"{app}-{depth}")
                self.end(f"{app}-{depth}")
            if number > 0:  # the first round warms the page cache
                quiets.append(quiet)
                for way, value in took.items():
                    times[way].append(value * 1000)
        medians = {way: statistics.median(values) for way, values in times.items()}
        ratio = medians["window"] / medians["direct"]
        quiet = statistics.median(quiets) * 1000 if quiets[0] is not None else None
        print(f"{name:<34} {medians['direct']:8.1f} {medians['libraries']:10.1f} {medians['window']:8.2f}"
              f" {max(times['window']):8.2f} {ratio:7.3f} {'-' if quiet is None else format(quiet, '.0f'):>6}", flush=True)
        bar("to the window", medians["window"] <= MAP_MS and ratio <= MAP_RATIO,
            f"{medians['window']:.2f} ms (at most {MAP_MS}), {ratio:.3f} of direct (at most {MAP_RATIO})")
        if quiet is None:
            print("  -       to the last drawing: not measured on Wayland, where a picture takes longer than the bar")
        elif name in ANIMATED:
            print(f"  -       to the last drawing: {quiet:.0f} ms; the window fades in")
        else:
            bar("to the last drawing", quiet <= QUIET_MS, f"{quiet:.0f} ms (at most {QUIET_MS})")
        if name in FORWARDING:
            self.measure_forwarder(f"{app}-window", path)
        self.count_windows(f"{app}-window")
        return f"{app}-window"

    def measure_forwarder(self, app, path):
        """A second process is given a file, and gives it to the held one."""
        letter = self.ground.home / "letter.txt"
        letter.write_text("Dear Sir\n")
        letter.chmod(0o666)
        words, cold, forwarded = [path, str(letter)], [], []
        for number in range(self.rounds + 1):
            self.await_paused(app, "window")
            took = self.direct(words, self.other_variables), self.forward(app, words)
            if number > 0:
                cold.append(took[0])
                forwarded.append(took[1])
        ratio = statistics.median(forwarded) / statistics.median(cold)
        bar("a file, by a second process", ratio <= FORWARDER_RATIO,
            f"{statistics.median(forwarded) * 1000:.0f} ms, {ratio:.2f} of direct (at most {FORWARDER_RATIO})")

    def forward(self, app, words):
        began = time.perf_counter()
        process = self.ground.begin(words)
        self.screen.line()
        took = time.perf_counter() - began
        process.wait()
        self.end(app)
        return took

    def count_windows(self, app):
        """Releases the window again and again: there is one, and none before."""
        wrong = []
        for _ in range(self.releases):
            self.await_paused(app, "window")
            before = self.screen.windows()
            self.launch(app)
            after = self.screen.windows()
            if before or len(after) != 1:
                wrong.append((before, after))
            self.end(app)
        bar("one window, none before", not wrong, f"{self.releases - len(wrong)} of {self.releases} launches" +
            (f"; first {wrong[0]}" if wrong else ""))

    def used(self, pid):
        """Milliseconds of processor time of all threads."""
        return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6

    def measure_rest(self, apps):
        """What held programs use: frozen, and when they are aired."""
        pids = {app: self.await_paused(app, "window")["processId"] for app in apps}
        before = {app: self.used(pid) for app, pid in pids.items()}
        time.sleep(IDLE_SECONDS)
        for app, pid in pids.items():
            used = self.used(pid) - before[app]
            bar(f"{app}, held and frozen", used == 0, f"{used:.3f} ms in {IDLE_SECONDS} s")
        time.sleep(AIRING_SECONDS)
        for app, pid in pids.items():
            used = self.used(pid) - before[app]
            bar(f"{app}, aired", 0 < used <= AIRING_MS * 2,
                f"{used:.2f} ms in {IDLE_SECONDS + AIRING_SECONDS} s (one or two airings, at most {AIRING_MS} ms each)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--product", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--releases", type=int, default=100, help="of each program, to count its windows")
    parser.add_argument("--only", nargs="*", help="names of programs")
    arguments = parser.parse_args()
    for kind in (XServer, ManagedXServer, Compositor):
        if not shutil.which(kind.program):
            print(f"{kind.kind}: skipped: there is no {kind.program}")
            continue
        bench = Bench(os.path.abspath(arguments.product), kind, arguments.rounds, arguments.releases)
        with bench.ground:
            print(f"{kind.kind + ', ms to the window':<34} {'direct':>8} {'libraries':>10} {'window':>8} {'max':>8} "
                  f"{'ratio':>7} {'quiet':>6}")
            apps = []
            for name in arguments.only or PROGRAMS[kind.kind.split()[0]]:
                if path := shutil.which(name, path="/usr/bin:/bin"):
                    apps.append(bench.measure(name, path))
                else:
                    print(f"{name:<34} skipped: there is no {name}")
            bench.measure_rest(apps)
    print(f"{missed} bars missed")


if __name__ == "__main__":
    main()
