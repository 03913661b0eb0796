#!/usr/bin/env python3
"""Interpreters that wait after their boot, beside the same command executed directly.

Each program prints a line and ends. The times are those from the request (directly: from the spawn) to the
first byte and to the end of the output, by a client with a connection. Both kinds take turns; a line per
program has the medians. A program is skipped, with the reason, where its interpreter is missing. Programs
of the second table are launched until the daemon has learned what they import. Beside some of them are measured,
in the same rounds, what others offer (runtime_peers.py).

Last, each program is tested for being slower with Greenroom. It counts as slower if it was slower in more rounds than
chance would explain but once in a thousand times.
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import bars
import runtime_peers
from bench import PATIENCE_SECONDS, Daemon, describe, percentile, prewarm_request, raise_priority
from control import request

# The name, the words (FILE is the script), the script, and how much of the direct time it may take.
PROGRAMS = [
    ("Python", ["python3", "FILE"], "print('x')\n", 0.08),
    ("Node.js", ["node", "FILE"], "console.log('x')\n", 0.2),
    ("Ruby", ["ruby", "FILE"], "puts 'x'\n", 0.03),
    ("Java", ["java", "-cp", "FOLDER", "Hello"],
     'class Hello { public static void main(String[] a) { System.out.println("x"); } }\n', 0.12),
    ("Emacs", ["emacs", "-Q", "-batch", "-l", "FILE"], '(princ "x\\n")\n', 0.05),
    ("Perl", ["perl", "FILE"], "print \"x\\n\";\n", None),
    ("R", ["Rscript", "FILE"], "cat('x\\n')\n", None),
]
PICOCLI = """
import java.util.*;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.*;

