"""Stale means gone: pip, npm, gem and dpkg, as they are, change a package that a paused instance has loaded. The launch after
that prints what a direct run prints, never the old package. Nothing is fetched: each version is built here.
"""
import os
import re
import shutil
import subprocess
import tempfile
import zipfile

import cases_ruby
import control
import greenroomd
import results
from comparing import ENVIRONMENT, is_wanted

VERSIONS = 4
# A package has parts that could be of different versions. Node keeps no group of modules that is smaller.
PARTS = ["one", "two", "three"]
PADDING = "x" * 20_000
# Each part also takes a few hundredths of a second to load. Otherwise the daemon may find, on a busy machine, that a list saves
# nothing, and give it up.
WORK = {"python": "sum(n % 7 for n in range(500_000))\n", "node": "for (let n = 0, sum = 0; n < 3e7; n++) sum += n % 7\n",
        "ruby": "(1..500_000).sum { |n| n % 7 }\n", "perl": "{ my $sum = 0; $sum += $_ % 7 for 1 .. 1_500_000; }\n"}


class Installer:
    """A tool and a program that prints the version of each part of the package `gpack`. `place`: the folder that the tool
    installs into, as part of the test's folder."""

    def __init__(self, folder):
        self.folder = folder
        self.place, self.build = f"{folder}/place", f"{folder}/build"
        for path in (self.place, self.build, folder + "/home"):
            os.makedirs(path)
        self.environment = {**ENVIRONMENT, "HOME": folder + "/home", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **self.variables()}
        self.program = self.write(f"{self.place}/program{self.ending}", self.text)

    def write(self, path, text, version=0):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        # Versions are as old as they would be, and not of the same second.
        os.utime(path, (1_700_000_000 + version, 1_700_000_000 + version))
        return path

    def do(self, *words, directory=None):
        run = subprocess.run(words, env=self.environment, cwd=directory or self.folder, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL)
        if run.returncode:
            raise greenroomd.Failed(f"{' '.join(words)}: {run.stdout[-500:]} {run.stderr[-1000:]}")


