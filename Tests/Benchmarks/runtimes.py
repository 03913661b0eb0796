#!/usr/bin/env python3
"""Interpreters that wait after their boot, beside the same command executed directly.

Each program prints a line and ends. The time is that from the request (directly: from the spawn) to the
first byte, by a client with a connection. Both kinds take turns; a line per program has the medians. A
program is skipped, with the reason, where its interpreter is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from bench import Daemon, describe, launch_request, percentile, prewarm_request

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


def words_of(name, words, text, folder):
    """The words of the program, which is written into a folder of its own; or why there is none."""
    # Not a version manager's script, which executes the interpreter after a while.
    interpreter = shutil.which(words[0], path="/usr/bin:/bin")
    if not interpreter:
        return None, f"there is no {words[0]}"
    place = Path(folder) / name
    place.mkdir()
    file = place / ("Hello.java" if name == "Java" else "hello")
    file.write_text(text)
    if name == "Java":
        if not shutil.which("javac"):
            return None, "there is no javac"
        subprocess.run(["javac", "-d", place, file], check=True)
    return [interpreter, *(word.replace("FILE", str(file)).replace("FOLDER", str(place))
                           for word in words[1:])], None


def first_byte(output, began):
    if os.read(output, 1) != b"x":
        sys.exit("bench: the program did not print its line")
    return (time.monotonic_ns() - began) / 1e6


def directly(words):
    output, its_output = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    began = time.monotonic_ns()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, its_output, 1)])
    os.close(its_output)
    os.close(null)
    value = first_byte(output, began)
    os.close(output)
    os.waitpid(pid, 0)
    return value


def launched(daemon, app):
    """The time, and how the launch was served."""
    daemon.ask(prewarm_request(app))
    output, its_output = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    with daemon.connect(30) as connection:
        began = time.monotonic_ns()
        connection.send(launch_request(app), [null, its_output, null, here])
        for descriptor in (its_output, null, here):
            os.close(descriptor)
        value = first_byte(output, began)
        kind = connection.reply()["kind"]
    os.close(output)
    return value, kind


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--product", type=Path, required=True, help="folder of the release build")
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    product = arguments.product.resolve()
    describe(product, arguments)
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        daemon = Daemon(product, folder)
        found = {}
        for name, words, text, bar in PROGRAMS:
            program, reason = words_of(name, words, text, folder)
            if not program:
                print(f"# {name}: skipped, {reason}")
                continue
            found[name] = (program, bar)
            daemon.install(f"bench.{name.lower().replace('.', '')}",
                           f"[App]\nExec={' '.join(program)}\nInstances=multiple\n[Prewarm]\nWhen=demand\n")
        daemon.start()
        try:
            samples = {name: ([], []) for name in found}
            for _ in range(arguments.rounds):
                for name, (direct, prewarmed) in samples.items():
                    direct.append(directly(found[name][0]))
                    prewarmed.append(launched(daemon, f"bench.{name.lower().replace('.', '')}"))
        finally:
            daemon.stop()
    for name, (direct, prewarmed) in samples.items():
        bar = found[name][1]
        ours = percentile([value for value, _ in prewarmed], 50)
        theirs = percentile(direct, 50)
        served = sum(kind == "prewarmed" for _, kind in prewarmed)
        verdict = "" if bar is None else f"  (at most {bar}: {'met' if ours <= bar * theirs else 'MISSED'})"
        print(f"{name:<10} {ours:8.2f} ms | directly {theirs:8.2f} | {ours / theirs:5.2f}  "
              f"({served} of {len(prewarmed)} prewarmed){verdict}")


if __name__ == "__main__":
    main()
