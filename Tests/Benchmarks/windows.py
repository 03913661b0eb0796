#!/usr/bin/env python3
"""Desktop programs from the request to their first window, on an X server of their own without a window manager and on
a Wayland compositor of their own (sway without an output device): executed directly, launched from before main with the
libraries open that an earlier launch has opened, and launched with the window held (Depth=window).

The ways take turns. The time is from the request to the moment at which another client has heard that the window is
mapped; one line per program has the medians. A program is skipped, with the reason, where it is missing. The programs run
as nobody if this runs as root, whose programs are not held.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Support/Python"))
import shutil  # noqa: E402

from greenroomd import Daemon  # noqa: E402
from screens import NOBODY, Compositor, XServer, as_user  # noqa: E402

# Programs that own no name on the bus.
PROGRAMS = {"x11": ["xcalc", "kcalc", "galculator", "gnome-calculator"],
            "wayland": ["kcalc", "galculator", "gnome-calculator"]}


def variables(screen, folder):
    # No bus: libdbus would otherwise start one.
    return {"HOME": folder, "XDG_RUNTIME_DIR": folder, "PATH": "/usr/bin:/bin",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/none", "NO_AT_BRIDGE": "1", "LANG": "C.UTF-8",
            **screen.variables}


def await_paused(daemon, app, depth):
    def paused():
        return any(one["state"] == "prewarmed" and one.get("depth") == depth and
                   (depth != "window" or one.get("threadsFrozen"))
                   for one in daemon.call("Status", {"app": app})["instances"])
    daemon.await_fact(f"{app} is paused at {depth}", paused)


def launch(daemon, screen, app):
    with daemon.connect() as connection:
        began = time.perf_counter()
        launched = connection.call("Launch", {"app": app})
        screen.line()
        took = time.perf_counter() - began
    daemon.call("Kill", {"instance": launched["instance"]})
    return took * 1000, launched


def direct(path, screen, folder):
    began = time.perf_counter()
    process = subprocess.Popen(
        as_user([path]), env=variables(screen, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    screen.line()
    took = time.perf_counter() - began
    process.kill()
    process.wait()
    return took * 1000


def measure(name, daemon, screen, folder, rounds):
    path = shutil.which(name, path="/usr/bin:/bin")
    if not path:
        return print(f"{name:<24} skipped: there is no {name}")
    lines = "\n".join(f"Environment={key}={value}" for key, value in variables(screen, folder).items())
    if os.getuid() == 0:
        lines += f"\nUser={NOBODY}"
    prefix = f"org.example.{screen.kind}.{name}"
    for depth in ("libraries", "window"):
        daemon.install(f"{prefix}-{depth}",
                       f"[App]\nExec={path}\n{lines}\n[Prewarm]\nDepth={depth}\nWhen=boot\n")
    daemon.call("Reload")
    app = f"{prefix}-libraries"
    await_paused(daemon, app, "main")
    with daemon.connect() as connection:
        lesson = connection.call("Launch", {"app": app})
        screen.line()
    await_paused(daemon, app, "libraries")
    daemon.call("Kill", {"instance": lesson["instance"]})
    times = {"direct": [], "libraries": [], "window": []}
    for number in range(rounds + 1):
        took = {"direct": direct(path, screen, folder)}
        for depth in ("libraries", "window"):
            await_paused(daemon, f"{prefix}-{depth}", depth)
            took[depth], launched = launch(daemon, screen, f"{prefix}-{depth}")
            if launched["kind"] != "prewarmed":
                raise SystemExit(f"{name} was launched {launched['kind']}")
        if number > 0:  # the first round warms the page cache
            for way, value in took.items():
                times[way].append(value)
    medians = {way: statistics.median(values) for way, values in times.items()}
    print(f"{name:<24} {medians['direct']:8.1f} {medians['libraries']:10.1f} {medians['window']:8.2f}"
          f" {max(times['window']):8.2f} {medians['window'] / medians['direct']:7.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--product", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    daemon = Daemon(product=os.path.abspath(arguments.product), environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    try:
        daemon.start()
        for kind in (XServer, Compositor):
            if not shutil.which(kind.program):
                print(f"{kind.kind}: skipped: there is no {kind.program}")
                continue
            with tempfile.TemporaryDirectory() as folder:
                if os.getuid() == 0:
                    os.chown(folder, NOBODY, NOBODY)
                os.chmod(folder, 0o700)
                screen = kind(folder)
                try:
                    print(f"{kind.kind + ', ms to the window':<24} {'direct':>8} {'libraries':>10} {'window':>8} {'max':>8} "
                          f"{'ratio':>7}")
                    for name in PROGRAMS[kind.kind]:
                        measure(name, daemon, screen, folder, arguments.rounds)
                finally:
                    screen.close()
    finally:
        daemon.stop()


if __name__ == "__main__":
    main()
