#!/usr/bin/env python3
"""Desktop programs from the request to their first window, on an X server of their own, with and without a window manager
(openbox), and on a Wayland compositor of their own (sway without an output device): executed directly, launched from before
main with the libraries open that an earlier launch has opened, and launched with the window held (Depth=window).

The ways take turns. The time is from the request to the moment at which another client has heard that the window is
mapped; on X, also to the last change of the screen before it stays the same for a while. One line per program has the medians,
and one line per bar says whether it is met. A program is skipped, with the reason, where it is missing. The programs run
as nobody if this runs as root, whose programs are not held. Programs without a bus name use the same message bus as others.

First of all, a heavy program with its libraries open is launched by two daemons in turns: one refills pools a second after a
launch, the other does not. It is launched when all is quiet, and while the refill of another program is under way.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Support/Python"))
import shutil  # noqa: E402

import bars  # noqa: E402
from bench import describe, median, noise  # noqa: E402
from control import Refused  # noqa: E402
from greenroomd import Daemon  # noqa: E402
from screens import Compositor, ManagedXServer, XServer  # noqa: E402
from trial import LOOK_SECONDS, Ground, await_held, reasons  # noqa: E402

PROGRAMS = {"x11": ["galculator", "kcalc", "gpicview", "mousepad", "featherpad", "xcalc", "gnome-calculator"],
            "wayland": ["galculator", "kcalc", "mousepad", "gnome-calculator"]}
FORWARDING = {"mousepad", "featherpad"}  # a second process gives its file to the first
ANIMATED = {"gnome-calculator"}  # fades in
MAP_MS, MAP_RATIO, QUIET_MS, FORWARDER_RATIO, AIRING_MS = 5, 0.05, 40, 0.35, 1
QUIET_SECONDS = 0.4  # less than a cursor takes to blink
IDLE_SECONDS = 5
AIRING_SECONDS = 90  # a held program is aired each minute, give or take some seconds
HEAVY, OTHER = "kcalc", "galculator"
REFILL_SECONDS, REFILL_RATIO = 1, 1.02
LESSONS, LESSON_SECONDS = 5, 10


def bar(subject, name, is_met, text, bound):
    verdict = bars.MET if is_met else bars.MISSED
    bars.note(f"{subject}: {name}", text, bound, verdict)
    print(f"  {verdict:<7} {name}: {text} ({bound})", flush=True)


def identifier(name):
    return f"org.example.{name}"


class Launcher:
    """A daemon that launches programs on the screen."""

    def __init__(self, ground, product, configuration=""):
        self.ground, self.screen = ground, ground.screen
        self.daemon = Daemon(product=product, configuration=configuration,
                             environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        ground.closing.callback(self.daemon.stop)
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
                try:
                    self.daemon.call("Terminate", {"instance": one["instance"]})
                except Refused as refusal:  # it has ended meanwhile
                    if "NotRunning" not in str(refusal):
                        raise
        self.ground.await_empty()

    def launch(self, app, looks=True):
        """Seconds to the window, and to the last change of the screen if that is asked for."""
        with self.daemon.connect() as connection:
            began = time.perf_counter()
            launched = connection.call("Launch", {"app": app})
            self.screen.line()
            took = time.perf_counter() - began
            quiet = self.quiet(began) if looks else None
        if launched["kind"] != "prewarmed":
            raise SystemExit(f"{app} was launched {launched['kind']}: {launched.get('coldReason')}")
        return took, quiet


class Refilling(Launcher):
    """A daemon whose pools are full before each launch: by itself, or because it is asked to."""

    def ask(self, app):
        if not self.fills_itself:
            self.daemon.call("Prewarm", {"app": app})

    def fill(self):
        for app in self.apps:
            self.ask(app)
            self.await_paused(app, "libraries")

    def learn(self, app):
        """Launches the app until its libraries are known."""
        for _ in range(LESSONS):
            self.ask(app)
            self.await_paused(app, "main")
            self.launch(app, looks=False)
            end = time.monotonic() + LESSON_SECONDS
            while not (known := self.knows_libraries(app)) and time.monotonic() < end:
                time.sleep(LOOK_SECONDS)
            self.end(app)
            if known:
                return
        raise SystemExit(f"the libraries of {app} are not learned: the machine is too busy to observe a start")

    def knows_libraries(self, app):
        return any(reason["code"] == "libraries" for reason in reasons(self.daemon, app))

    def is_refilling(self, app):
        return any(one["state"] == "prewarming" for one in self.instances(app))

    def launch_beside(self, app, other):
        """Seconds from the request to the window. With another app, that one was launched a moment ago, and is
        being prepared again by the daemon that does so by itself."""
        self.fill()
        if other:
            self.launch(other, looks=False)
            self.end(other)
            if self.fills_itself:
                self.daemon.await_fact(f"{other} is prepared again", lambda: self.is_refilling(other))
            else:
                time.sleep(REFILL_SECONDS)
        took, _ = self.launch(app, looks=False)
        if not self.fills_itself and any(self.is_refilling(one) for one in self.apps):
            raise SystemExit("a pool was refilled that was not to be")
        self.end(app)
        # Whoever is next has the machine to itself.
        self.fill()
        return took


class Bench(Launcher):
    def __init__(self, product, kind, rounds, releases):
        super().__init__(Ground(kind), product)
        self.product, self.rounds, self.releases = product, rounds, releases
        # What is not held has a bus and a home of its own: it must not find the name of a held program, nor write
        # settings that this has read, as Mousepad does when it ends.
        other = self.ground.start_bus(self.ground.closing, "other-bus")
        self.other_variables = {**self.ground.variables, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={other}",
                                "HOME": self.ground.add_home("other-home")}

    def direct(self, words, variables):
        began = time.perf_counter()
        with self.ground.started(words, variables):
            return time.perf_counter() - began

    def prepare(self, name, path):
        """Installs the program twice, and lets it learn its libraries."""
        app = identifier(name)
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
        subject = f"{self.screen.kind}, {name}"
        bar(subject, "to the window", medians["window"] <= MAP_MS and ratio <= MAP_RATIO,
            f"{medians['window']:.2f} ms, {ratio:.3f} ×", f"at most {MAP_MS} ms and {MAP_RATIO} × of direct")
        if quiet is None:
            print("  -       to the last drawing: not measured on Wayland, where a picture takes longer than the bar")
        elif name in ANIMATED:
            print(f"  -       to the last drawing: {quiet:.0f} ms; the window fades in")
        else:
            bar(subject, "to the last drawing", quiet <= QUIET_MS, f"{quiet:.0f} ms", f"at most {QUIET_MS} ms")
        if name in FORWARDING:
            self.measure_forwarder(subject, f"{app}-window", path)
        self.count_windows(subject, f"{app}-window")
        return f"{app}-window"

    def measure_forwarder(self, subject, app, path):
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
        bar(subject, "a file, by a second process", ratio <= FORWARDER_RATIO,
            f"{statistics.median(forwarded) * 1000:.0f} ms, {ratio:.2f} ×", f"at most {FORWARDER_RATIO} × of direct")

    def forward(self, app, words):
        began = time.perf_counter()
        process = self.ground.begin(words)
        self.screen.line()
        took = time.perf_counter() - began
        process.wait()
        self.end(app)
        return took

    def count_windows(self, subject, app):
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
        bar(subject, "one window, none before", not wrong, f"{self.releases - len(wrong)} of {self.releases} launches",
            "all")
        if wrong:
            print(f"  the first that was wrong: {wrong[0]}")

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
            bar(f"{self.screen.kind}, {app}", "held and frozen", used == 0, f"{used:.3f} ms", f"0 ms in {IDLE_SECONDS} s")
        time.sleep(AIRING_SECONDS)
        for app, pid in pids.items():
            used = self.used(pid) - before[app]
            bar(f"{self.screen.kind}, {app}", "aired", 0 < used <= AIRING_MS * 2, f"{used:.2f} ms",
                f"one or two airings in {IDLE_SECONDS + AIRING_SECONDS} s, at most {AIRING_MS} ms each")

    # --- A heavy program beside refills.

    def measure_refills(self):
        """Both ways take turns, and whichever was first is second in the next round."""
        paths = {name: shutil.which(name, path="/usr/bin:/bin") for name in (HEAVY, OTHER)}
        missing = [name for name, path in paths.items() if not path]
        if missing:
            return bars.skip(f"{self.screen.kind}, {HEAVY}: to the window, refills on to off", f"there is no {missing[0]}")
        ways = {"on": self.refilling(paths, f"{REFILL_SECONDS}s", True), "off": self.refilling(paths, "1min", False)}
        for occasion, beside in (("when all is quiet", None), (f"beside the refill of {OTHER}", identifier(OTHER))):
            times = {way: [] for way in ways}
            for number in range(2 * self.rounds + 1):
                for way, launcher in reversed(ways.items()) if number % 2 else ways.items():
                    took = launcher.launch_beside(identifier(HEAVY), beside) * 1000
                    if number > 0:  # the first round warms the page cache
                        times[way].append(took)
            ratio = median(times["on"]) / median(times["off"])
            print(f"{HEAVY}, to the window, {occasion}: {median(times['on']):.1f} ms with refills, {median(times['off']):.1f} "
                  f"without, {len(times['on'])} each; noise {noise(times['on'], times['off']):.1%}")
            bar(f"{self.screen.kind}, {HEAVY}", f"to the window, {occasion}, refills on to off", ratio <= REFILL_RATIO,
                f"{ratio:.3f} ×", f"at most {REFILL_RATIO} ×")

    def refilling(self, paths, delay, fills_itself):
        apps = {identifier(name): path for name, path in paths.items()}
        launcher = Refilling(self.ground, self.product, f"[Greenroom]\nRefillDelaySec={delay}\n")
        launcher.apps, launcher.fills_itself = list(apps), fills_itself
        for app, path in apps.items():
            launcher.daemon.install(app, self.ground.manifest([path], "Depth=libraries", self.other_variables))
        launcher.daemon.call("Reload")
        for app in apps:
            launcher.learn(app)
        return launcher


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--product", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--releases", type=int, default=100, help="of each program, to count its windows")
    parser.add_argument("--only", nargs="*", help="names of programs")
    parser.add_argument("--refills", action="store_true", help="only the heavy program beside refills")
    arguments = parser.parse_args()
    describe(arguments.product.resolve(), arguments)
    for kind in (XServer, ManagedXServer, Compositor):
        if not shutil.which(kind.program):
            print(f"{kind.kind}: skipped: there is no {kind.program}")
            bars.skip(kind.kind, f"there is no {kind.program}")
            continue
        bench = Bench(arguments.product.resolve(), kind, arguments.rounds, arguments.releases)
        with bench.ground:
            if kind is XServer:
                bench.measure_refills()
            if arguments.refills:
                break
            print(f"{kind.kind + ', ms to the window':<34} {'direct':>8} {'libraries':>10} {'window':>8} {'max':>8} "
                  f"{'ratio':>7} {'quiet':>6}")
            apps = []
            for name in arguments.only or PROGRAMS[kind.kind.split()[0]]:
                if path := shutil.which(name, path="/usr/bin:/bin"):
                    apps.append(bench.measure(name, path))
                else:
                    print(f"{name:<34} skipped: there is no {name}")
            bench.measure_rest(apps)
    bars.report()


if __name__ == "__main__":
    main()