@Command(name = "hello", mixinStandardHelpOptions = true, version = "1", subcommands = Hello.Sub.class)
class Hello implements Callable<Integer> {
    @Option(names = {"-c", "--count"}, description = "how often") int count = 1;
    @Parameters(arity = "0..*") List<String> words = new ArrayList<>();
    @Command(name = "sub") static class Sub implements Runnable { public void run() { } }
    public Integer call() {
        for (int i = 0; i < count; i++) System.out.println(String.join(" ", words) + String.format(" %d", i));
        return 0;
    }
    public static void main(String[] a) { System.exit(new CommandLine(new Hello()).execute(a)); }
}
"""
PICOCLI_ARCHIVE = "/usr/share/java/picocli.jar"
# Half of the 0.85 that mvn, ant and tsc took at first.
HALF = 0.425
# The same for programs whose imports are learned. A program without a script is an installed tool.
LEARNED = [
    ("Python, stdlib", ["python3", "FILE"],
     "import asyncio, email.message, http.server, json, sqlite3\nprint('x')\n", 0.05),
    ("Python, numpy", ["python3", "FILE"], "import numpy\nprint('x')\n", 0.05),
    ("Python, scipy", ["python3", "FILE"],
     "import numpy, scipy.linalg, scipy.optimize, scipy.stats\nprint('x')\n", 0.02),
    ("Python, pandas", ["python3", "FILE"], "import pandas\nprint('x')\n", 0.02),
    ("Python, flask", ["python3", "FILE"], "import flask\nflask.Flask('x')\nprint('x')\n", 0.03),
    ("Perl, Moose", ["perl", "FILE"],
     "use Moose; has x => (is => 'ro'); print main->new(x => 'x')->x, \"\\n\";\n", 0.08),
    ("Ruby, two gems", ["ruby", "FILE"],
     "require 'active_support/all'\nrequire 'nokogiri'\nputs Nokogiri::XML('<a>x</a>').at('a').text\n", 0.02),
    ("Java, picocli", ["java", "-cp", "FOLDER:" + PICOCLI_ARCHIVE, "Hello", "--count", "3", "x"], PICOCLI, 0.45),
    ("R, ggplot2", ["Rscript", "FILE"], "library(ggplot2)\ncat('x\\n')\n", 0.05),
    ("Node, express", ["node", "FILE"],
     "const app = require('express')()\napp.get('/', (q, r) => r.send('x'))\nconsole.log('x')\n", 0.1),
    ("eslint", ["eslint", "--help"], None, None),
    ("tsc", ["tsc", "--version"], None, HALF),
    ("npm", ["npm", "--version"], None, None),
    ("django-admin", ["django-admin", "--version"], None, None),
    ("Django, check", ["django-admin", "check", "--pythonpath", "FOLDER", "--settings", "site1.settings"], None, 0.15),
    ("yt-dlp", ["yt-dlp", "--version"], None, 0.25),
    ("ansible", ["ansible", "--version"], None, 0.03),
    # The same program under another name, for which there is no profile.
    ("ansible, plain", ["FOLDER/ansible", "--version"], None, 0.65),
    ("aws", ["aws", "--version"], None, None),
    ("perltidy", ["perltidy", "--version"], None, None),
    ("asciidoctor", ["asciidoctor", "--version"], None, 0.15),
    ("pip", ["pip3", "--version"], None, None),
    ("meson", ["meson", "--version"], None, None),
    ("hg", ["hg", "--version"], None, None),
    # Scripts of the shell that execute Java, and the commands of Java that they execute.
    ("mvn", ["mvn", "--version"], None, None),
    ("mvn, its Java", ["mvn", "--version"], None, HALF),
    ("ant", ["ant", "-f", "FOLDER/build.xml", "-q"], None, None),
    ("ant, its Java", ["ant", "-f", "FOLDER/build.xml", "-q"], None, HALF),
]
PROFILES = Path(__file__).resolve().parents[2] / "config/profiles"
# Things that the programs need and that may be missing, each with a program that finds out.
NEEDED = {"numpy": "import numpy", "scipy": "import scipy", "pandas": "import pandas", "flask": "import flask",
          "Moose": "use Moose", "nokogiri": "require 'active_support/all'; require 'nokogiri'",
          "ggplot2": "library(ggplot2)", "express": "require('express')"}


class ProfiledDaemon(Daemon):
    """A daemon with the shipped profiles of tools."""

    def command(self):
        return [*super().command(), "--profiles", str(PROFILES)]


def words_of(name, words, text, folder):
    """Writes the program into its own folder. Returns its words, or the reason why there is none."""
    # A version manager's script would execute the interpreter after a while, so only these folders count.
    interpreter = shutil.which(Path(words[0]).name, path="/usr/bin:/bin")
    if not interpreter:
        return None, f"there is no {words[0]}"
    place = Path(folder) / identifier(name)
    place.mkdir()
    if text is None:
        if name.startswith("Django"):
            subprocess.run([interpreter, "startproject", "site1", place], check=True)
        elif words[0].startswith("FOLDER/"):
            (place / Path(interpreter).name).symlink_to(interpreter)
            interpreter = str(place / Path(interpreter).name)
        elif words[0] == "ant":
            (place / "build.xml").write_text('<project default="all"><target name="all"><echo>x</echo></target></project>\n')
        if name.endswith("its Java"):
            return java_of([interpreter, *(word.replace("FOLDER", str(place)) for word in words[1:])], place), None
        return [interpreter, *(word.replace("FOLDER", str(place)) for word in words[1:])], None
    file = place / ("Hello.java" if words[0] == "java" else "hello")
    file.write_text(text)
    for module, program in NEEDED.items():
        if module in text and subprocess.run([interpreter, "-e" if words[0] != "python3" else "-c", program],
                                             capture_output=True).returncode:
            return None, f"there is no {module}"
    if words[0] == "java":
        if not shutil.which("javac"):
            return None, "there is no javac"
        if PICOCLI_ARCHIVE in " ".join(words) and not os.path.exists(PICOCLI_ARCHIVE):
            return None, "there is no picocli"
        subprocess.run(["javac", "-cp", PICOCLI_ARCHIVE, "-d", place, file], check=True, stderr=subprocess.DEVNULL)
    return [interpreter, *(word.replace("FILE", str(file)).replace("FOLDER", str(place))
                           for word in words[1:])], None


def java_of(words, place):
    """The command that a script of the shell executes: Java's, which stands for another program meanwhile."""
    told, java = place / "told", shutil.which("java", path="/usr/bin:/bin")
    (place / "bin").mkdir()
    (place / "bin/java").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>{told}\n")
    (place / "bin/java").chmod(0o755)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/",
                   env={**os.environ, "JAVA_HOME": str(place), "JAVACMD": str(place / "bin/java")})
    return [java, *told.read_text().splitlines()]


def times(output):
    """Returns the times of the first byte and of the end (CLOCK_MONOTONIC, in nanoseconds)."""
    if not os.read(output, 1):
        sys.exit("bench: the program did not print its line")
    first = time.monotonic_ns()
    while os.read(output, 65536):
        pass
    return first, time.monotonic_ns()


def since(began, moments):
    """Converts times to milliseconds since then."""
    return [(moment - began) / 1e6 for moment in moments]


def directly(words, priority=0):
    output, its_output = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    # Only this process has the higher priority.
    ordinary = {"scheduler": (os.SCHED_FIFO, os.sched_param(priority))} if priority else {}
    began = time.monotonic_ns()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, its_output, 1)], **ordinary)
    os.close(its_output)
    os.close(null)
    values = since(began, times(output))
    os.close(output)
    os.waitpid(pid, 0)
    return values


def launched(daemon, app):
    """Launches the program. Returns the times, and how the launch was served."""
    daemon.ask(prewarm_request(app))
    began, moments, kind = daemon.launch(app, times)
    return since(began, moments), kind


