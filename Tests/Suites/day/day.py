"""A screen with programs that are held and frozen while something happens that happens on any day. Afterwards each is launched,
and must have the windows and the picture of an ordinary start right after it; or its launch was cold, with a reason."""
import contextlib
import os
import shutil
import signal
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from control import Refused
from greenroomd import Failed
from places import ROOT
from screens import NOBODY, Compositor, ManagedXServer, XServer, as_user
from trial import Ground, ProfiledDaemon, Wrong, await_held

OTHER_USER = 1
# Programs of different toolkits: GTK 3, Qt 5, GTK 2 (on Wayland, GTK 3 again). The first two here are
# editors.
PROGRAMS = {"org.xfce.mousepad": "/usr/bin/mousepad", "featherpad": "/usr/bin/featherpad", "gpicview": "/usr/bin/gpicview"}
# FeatherPad is held only on X11. GPicView shows nothing on Wayland without an argument.
ON_WAYLAND = {"org.xfce.mousepad": "/usr/bin/mousepad", "org.kde.kcalc": "/usr/bin/kcalc", "galculator": "/usr/bin/galculator"}
# All of them load this library.
LIBRARY = next(iter(Path("/usr/lib").glob("*/libpng16.so.16")), Path("/none"))
EDITORS = ("org.xfce.mousepad", "featherpad")


class Program:
    def __init__(self, name, path):
        self.name, self.words = name, [path]
        # Without its desktop entry, an app cannot have such a name.
        self.app = name if "." in name else "org.example." + name