class Pip(Installer):
    tool, needs, interpreter, ending = "pip", "/usr/bin/pip3", "/usr/bin/python3", ".py"
    text = f"import gpack\nprint(gpack.VERSION, {', '.join(f'gpack.{part}.VERSION' for part in PARTS)})\n"

    def variables(self):
        return {"PYTHONUSERBASE": self.place + "/base"}

    def modules(self, version):
        parts = {f"gpack/{part}.py": f"{WORK['python']}VERSION = {version}\n" for part in PARTS}
        return {"gpack/__init__.py": f"from . import {', '.join(PARTS)}\nVERSION = {version}\n", **parts}

    def prepare(self, version):
        name = f"gpack-{version}.dist-info"
        files = {**self.modules(version), f"{name}/METADATA": f"Metadata-Version: 2.1\nName: gpack\nVersion: {version}\n",
                 f"{name}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        files[f"{name}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{name}/RECORD"])
        with zipfile.ZipFile(f"{self.build}/gpack-{version}-py3-none-any.whl", "w") as wheel:
            for path, text in files.items():
                wheel.writestr(path, text)

    def words(self):
        return [self.needs, "--disable-pip-version-check"]

    def options(self):
        run = subprocess.run([*self.words(), "install", "--help"], capture_output=True, text=True, env=self.environment)
        return ["--break-system-packages"] if "--break-system-packages" in run.stdout else []

    def install(self, version):
        return [*self.words(), "install", "--user", "--no-index", "--quiet", *self.options(),
                f"{self.build}/gpack-{version}-py3-none-any.whl"]

    def remove(self):
        return [*self.words(), "uninstall", "--yes", "--quiet", *self.options(), "gpack"]


class Npm(Installer):
    tool, needs, interpreter, ending = "npm", "/usr/bin/npm", "/usr/bin/node", ".js"
    text = "const g = require('gpack')\nconsole.log(g.version, ...g.parts)\n"

    def variables(self):
        return {"npm_config_cache": self.place + "/cache", "npm_config_audit": "false", "npm_config_fund": "false",
                "npm_config_update_notifier": "false", "npm_config_offline": "true"}

    def prepare(self, version):
        source = f"{self.build}/{version}"
        self.write(f"{source}/package.json", f'{{"name": "gpack", "version": "{version}.0.0"}}\n', version)
        for part in PARTS:
            self.write(f"{source}/{part}.js", f"{WORK['node']}module.exports = {version} // {PADDING}\n", version)
        parts = ", ".join(f"require('./{part}')" for part in PARTS)
        self.write(f"{source}/index.js", f"exports.parts = [{parts}]\nexports.version = {version}\n", version)
        self.do(self.needs, "pack", "--silent", directory=source)

    def install(self, version):
        return [self.needs, "install", "--silent", "--prefix", self.place, f"{self.build}/{version}/gpack-{version}.0.0.tgz"]

    def remove(self):
        return [self.needs, "uninstall", "--silent", "--prefix", self.place, "gpack"]


class Gem(Installer):
    """The newest version counts, and older ones stay beside it. The last step removes the newest."""

    tool, needs, interpreter, ending = "gem", "/usr/bin/gem", cases_ruby.RUBY, ".rb"
    text = "require 'gpack'\np GPACK, *PARTS\n"

    def variables(self):
        return {"GEM_HOME": self.place + "/gems", "GEM_PATH": self.place + "/gems"}

    def prepare(self, version):
        source = f"{self.build}/{version}"
        files = {"lib/gpack.rb": "".join(f"require 'gpack/{part}'\n" for part in PARTS) + f"GPACK = {version}\n",
                 **{f"lib/gpack/{part}.rb": f"{WORK['ruby']}(PARTS ||= []) << {version}\n" for part in PARTS}}
        for path, text in files.items():
            self.write(f"{source}/{path}", text, version)
        self.write(f"{source}/gpack.gemspec", "Gem::Specification.new do |s|\n  s.name, s.version, s.summary, s.author = "
                   f"'gpack', '{version}', 'x', 'x'\n  s.files = {list(files)}\nend\n")
        self.do(self.needs, "build", "--silent", "gpack.gemspec", directory=source)

    def install(self, version):
        return [self.needs, "install", "--local", "--silent", "--no-document", f"{self.build}/{version}/gpack-{version}.gem"]

    def remove(self):
        return [self.needs, "uninstall", "--silent", "--executables", "--version", str(VERSIONS), "gpack"]


class Dpkg(Installer):
    """With a database of its own."""

    needs, architecture = "/usr/bin/dpkg-deb", "all"

    def prepare(self, version):
        source = f"{self.build}/{version}"
        self.write(source + "/DEBIAN/control", f"Package: gpack\nVersion: {version}\nArchitecture: all\nMaintainer: x <x@x>\n"
                                               "Description: x\n")
        for path, text in self.modules(version).items():
            self.write(f"{source}/{self.library}/{path}", text, version)
        self.do("/usr/bin/dpkg-deb", "--root-owner-group", "--build", source, f"{self.build}/gpack-{version}.deb")
        os.makedirs(self.place + "/root/var/lib/dpkg/updates", exist_ok=True)
        os.makedirs(self.place + "/root/var/lib/dpkg/info", exist_ok=True)
        open(self.place + "/root/var/lib/dpkg/status", "a").close()

    def words(self):
        return ["/usr/bin/dpkg", f"--root={self.place}/root", f"--log={self.folder}/log", "--force-not-root"]

    def install(self, version):
        return [*self.words(), "--install", f"{self.build}/gpack-{version}.deb"]

    def remove(self):
        return [*self.words(), "--purge", "gpack"]


class DpkgPython(Dpkg):
    tool, interpreter, ending, library = "dpkg, of Python", "/usr/bin/python3", ".py", "usr/lib/python3/dist-packages"
    text, modules = Pip.text, Pip.modules

    def variables(self):
        return {"PYTHONPATH": f"{self.place}/root/{self.library}"}


class DpkgPerl(Dpkg):
    tool, interpreter, ending, library = "dpkg, of Perl", "/usr/bin/perl", ".pl", "usr/share/perl5"
    text = f"use Gpack;\nprint join(' ', $Gpack::VERSION, {', '.join(f'$Gpack::{part}::VERSION' for part in PARTS)}), \"\\n\";\n"

    def variables(self):
        return {"PERL5LIB": f"{self.place}/root/{self.library}"}

    def modules(self, version):
        parts = {f"Gpack/{part}.pm": f"package Gpack::{part}; {WORK['perl']}our $VERSION = {version}; 1;\n" for part in PARTS}
        loads = "".join(f"use Gpack::{part};\n" for part in PARTS)
        return {"Gpack.pm": f"package Gpack;\n{loads}our $VERSION = {version}; 1;\n", **parts}


APP = "test.installed"


class Served:
    """The program of an installer, prewarmed by a daemon."""

    def __init__(self, installer):
        self.installer = installer
        self.daemon = greenroomd.Daemon(environment=installer.environment)
        variables = " ".join(f"{name}={value}" for name, value in installer.environment.items())
        self.command = [installer.interpreter, installer.program]
        self.daemon.install(APP, f"[App]\nExec={' '.join(self.command)}\nInstances=multiple\nEnvironment={variables}\n"
                                 "[Prewarm]\nWhen=demand\n")
        self.daemon.start()

    def ready(self):
        """Waits for an instance that has loaded the package before its pause. Launches teach what it needs."""
        def fact():
            self.daemon.call("Prewarm", {"app": APP})
            notes = self.notes()
            if "imports_abandoned" in notes:
                raise greenroomd.Failed(str(notes))
            if "imports_preparing" in notes:
                return False
            found = re.search(r"its instances import (\d+) ", notes.get("imports_learned", ""))
            if found and int(found[1]) > len(PARTS):
                return True
            self.launch()
            return False

        self.daemon.await_fact("a list that has the package", fact, look_seconds=0.2)

    def notes(self):
        return {one["code"]: one["text"] for one in self.daemon.call("Explain", {"app": APP})["reasons"]}

    def launch(self):
        """What it prints, and how it was served."""
        words = [str(self.daemon.product / "greenroomctl"), "run", APP, "--socket", str(self.daemon.socket)]
        outcome = self.run(words)
        return outcome, self.last_launch()["kind"]

    def last_launch(self):
        return self.daemon.call("Explain", {"app": APP})["lastLaunch"]

    def paused(self):
        instances = self.daemon.call("Status", {"app": APP})["instances"]
        return {one["instance"] for one in instances if one["state"] == "prewarmed"}

    def directly(self):
        return self.run(self.command)

    def run(self, words):
        run = subprocess.run(words, env=self.installer.environment, cwd=self.installer.place, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL)
        return run.returncode, run.stdout, run.stderr


def line(version):
    return " ".join([str(version)] * (1 + len(PARTS)))


def numbers(outcome):
    return " ".join(outcome[1].split())


def changed(served, title, words, expected):
    """The package is changed in mid-pause. Then the launch prints what a direct run does. An instance that was paused after the
    change may serve it as it is."""
    served.ready()
    before = served.paused()
    served.installer.do(*words)
    found, kind = served.launch()
    direct = served.directly()
    is_later = served.last_launch()["instance"] not in before
    is_right = numbers(direct) == expected and found == direct and (is_later or kind == "started_anew")
    results.report(title, is_right, f"launched {kind}: {found}, directly {direct}")


def while_installing(served, title, version):
    """Launches one after another while the tool works: each is of one version, or fails as direct runs may; after the first of the
    new version, or the tool's end, none is of the old one."""
    served.ready()
    installer = served.installer
    process = subprocess.Popen(installer.install(version), env=installer.environment, cwd=installer.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen, is_over = [], False
    while not is_over:
        is_over = process.poll() is not None  # then this is the first launch after its end
        outcome, kind = served.launch()
        seen.append((numbers(outcome) if outcome[0] == 0 else "fails", kind))
    printed = [text for text, _ in seen]
    new, old = line(version), line(version - 1)
    # While files are exchanged one by one, a direct run can load some of each.
    after = printed[printed.index(new):] if new in printed else []
    is_right = process.returncode == 0 and printed[-1] == new and old not in after
    results.report(title, is_right, f"status {process.returncode}, {seen}")
    # Three launches in a row that started anew end the list for good, and a slow disk lets as many happen here.
    served.daemon.call("ForgetImports", {"app": APP})


def installer_cases(kind, folder):
    installer = kind(folder)
    for version in range(1, VERSIONS + 1):
        installer.prepare(version)
    installer.do(*installer.install(1))
    served = Served(installer)
    title = f"installer: {installer.tool}"
    try:
        served.daemon.call("Prewarm", {"app": APP})
        outcome, launch_kind = served.launch()
        results.report(f"{title}: the first launch", numbers(outcome) == line(1) and launch_kind == "prewarmed", f"{launch_kind} {outcome}")
        served.ready()
        outcome, launch_kind = served.launch()
        results.report(f"{title}: a launch whose instance has loaded the package", outcome == served.directly() and launch_kind == "prewarmed",
                       f"{launch_kind} {outcome}")
        changed(served, f"{title}: upgrades in mid-pause", installer.install(2), line(2))
        served.ready()
        outcome, launch_kind = served.launch()
        results.report(f"{title}: the new version is learned", numbers(outcome) == line(2) and launch_kind == "prewarmed",
                       f"{launch_kind} {outcome}")
        while_installing(served, f"{title}: launches while it works", 3)
        changed(served, f"{title}: upgrades again", installer.install(4), line(4))
        changed(served, f"{title}: removes in mid-pause", installer.remove(), line(VERSIONS - 1) if kind is Gem else "")
    except (greenroomd.Failed, control.Refused) as failure:
        results.report(title, False, str(failure))
    finally:
        served.daemon.stop()


def run():
    for kind in (Pip, Npm, Gem, DpkgPython, DpkgPerl):
        if not is_wanted(f"installer: {kind.tool}"):
            continue
        missing = [path for path in (kind.needs, kind.interpreter) if not os.path.exists(path)]
        if missing:
            results.skip(f"installer: {kind.tool}", f"there is no {missing[0]}")
            continue
        folder = os.path.realpath(tempfile.mkdtemp(prefix="greenroom-installer-"))
        installer_cases(kind, folder)
        shutil.rmtree(folder, ignore_errors=True)