def learned(daemon, app):
    """Launches the app until the daemon has learned its imports. Returns what `explain` says of them."""
    end = time.monotonic() + PATIENCE_SECONDS
    asked = 0.0
    while time.monotonic() < end:
        reasons = daemon.ask(request("Explain", {"app": app}))[0]["reasons"]
        for reason in reasons:
            if reason["code"] in ("imports_learned", "imports_abandoned"):
                return reason["text"]
        if not any(reason["code"].startswith("imports_") for reason in reasons):
            return f"nothing is learned of it: {json.dumps(reasons)}"
        if time.monotonic() > asked + 2:
            launched(daemon, app)
            asked = time.monotonic()
        time.sleep(0.05)
    return f"nothing was learned: {json.dumps(reasons)}"


def wins_by_chance(rounds):
    """In how many rounds one of two equals is slower, at least, with a probability of a thousandth at most."""
    ways = 0
    for count in range(rounds, -1, -1):
        ways += math.comb(rounds, count)
        if ways / 2 ** rounds > 0.001:
            return count + 1


def quoted(word):
    """A word of Exec=."""
    return word if word and not set(word) & set(" \t\"'\\%$") else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def compare(name, direct, prewarmed, bar):
    """Prints a program's line. Returns whether it is slower with Greenroom, by more than noise."""
    ours, our_end = (percentile([values[i] for values, _ in prewarmed], 50) for i in (0, 1))
    theirs, their_end = (percentile([values[i] for values in direct], 50) for i in (0, 1))
    served = sum(kind == "prewarmed" for _, kind in prewarmed)
    verdict = "" if bar is None else bars.at_most(
        f"{name}: request to the first byte, p50, to a direct run", ours / theirs, bar, "×", digits=3)
    print(f"{name:<14} {ours:8.2f} ms | directly {theirs:8.2f} | {ours / theirs:5.2f} | to the end "
          f"{our_end:8.2f} | {their_end:8.2f} | {our_end / their_end:5.2f}  "
          f"({served} of {len(prewarmed)} prewarmed){verdict}")
    slower = [sum(values[i] > others[i] for (values, _), others in zip(prewarmed, direct)) for i in (0, 1)]
    if max(slower) < wins_by_chance(len(direct)):
        return False
    print(f"# {name}: slower than directly: to the first byte in {slower[0]} of {len(direct)} rounds, to the end in {slower[1]}")
    return True


def beside(peer, prewarmed):
    """Prints a peer's line."""
    ours, our_end = (percentile([values[i] for values, _ in prewarmed], 50) for i in (0, 1))
    theirs, their_end = (percentile([values[i] for values in peer.samples], 50) for i in (0, 1))
    print(f"{peer.program:<14} {ours:8.2f} ms | {peer.made.name} {theirs:8.2f} | {ours / theirs:5.2f} | to the end "
          f"{our_end:8.2f} | {their_end:8.2f} | {our_end / their_end:5.2f}")


def identifier(name):
    return "bench." + "".join(letter for letter in name.lower() if letter.isalnum())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="", metavar="PATTERN", help="only the programs whose names it matches")
    arguments = parser.parse_args()
    product = arguments.product.resolve()
    describe(product, arguments)
    os.chdir("/")  # where the launches are, too
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = ProfiledDaemon(product, folder)
        found, peers = {}, []
        wanted = [one for one in PROGRAMS + LEARNED if re.search(arguments.only, one[0])]
        for name, words, text, bar in wanted:
            program, reason = words_of(name, words, text, folder)
            if not program:
                print(f"# {name}: skipped, {reason}")
                if bar is not None:
                    bars.skip(f"{name}: request to the first byte, p50", reason)
                continue
            found[name] = (program, bar)
            imports = "" if any(name == one[0] for one in LEARNED) else "none"
            daemon.install(identifier(name), f"[App]\nExec={' '.join(map(quoted, program))}\nInstances=multiple\n"
                                             f"[Prewarm]\nWhen=demand\nImports={imports}\n")
        daemon.start()
        try:
            for name, *_ in LEARNED:
                if name in found:
                    print(f"# {name}: {learned(daemon, identifier(name))}")
            peers = runtime_peers.start({name: program for name, (program, _) in found.items()}, folder)
            samples = {name: ([], []) for name in found}
            priority = raise_priority()
            for _ in range(arguments.rounds):
                for name, (direct, prewarmed) in samples.items():
                    direct.append(directly(found[name][0], priority))
                    prewarmed.append(launched(daemon, identifier(name)))
                    for peer in peers:
                        if peer.program == name:
                            peer.measure()
        finally:
            for peer in peers:
                peer.made.stop()
            daemon.stop()
    slower = [name for name, (direct, prewarmed) in samples.items() if compare(name, direct, prewarmed, found[name][1])]
    for peer in peers:
        beside(peer, samples[peer.program][1])
    print(f"# {len(wanted) - len(found)} of {len(wanted)} programs are skipped")
    bars.at_most(f"programs that are slower than without Greenroom, of {len(found)}: {', '.join(slower) or 'none'}",
                 len(slower), 0, "programs", digits=0)
    bars.report()


if __name__ == "__main__":
    main()