class Day(Ground):
    kind = None

    def __init__(self, programs):
        self.paths = programs
        super().__init__(self.kind)

    def set_up(self):
        # An ordinary start must not find the held program's name, so it has a separate bus.
        other = self.start_bus(self.closing, "other-bus")
        self.variables["GSETTINGS_BACKEND"] = "dconf"
        # The copy of a library that an upgrade replaces.
        self.libraries = self.folder / "libraries"
        self.libraries.mkdir()
        self.libraries.chmod(0o755)
        shutil.copy(LIBRARY, self.libraries / LIBRARY.name)
        self.variables["LD_LIBRARY_PATH"] = str(self.libraries)
        self.other_variables = {**self.variables, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={other}"}
        self.start(["/usr/libexec/dconf-service"])
        if shutil.which("gsettings"):  # SIGTERM ends a window with changed text, and the next start would ask what to do
            self.command("gsettings", "set", "org.xfce.mousepad.preferences.file", "session-restore", "never")
        self.prepare()
        self.empty = self.screen.picture()
        self.programs = [Program(*one) for one in self.paths.items() if os.path.exists(one[1])]
        for program in self.programs:  # what a first start leaves in the home must not count for the held program
            with self.started(program.words, self.other_variables):
                self.pictures()
        self.start_daemon()

    def prepare(self):
        """Prepares the desktop."""

    def start(self, words):
        """Starts a part of the session."""
        process = subprocess.Popen(as_user(words), env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.closing.callback(process.wait)
        self.closing.callback(process.kill)
        return process

    def command(self, *words, **options):
        done = subprocess.run(as_user(words), env=self.variables, capture_output=True, text=True, check=False, **options)
        if done.returncode:
            raise Wrong(f"{' '.join(words)}: {done.stderr or done.stdout}")
        return done.stdout

    def start_daemon(self):
        self.clock = self.folder / "clock"
        self.clock.write_bytes(bytes(8))
        os.mkfifo(f"{self.clock}.set")
        library = self.folder / "fake-clock.so"
        subprocess.run(["clang", "-shared", "-fPIC", "-o", library, ROOT + "/Tests/Probes/fake-clock.c"], check=True)
        self.daemon = ProfiledDaemon(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LD_PRELOAD": str(library),
                                                  "FAKE_CLOCK": str(self.clock)})
        self.closing.callback(self.daemon.stop)
        for program in self.programs:
            self.daemon.install(program.app, self.manifest(program.words))
        self.daemon.start()

    # --- What is compared.

    def hold(self):
        """Returns when all programs are held and frozen, and none can be seen."""
        self.held = {}
        for program in self.programs:
            try:
                self.held[program.app] = await_held(self.daemon, program.app)
            except Failed:
                told = [self.daemon.call(method, {"app": program.app}) for method in ("Status", "Explain")]
                raise Wrong(f"{program.app} is not held: {told}") from None
        self.await_empty()

    def launch(self, program):
        """Launches the program. Returns `released` if it was held, `prepared again`, or the reason of a cold launch."""
        launched = self.daemon.call("Launch", {"app": program.app})
        self.program = launched["processId"]
        if launched["kind"] == "prewarmed":
            is_same = launched["instance"] == self.held[program.app]["instance"]
            return launched["instance"], "released" if is_same else "prepared again"
        if not launched.get("coldReason"):
            raise Wrong(f"it was launched {launched['kind']}, without a reason")
        return launched["instance"], f"{launched['kind']}: {launched['coldReason']}"

    def seen(self, action, again, known=()):
        if action:
            self.pictures()
            action(again)
        pictures = self.pictures(() if action else known)
        return pictures, self.screen.windows()

    def compare(self, program, action=None):
        """Raises `Wrong` where the launch differs from an ordinary start; else returns how it was launched. `action`: what the
        user, with the window; it is given what starts the program once more."""
        self.empty = self.screen.picture()
        launches = [self.launch(program)]
        try:
            self.check_files(launches[0][0])
            seen, windows = self.seen(action, lambda: launches.append(self.launch(program)))
        finally:
            for instance, _ in launches:
                with contextlib.suppress(Exception):  # the instance may have ended by itself
                    self.daemon.call("Terminate", {"instance": instance})
            self.await_empty()
        way = launches[0][1]
        if way.startswith("cold"):  # it was an ordinary start, and may have saved what the next one reads (the window's size)
            return way
        with self.started(program.words, self.other_variables):
            others = []
            try:
                expected, direct_windows = self.seen(
                    action, lambda: others.append(self.begin(program.words, self.other_variables)), known=seen)
            finally:
                for other in others:
                    other.kill()
                    other.wait()
        if windows != direct_windows:
            raise Wrong(f"{way}; its windows are {windows}, not {direct_windows}")
        if not set(seen) & set(expected):
            self.keep(program.app, seen, expected)
            count = min(sum(a != b for a, b in zip(one, other)) for one in seen for other in expected)
            raise Wrong(f"{way}; it looks otherwise: {count} bytes differ")
        return way

    def check_files(self, instance):
        """Checks that a launched program has mapped none of the files that an upgrade has replaced."""
        for one in self.daemon.call("Status", {"instance": instance})["instances"]:
            maps = Path(f"/proc/{one['processId']}/maps").read_text()
            if f"{self.libraries}/{LIBRARY.name} (deleted)" in maps:
                raise Wrong("it was released with a library that has been replaced")

    # --- What happens.

    def write(self, name, text):
        """Writes a file in the home."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if os.getuid() == 0:
            for owned in (path, *path.relative_to(self.home).parents[:-1]):
                os.chown(self.home / owned, NOBODY, NOBODY)
        return path

    def jump(self, hours):
        """Puts the clock forward, as a suspend does: the daemon hears nothing else of a suspend."""
        offset, = struct.unpack("<q", self.clock.read_bytes())
        with open(self.clock, "r+b") as file:
            file.write(struct.pack("<q", offset + hours * 3600 * 10**9))
        with open(f"{self.clock}.set", "wb") as file:
            file.write(b"x")

    def upgrade(self):
        """Replaces a library by another file, as dpkg(1) does."""
        new = self.libraries / "new"
        shutil.copy(LIBRARY, new)
        new.rename(self.libraries / LIBRARY.name)

    def change_files(self):
        """Changes files that the programs read at their start: settings of toolkits, their own, and the recent files."""
        self.write(".config/gtk-3.0/settings.ini", "[Settings]\ngtk-application-prefer-dark-theme=1\n")
        self.write(".gtkrc-2.0", 'style "dark" { bg[NORMAL] = "#206040" }\nclass "*" style "dark"\n')
        self.write(".config/featherpad/fp.conf", "[window]\nnoToolbar=true\n")

    def change_files_back(self):
        for name in (".config/gtk-3.0/settings.ini", ".gtkrc-2.0", ".config/featherpad/fp.conf"):
            (self.home / name).unlink(missing_ok=True)

    def change_recent_files(self):
        address = self.write("letter.txt", "Dear Sir").as_uri()
        self.write(".local/share/recently-used.xbel", f"""<?xml version="1.0" encoding="UTF-8"?>
<xbel version="1.0" xmlns:bookmark="http://www.freedesktop.org/standards/desktop-bookmarks"
 xmlns:mime="http://www.freedesktop.org/standards/shared-mime-info"><bookmark href="{address}"
 added="2026-11-28T10:00:00Z" modified="2026-11-28T10:00:00Z" visited="2026-11-28T10:00:00Z"><info>
 <metadata owner="http://freedesktop.org"><mime:mime-type type="text/plain"/><bookmark:applications>
 <bookmark:application name="Mousepad" exec="&apos;mousepad %u&apos;" modified="2026-11-28T10:00:00Z" count="1"/>
 </bookmark:applications></metadata></info></bookmark></xbel>""")

    def change_own_settings(self):
        self.command("gsettings", "set", "org.xfce.mousepad.preferences.view", "show-line-numbers", "true")


class Event:
    """`happens` and `ends` are given the day. `action`: of the user, with the window of each program that has `editors`;
    `needs`: a command without which the event cannot happen here; `short`: whether it is part
    of every `make test`."""

    def __init__(self, name, happens=None, ends=None, action=None, editors=False, needs=None, short=False):
        self.name, self.happens, self.ends, self.action = name, happens, ends, action
        self.editors, self.needs, self.short = editors, needs, short


# This comes last, because the next instances are prepared while the files differ.
AT_THE_END = [
    Event("files that the programs read at their start change", Day.change_files, Day.change_files_back),
]
ALWAYS = [
    Event("nothing happens"),  # the suite `profiles` tries this, too
    Event("a mapped library is upgraded", Day.upgrade, short=True),
    Event("the recent files change", Day.change_recent_files, action=lambda day, again: day.open_menu(), editors=True),
    Event("a setting of a program changes (dconf)", Day.change_own_settings, needs="gsettings"),
    Event("the machine sleeps for eight hours", lambda day: day.jump(8)),
    Event("the program is launched again while its window is open", action=lambda day, again: again()),
]


class XDay(Day):
    kind = ManagedXServer

    def prepare(self):
        self.desk = self.screen.desk
        if shutil.which("xrandr"):
            self.randr("--newmode", "small", "38.25", *"800 832 912 1024 600 603 607 624".split())
            self.randr("--addmode", "screen", "small")
        self.desk.manage_settings(Net_ThemeName="Adwaita", Gtk_FontName="Sans 10", Xft_DPI=96 * 1024, Net_CursorBlink=0)

    def open_menu(self):
        self.desk.type(ALT, F)

    def paste(self):
        self.desk.type(CONTROL, V)

    def copy_elsewhere(self):
        self.start(["xclip", "-selection", "clipboard", "-quiet", "-in", str(self.write("copied", "from elsewhere"))])
        self.desk.await_owner("CLIPBOARD")

    def lock_and_unlock(self):
        self.daemon.call("Lock", {"user": NOBODY})
        self.desk.lock_and_unlock()
        self.daemon.call("Unlock", {"user": NOBODY})

    def randr(self, *words):
        self.command("xrandr", *words)


CONTROL, ALT, F, V, Y = 37, 64, 41, 55, 29  # codes of keys
ON_X = [
    *ALWAYS,
    Event("the theme changes (XSETTINGS)", lambda day: day.desk.set(Net_ThemeName="HighContrast"),
          lambda day: day.desk.set(Net_ThemeName="Adwaita"), short=True),
    Event("the font changes (XSETTINGS)", lambda day: day.desk.set(Gtk_FontName="Sans 16"),
          lambda day: day.desk.set(Gtk_FontName="Sans 10")),
    Event("the resolution changes (XSETTINGS)", lambda day: day.desk.set(Xft_DPI=144 * 1024),
          lambda day: day.desk.set(Xft_DPI=96 * 1024)),
    Event("the resolution changes (Xft.dpi)", lambda day: day.desk.set_resources("Xft.dpi:\t144\n"),
          lambda day: day.desk.set_resources("Xft.dpi:\t96\n")),
    Event("the scale changes (XSETTINGS)",
          lambda day: day.desk.set(Gdk_WindowScalingFactor=2, Gdk_UnscaledDPI=96 * 1024, Xft_DPI=192 * 1024),
          lambda day: day.desk.set(Gdk_WindowScalingFactor=1, Gdk_UnscaledDPI=96 * 1024, Xft_DPI=96 * 1024)),
    Event("an output is added", lambda day: day.randr("--setmonitor", "second", "640/170x1024/270+640+0", "none"),
          lambda day: day.randr("--delmonitor", "second"), needs="xrandr"),
    Event("the output has another size", lambda day: day.randr("--output", "screen", "--mode", "small"),
          lambda day: day.randr("--output", "screen", "--mode", "1280x1024"), needs="xrandr"),
    Event("the keyboard has another layout", lambda day: day.command("setxkbmap", "de"),
          lambda day: day.command("setxkbmap", "us"), lambda day, again: day.desk.type(Y), editors=True, needs="setxkbmap"),
    Event("another program has the clipboard", XDay.copy_elsewhere, action=lambda day, again: day.paste(), editors=True,
          needs="xclip"),
    Event("500 windows of others come and go", lambda day: day.desk.show_others(500)),
    Event("the screen is locked and unlocked", XDay.lock_and_unlock),
    *AT_THE_END,
]


class WaylandDay(Day):
    kind = Compositor

    def prepare(self):
        self.variables["SWAYSOCK"] = str(next(self.folder.glob("sway-ipc.*.sock")))
        # The compositor sets this variable for its own children. Programs that are started here get it, too.
        self.other_variables["SWAYSOCK"] = self.variables["SWAYSOCK"]

    def sway(self, *commands):
        self.command("swaymsg", "; ".join(commands))

    def open_menu(self):
        self.command("wtype", "-M", "alt", "f", "-m", "alt")

    def paste(self):
        self.command("wtype", "-M", "ctrl", "v", "-m", "ctrl")

    def copy_elsewhere(self):
        self.command("wl-copy", "from elsewhere", stdin=subprocess.DEVNULL)

    def set(self, key, value):
        self.command("gsettings", "set", "org.gnome.desktop.interface", key, value)

    def show_others(self):
        words = [word for number in range(10) for word in ("flags", f"other{number}")]
        for _ in range(50):
            with subprocess.Popen([self.screen.probe, *words], env=self.screen.variables, stdout=subprocess.DEVNULL) as others:
                self.await_fact("windows of others", lambda: len(self.screen.windows()) == 10)
                others.kill()
            self.await_empty()

    def lock_and_unlock(self):
        self.daemon.call("Lock", {"user": NOBODY})
        empty = self.screen.picture()
        locker = self.start(["swaylock", "--color", "3060a0"])
        self.await_fact("a locked screen", lambda: self.screen.picture() != empty)
        locker.send_signal(signal.SIGUSR1)
        locker.wait()
        self.daemon.call("Unlock", {"user": NOBODY})

    def flood(self):
        """Causes more events than the compositor keeps for a client that does not read them."""
        for _ in range(40):
            self.sway(*[f"output HEADLESS-1 scale {scale}" for scale in (1.5, 1) * 10])


ON_SWAY = [
    *ALWAYS,
    Event("the theme changes (gsettings)", lambda day: day.set("gtk-theme", "HighContrast"),
          lambda day: day.set("gtk-theme", "Adwaita"), short=True),
    Event("the font changes (gsettings)", lambda day: day.set("font-name", "Sans 16"),
          lambda day: day.set("font-name", "Sans 10")),
    Event("texts are larger (gsettings)", lambda day: day.set("text-scaling-factor", "1.5"),
          lambda day: day.set("text-scaling-factor", "1.0")),
    Event("an output is added", lambda day: day.sway("create_output"), lambda day: day.sway("output HEADLESS-2 unplug")),
    Event("the output has another size", lambda day: day.sway("output HEADLESS-1 mode 800x600"),
          lambda day: day.sway("output HEADLESS-1 mode 1280x720")),
    Event("the output has another scale", lambda day: day.sway("output HEADLESS-1 scale 2"),
          lambda day: day.sway("output HEADLESS-1 scale 1")),
    # The layout is not tried: a compositor tells it to the window that gets the focus, and sway has no
    # keyboard here whose keys have codes (wtype brings its own layout).
    Event("another program has the clipboard", WaylandDay.copy_elsewhere, action=lambda day, again: day.paste(),
          editors=True, needs="wl-copy"),
    Event("500 windows of others come and go", WaylandDay.show_others),
    Event("the screen is locked and unlocked", WaylandDay.lock_and_unlock, needs="swaylock"),
    Event("the compositor drops its frozen clients", WaylandDay.flood),
    *AT_THE_END,
]


def end_display(day):
    """The display server ends while programs are held: no launch shows a window elsewhere, and none counts as released."""
    with Ground(XServer) as elsewhere:
        day.hold()
        day.screen.end()
        ways = []
        for program in day.programs:
            try:
                launched = day.daemon.call("Launch", {"app": program.app})
            except Refused as refused:
                ways.append(refused.name)
                continue
            if launched["kind"] == "prewarmed" and launched["instance"] == day.held[program.app]["instance"]:
                raise Wrong(f"{program.app} was launched prewarmed without a display")
            ways.append(f"{launched['kind']}: {launched.get('coldReason')}")
        if elsewhere.screen.windows():
            raise Wrong(f"windows elsewhere: {elsewhere.screen.windows()}")
    return ", ".join(ways)


def serve_two_users():
    """Two users have each a display and a held program: each launch shows a window on its own display only."""
    words = ["/usr/bin/galculator"]
    with Ground(XServer) as first, Ground(XServer) as second:
        for path in (second.folder, second.home):
            os.chown(path, OTHER_USER, OTHER_USER)
        daemon = ProfiledDaemon(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        first.closing.callback(daemon.stop)
        daemon.install("org.example.first", first.manifest(words))
        daemon.install("org.example.second", second.manifest(words).replace(f"User={NOBODY}", f"User={OTHER_USER}"))
        daemon.start()
        shown = {first: [], second: []}
        for app in ("org.example.first", "org.example.second"):
            await_held(daemon, app)
        for app, ground in (("org.example.first", first), ("org.example.second", second)):
            if daemon.call("Launch", {"app": app})["kind"] != "prewarmed":
                raise Wrong(f"{app} was not launched prewarmed")
            ground.screen.line()
            shown[ground] = ["galculator"]
            for one, windows in shown.items():
                if one.screen.windows() != windows:
                    raise Wrong(f"after the launch of {app}, a display has {one.screen.windows()}, not {windows}")


def launch_together(count):
    """Two held programs are launched at the same time, that many times: each time, both are what was held, and show one window."""
    programs = [Program("galculator", "/usr/bin/galculator"), Program("featherpad", "/usr/bin/featherpad")]
    with Ground(XServer) as ground, ThreadPoolExecutor() as pool:
        daemon = ProfiledDaemon(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        ground.closing.callback(daemon.stop)
        for program in programs:
            with ground.started(program.words):  # what a first start leaves in the home must not count for the held program
                ground.pictures()
            daemon.install(program.app, ground.manifest(program.words))
        daemon.start()
        for number in range(1, count + 1):
            held = [await_held(daemon, program.app)["instance"] for program in programs]
            if ground.screen.windows():
                raise Wrong(f"before launch {number}, there are {ground.screen.windows()}")
            launched = list(pool.map(lambda program: daemon.call("Launch", {"app": program.app}), programs))
            if [one["instance"] for one in launched] != held:
                raise Wrong(f"launch {number} was not of what was held: {launched}")
            for _ in programs:
                ground.screen.line()
            windows = ground.screen.windows()
            if len(windows) != len(programs):
                raise Wrong(f"after launch {number}, there are {windows}")
            for one in launched:
                daemon.call("Kill", {"instance": one["instance"]})
            ground.await_empty()
