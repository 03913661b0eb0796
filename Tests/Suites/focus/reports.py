"""KWin tells the daemon which app has the foreground, by the script that is installed for it (greenroom-foreground(1))."""
import shutil
import subprocess
import time
from pathlib import Path

from greenroomd import Daemon
from places import PRODUCT, ROOT
from screens import as_user
from trial import Ground, Wrong

APPS = ["org.example.one", "org.example.two"]
SCRIPT = "greenroom-foreground"
RECONFIGURE_SECONDS = 2
SERVICE = "[D-BUS Service]\nName=io.greenroom.Foreground\nExec={program} --bus --socket {socket}\n"
# KWin 6 and KWin 5 have different names for this.
ACTIVATE = """
const windows = workspace.windowList ? workspace.windowList() : workspace.clientList();
const found = windows.filter(window => window.pid == {process})[0];
if (workspace.windowList) workspace.activeWindow = found; else workspace.activeClient = found;
"""
WINDOW_OF_NO_APP = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk; " \
    "Gtk.Window(title='none').show_all(); Gtk.main()"


class Reports(Ground):
    """A session of KWin in which two apps have a window each, and a program that is no app has one too."""

    def __init__(self, kind, words, python):
        self.words, self.python, self.activation_count, self.asked_at = words, python, 0, 0
        super().__init__(kind)

    def set_up(self):
        self.daemon = Daemon(environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        self.closing.callback(self.daemon.stop)
        for app in APPS:
            self.daemon.install(app, self.manifest(self.words).replace("When=boot", "When=never")
                                .replace("[App]\n", "[App]\nForegroundGroup=none\n"))
        self.daemon.start()
        self.daemon.runtime.chmod(0o755)  # users must reach the daemon, as they reach the system's
        self.enable()
        self.processes = {app: self.daemon.call("Launch", {"app": app})["processId"] for app in APPS}
        other = self.begin([self.python, "-c", WINDOW_OF_NO_APP])
        self.closing.callback(other.wait)
        self.closing.callback(other.kill)
        self.processes[None] = other.pid

    def enable(self):
        """Installs the script for the user and has KWin load it, as the manual page says."""
        services = self.folder / "services"
        services.mkdir(mode=0o755)
        (services / "io.greenroom.Foreground.service").write_text(
            SERVICE.format(program=f"{PRODUCT}/greenroom-foreground", socket=self.daemon.socket))
        scripts, settings = self.folder / ".local/share/kwin/scripts", self.folder / ".config"
        subprocess.run(as_user(["mkdir", "-p", scripts, settings]), check=True)
        shutil.copytree(f"{ROOT}/config/kwin/{SCRIPT}", scripts / SCRIPT)
        with open(settings / "kwinrc", "a") as file:
            file.write(f"\n[Plugins]\n{SCRIPT}Enabled=true\n")
        (settings / "kwinrc").chmod(0o666)
        self.await_fact("KWin runs the script", self.runs_script)

    def runs_script(self):
        """Whether KWin runs the script. On Wayland, KWin reads its settings again some time after the last request."""
        if time.monotonic() > self.asked_at + RECONFIGURE_SECONDS:
            self.tell("/KWin", "org.kde.KWin.reconfigure")
            self.asked_at = time.monotonic()
        return "true" in self.tell("/Scripting", "org.kde.kwin.Scripting.isScriptLoaded", SCRIPT)

    def tell(self, path, method, *arguments):
        """Makes a call on KWin's bus, and returns the answer."""
        done = subprocess.run(
            as_user(["gdbus", "call", "--session", "--dest", "org.kde.KWin", "--object-path", path, "--method", method, *arguments]),
            env={"PATH": "/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": self.screen.address}, capture_output=True, text=True,
            check=False)
        if done.returncode:
            raise Wrong(f"KWin does not do {method}: {done.stderr}")
        return done.stdout

    def activate(self, app):
        """Activates the app's window, as a user does."""
        self.activation_count += 1
        path = Path(self.folder) / f"activate-{self.activation_count}.js"
        path.write_text(ACTIVATE.format(process=self.processes[app]))
        path.chmod(0o644)
        self.tell("/Scripting", "org.kde.kwin.Scripting.loadScript", str(path), path.stem)
        self.tell("/Scripting", "org.kde.kwin.Scripting.start")
        self.tell("/Scripting", "org.kde.kwin.Scripting.unloadScript", path.stem)

    def states(self):
        return {app: [one["state"] for one in self.daemon.call("Status", {"app": app})["instances"]] for app in APPS}

    def is_in_front(self, front):
        return self.states() == {app: ["active" if app == front else "background"] for app in APPS}

    def follow(self):
        """Goes from window to window. Raises `Wrong` where the daemon does not follow."""
        for front in [*APPS, APPS[0], None, APPS[1]]:
            # The first windows may not be there yet, and each new one takes the focus.
            def follows(front=front):
                self.activate(front)
                return self.is_in_front(front)
            try:
                self.await_fact(f"{front or 'no app'} has the foreground", follows)
            except Wrong as wrong:
                raise Wrong(f"{wrong}; {self.states()}") from None
        return "the daemon follows"
