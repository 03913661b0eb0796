#!/usr/bin/env python3
"""Desktop programs from the request to their first window, on an X server of their own, with and without a window manager
(openbox), and on a Wayland compositor of their own (sway without an output device): executed directly, launched from before
main with the libraries open that an earlier launch has opened (if there are any), and launched with the window held. The
programs are those with a profile that lets them be held, each where the profile says that it was tested, and some that have a
bar of their own for libraries.

The ways take turns. The time is from the request to the moment at which another client has heard that the window is
mapped; on X, also to the last change of the screen before it stays the same for a while. One line per program has the medians,
and one line per bar says whether it is met. A program is skipped, with the reason, where it is missing. The programs run
as nobody if this runs as root, whose programs are not held. Programs without a bus name use the same message bus as others.

First of all, unless programs are named, a heavy program with its libraries open is launched by two daemons in turns: one
refills pools a second after a launch, the other does not. It is launched when all is quiet, and while the refill of another
program is under way.
"""

import argparse
import contextlib
import statistics
import struct
import sys
import time
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Support/Python"))
import shutil  # noqa: E402

import bars  # noqa: E402
from bench import describe, median, noise  # noqa: E402
from control import Refused  # noqa: E402
from greenroomd import Daemon, Failed  # noqa: E402
from screens import Compositor, ManagedXServer, XServer  # noqa: E402
from trial import Ground, ProfiledDaemon, await_held, reasons, window_profiles  # noqa: E402

# Programs whose second process passes its file to the first one. The file's name tells what kind of file it is.
FORWARDING = {"org.xfce.mousepad": "letter.txt", "featherpad": "letter.txt", "org.gnome.gedit": "letter.txt",
              "org.gnome.eog": "picture.png", "thunar": "folder"}
# Programs that have a bar with their libraries open. A program without a profile is launched only in this way.
LIBRARIES = {"featherpad": "/usr/bin/featherpad", "org.kde.kcalc": "/usr/bin/kcalc", "qterminal": "/usr/bin/qterminal"}
MAP_MS, MAP_RATIO, QUIET_MS, LIBRARIES_RATIO, FORWARDER_RATIO, AIRING_MS = 5, 0.05, 40, 0.6, 0.35, 1
QUIET_SECONDS = 0.4  # less than a cursor takes to blink
LOOK_SECONDS = 0.5  # longer than an airing
LEARNING_SECONDS = 20  # the daemon looks for six seconds which libraries a program opens
# A program that draws for so long after its window is mapped, also when it is executed directly, shows an animation.
ANIMATION_MS = 200
AIRINGS_PER_HOUR, SECONDS_PER_AIRING = 60, 50  # a held program is aired each minute, give or take some seconds
# A program with many libraries, and one that opens none after main.
HEAVY, OTHER = "kcalc", "galculator"
DEPTHS = {HEAVY: "libraries", OTHER: "main"}
REFILL_SECONDS, REFILL_RATIO = 1, 1.02
LESSONS, LESSON_SECONDS = 5, 10  # a busy machine may spoil one lesson


def bar(subject, name, is_met, text, bound):
    verdict = bars.MET if is_met else bars.MISSED
    bars.note(f"{subject}: {name}", text, bound, verdict)
    print(f"  {verdict:<7} {name}: {text} ({bound})", flush=True)


def skip(subject, name, reason):
    bars.skip(f"{subject}: {name}", reason)
    print(f"  -       {name}: not measured, {reason}", flush=True)


def fail(subject, error):
    """Notes a missed bar for what cannot be measured. The other bars are measured all the same."""
    bar(subject, "measured to its end", False, "no", " ".join(str(error).split()))


def identifier(name):
    return f"org.example.{name}"


class Launcher:
    """A daemon that launches programs on the screen."""

    def __init__(self, ground, daemon, product, configuration=""):
        self.ground, self.screen = ground, ground.screen
        self.daemon = daemon(product=product, configuration=configuration,
                             environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        ground.closing.callback(self.daemon.stop)
        self.daemon.start()

    def instances(self, app):
        return self.daemon.call("Status", {"app": app})["instances"]

    def await_paused(self, app, depth):
        if depth == "window":
            return await_held(self.daemon, app)
        def paused():
            return [one for one in self.instances(app) if one["state"] == "prewarmed" and one.get("depth") == depth]
        try:
            return self.daemon.await_fact(f"{app} is paused at {depth}", paused)[0]
        except Failed:
            codes = [one["code"] for one in reasons(self.daemon, app)]
            raise SystemExit(f"{app} is not paused at {depth}: {self.instances(app)}, {codes}") from None

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
                except Refused as refusal:  # the instance has ended meanwhile
                    if "NotRunning" not in str(refusal):
                        raise
        self.ground.await_empty()

    def launch(self, app, looks=True):
        """Seconds to the window, and to the last change of the screen if that is asked for."""
        self.screen.skip_lines()
        with self.daemon.connect() as connection:
            began = time.perf_counter()
            launched = connection.call("Launch", {"app": app})
            self.screen.line()
            took = self.screen.heard - began
            quiet = self.quiet(began) if looks else None
        if launched["kind"] != "prewarmed":
            raise SystemExit(f"{app} was launched {launched['kind']}: {launched.get('coldReason')}")
        return took, quiet


class Refilling(Launcher):
    """A daemon whose pools are full before each launch: it fills them by itself, or on request."""

    def ask(self, app):
        if not self.fills_itself:
            self.daemon.call("Prewarm", {"app": app})

    def fill(self):
        for app, depth in self.apps.items():
            self.ask(app)
            self.await_paused(app, depth)

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
        """Seconds from the request to the window. The other app, if any, was launched a moment ago; a
        daemon that refills by itself is preparing it again."""
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
        # The next launch is to have the machine to itself.
        self.fill()
        return took


class Bench(Launcher):
    def __init__(self, product, kind, rounds, releases):
        super().__init__(Ground(kind), ProfiledDaemon, product)
        self.product, self.rounds, self.releases = product, rounds, releases
        # A program that is not held has its own bus and home. It must not find the name of a held program, nor write
        # settings that the held program has read, as Mousepad does when it ends.
        other = self.ground.start_bus(self.ground.closing, "other-bus")
        self.other_variables = {**self.ground.variables, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={other}",
                                "HOME": self.ground.add_home("other-home")}

    def direct(self, words, variables, looks=False):
        """The same for a direct start."""
        self.screen.skip_lines()
        began = time.perf_counter()
        with self.ground.started(words, variables):
            took = self.screen.heard - began
            return took, self.quiet(began) if looks else None

    def remove(self, app):
        """Removes the program, with its instances."""
        instances = []
        for one in (app, f"{app}.libraries"):
            with contextlib.suppress(Refused):  # it may not be installed
                instances += self.instances(one)
            (self.daemon.apps / f"{one}.app").unlink(missing_ok=True)
        self.daemon.call("Reload")  # ends the paused instances
        for instance in instances:
            with contextlib.suppress(Refused):  # it may have ended
                self.daemon.call("Kill", {"instance": instance["instance"]})

    def hold(self, app, path):
        self.daemon.install(app, self.ground.manifest([path]))
        self.daemon.call("Reload")

    def prepare(self, app, path, is_held):
        """Installs the program, once for each way, and lets it learn its libraries."""
        if is_held:
            self.hold(app, path)
        learning = f"{app}.libraries"
        self.daemon.install(learning, self.ground.manifest([path], "Depth=libraries", self.other_variables))
        self.daemon.call("Reload")
        self.await_paused(learning, "main")
        self.launch(learning)
        # An instance that is paused without its libraries is replaced. Some programs open none after main.
        end = time.monotonic() + LEARNING_SECONDS
        depth = "main"
        while depth == "main" and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
            depth = next((one["depth"] for one in self.instances(learning) if one["state"] == "prewarmed"), depth)
        self.end(learning)
        return {"libraries": (learning, depth), **({"window": (app, "window")} if is_held else {})}

    def await_all_paused(self, apps):
        """Each start has the machine to itself: no instance is on its way."""
        for one, depth in apps.values():
            self.await_paused(one, depth)

    def measure(self, name, app, path, is_held):
        apps = self.prepare(app, path, is_held)
        times = {way: [] for way in ("direct", *apps)}
        quiets, tails = [], []
        for number in range(self.rounds + 1):
            took, quiet = {}, None
            self.await_all_paused(apps)
            took["direct"], drawn = self.direct([path], self.other_variables, looks=is_held)
            for way, (one, _) in apps.items():
                self.await_all_paused(apps)
                took[way], quiet = self.launch(one)
                self.end(one)
            if number > 0:  # the first round warms the page cache
                quiets.append(quiet)
                tails += [drawn - took["direct"]] if drawn else []
                for way, value in took.items():
                    times[way].append(value * 1000)
        medians = {way: statistics.median(values) for way, values in times.items()}
        ratios = {way: value / medians["direct"] for way, value in medians.items()}
        quiet = statistics.median(quiets) * 1000 if quiets[0] is not None else None
        print(f"{name:<36} {medians['direct']:8.1f} {medians['libraries']:10.1f} {ratios['libraries']:6.2f}" +
              (f" {medians['window']:8.2f} {max(times['window']):8.2f} {ratios['window']:6.3f}"
               f" {'-' if quiet is None else format(quiet, '.0f'):>6}" if is_held else ""), flush=True)
        subject = f"{self.screen.kind}, {name}"
        if name in LIBRARIES:
            bar(subject, "with its libraries", ratios["libraries"] <= LIBRARIES_RATIO, f"{ratios['libraries']:.2f} ×",
                f"at most {LIBRARIES_RATIO} × of direct")
        if not is_held:
            return
        bar(subject, "to the window", medians["window"] <= MAP_MS and ratios["window"] <= MAP_RATIO,
            f"{medians['window']:.2f} ms, {ratios['window']:.3f} ×", f"at most {MAP_MS} ms and {MAP_RATIO} × of direct")
        if quiet is None:
            skip(subject, "to the last drawing", "on Wayland, a picture takes longer than the bar")
        elif (tail := statistics.median(tails) * 1000) >= ANIMATION_MS:
            skip(subject, "to the last drawing", f"it shows an animation: the last drawing came {tail:.0f} ms after the window of "
                 f"a direct start, and {quiet - medians['window']:.0f} ms after the held one")
        else:
            bar(subject, "to the last drawing", quiet <= QUIET_MS, f"{quiet:.0f} ms", f"at most {QUIET_MS} ms")
        if name in FORWARDING:
            self.measure_forwarder(subject, app, path, FORWARDING[name])
        self.count_windows(subject, app)

    def document(self, name):
        """Makes a file of that kind in the home, which everybody can read."""
        path = self.ground.home / name
        if path.suffix == ".txt":
            path.write_text("Dear Sir\n")
        elif path.suffix == ".png":
            path.write_bytes(picture())
        else:
            path.mkdir(exist_ok=True)
        path.chmod(0o777)
        return str(path)

    def measure_forwarder(self, subject, app, path, name):
        """Gives a file to a second process, which passes it to the held one: started directly, and by the daemon."""
        words = [path, self.document(name)]
        times = {"direct": [], "by a second process": [], "by a launch": []}
        for number in range(self.rounds + 1):
            self.await_paused(app, "window")
            took = {"direct": self.direct(words, self.other_variables)[0]}
            for way, forward in (("by a second process", self.forward), ("by a launch", self.forward_by_launch)):
                self.await_paused(app, "window")
                took[way] = forward(app, words)
            for way, value in took.items():
                times[way] += [value * 1000] if number > 0 else []
        medians = {way: statistics.median(values) for way, values in times.items()}
        direct = medians.pop("direct")
        for way, value in medians.items():
            bar(subject, f"a file, {way}", value / direct <= FORWARDER_RATIO,
                f"{value:.0f} ms, {value / direct:.2f} ×", f"at most {FORWARDER_RATIO} × of direct")

    def forward_by_launch(self, app, words):
        self.screen.skip_lines()
        with self.daemon.connect() as connection:
            began = time.perf_counter()
            connection.call("Launch", {"app": app, "arguments": words[1:]})
            self.screen.line()
            took = self.screen.heard - began
        self.end(app)
        return took

    def forward(self, app, words):
        self.screen.skip_lines()
        began = time.perf_counter()
        process = self.ground.begin(words)
        self.screen.line()
        took = self.screen.heard - began
        process.wait()
        self.end(app)
        return took

    def count_windows(self, subject, app):
        """Releases the window again and again. Each time there must be one window, and none before."""
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
        """Returns the processor time of all threads, in milliseconds."""
        return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6

    def measure_rest(self, apps, seconds):
        """Measures what held programs use: nothing while they are frozen, and little when they are aired."""
        pids = {app: self.await_paused(app, "window")["processId"] for app in apps}
        used = {app: self.used(pid) for app, pid in pids.items()}
        # The milliseconds of each airing. The last number is 0 while the program is frozen.
        airings = {app: [0] for app in apps}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
            for app, pid in pids.items():
                before, used[app] = used[app], self.used(pid)
                if used[app] > before:
                    airings[app][-1] += used[app] - before
                elif airings[app][-1]:
                    airings[app].append(0)
        for app, each in airings.items():
            subject = f"{self.screen.kind}, {app}"
            each = each if each[-1] else each[:-1]
            most = seconds // SECONDS_PER_AIRING + 2  # one more airing when the watch of its settings begins
            bar(subject, "held and frozen", len(each) <= most, f"{len(each)} times",
                f"uses the processor at most {most} times in {seconds} s")
            if each:
                mean = statistics.mean(each)
                bar(subject, "aired", max(each) <= AIRING_MS,
                    f"{max(each):.2f} ms, {mean:.2f} on average, {mean * AIRINGS_PER_HOUR:.0f} an hour",
                    f"at most {AIRING_MS} ms each")
            else:
                skip(subject, "aired", f"it was not aired in {seconds} s")

    # --- A heavy program beside refills.

    def measure_refills(self):
        """Measures both ways in turns. The first one is the second one in the next round."""
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
        launcher = Refilling(self.ground, Daemon, self.product, f"[Greenroom]\nRefillDelaySec={delay}\n")
        launcher.apps = {identifier(name): DEPTHS[name] for name in paths}
        launcher.fills_itself = fills_itself
        for name, path in paths.items():
            manifest = self.ground.manifest([path], f"Depth={DEPTHS[name]}", self.other_variables)
            launcher.daemon.install(identifier(name), manifest)
        launcher.daemon.call("Reload")
        launcher.learn(identifier(HEAVY))
        return launcher


def picture():
    """A PNG file of one black pixel."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


def programs(kind, only):
    """The name, app and path of each program, and whether it is held on that kind of screen."""
    place = kind.kind.split()[0]
    profiles = window_profiles()
    rows = [(one.name, one.app, one.program, place in one.tested) for one in profiles]
    rows += [(name, f"org.example.{name}", path, False) for name, path in LIBRARIES.items()
             if name not in [one.name for one in profiles]]
    return [row for row in rows if (row[3] or row[0] in LIBRARIES)
            and (not only or row[0] in only or Path(row[2]).name in only)]


def run(kind, arguments):
    bench = Bench(arguments.product.resolve(), kind, arguments.rounds, arguments.releases)
    with bench.ground:
        print(f"{kind.kind + ', ms to the window':<36} {'direct':>8} {'libraries':>10} {'ratio':>6} {'window':>8} {'max':>8} "
              f"{'ratio':>6} {'quiet':>6}")
        held = {}
        for name, app, path, is_held in programs(kind, arguments.only):
            if not Path(path).exists():
                print(f"{name:<36} skipped: there is no {path}")
                bars.skip(f"{kind.kind}, {name}", f"there is no {path}")
                continue
            try:
                bench.measure(name, app, path, is_held)
                held.update({app: path} if is_held else {})
            except (Exception, SystemExit) as error:
                fail(f"{kind.kind}, {name}", error)
            bench.remove(app)  # the next program may want the same name on the bus
        if held:
            try:
                for app, path in held.items():
                    bench.hold(app, path)
                bench.measure_rest(held, arguments.seconds)
            except (Exception, SystemExit) as error:
                fail(f"{kind.kind}, held programs at rest", error)


def run_refills(arguments):
    """Uses a separate screen, because the two daemons go on refilling, and a failed program may leave its window."""
    bench = Bench(arguments.product.resolve(), XServer, arguments.rounds, arguments.releases)
    with bench.ground:
        try:
            bench.measure_refills()
        except (Exception, SystemExit) as error:
            fail(f"{XServer.kind}, {HEAVY}, refills on and off", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--product", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--releases", type=int, default=100, help="of each program, to count its windows")
    parser.add_argument("--seconds", type=int, default=190, help="how long the held programs are watched")
    parser.add_argument("--only", nargs="*", help="names of profiles or programs")
    parser.add_argument("--screens", nargs="*", help="Xvfb, openbox or sway")
    parser.add_argument("--refills", action="store_true", help="only the heavy program beside refills")
    arguments = parser.parse_args()
    describe(arguments.product.resolve(), arguments)
    for kind in (XServer,) if arguments.refills else (XServer, ManagedXServer, Compositor):
        if arguments.screens and kind.program not in arguments.screens:
            continue
        if not shutil.which(kind.program):
            print(f"{kind.kind}: skipped: there is no {kind.program}")
            bars.skip(kind.kind, f"there is no {kind.program}")
            continue
        if kind is XServer and (arguments.refills or not arguments.only):
            run_refills(arguments)
        if not arguments.refills:
            run(kind, arguments)
    bars.report()


if __name__ == "__main__":
    main()
