"""What others offer for programs that take time to import: each measured in the same rounds as the programs of `runtimes.py`
that it stands beside, from the request to the first byte of the output and to its end.

gunicorn and multiprocessing are Debian's. Of drip and Spring, Debian has none, so `runtime-peers` does what they do.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "runtime-peers"
PATIENCE_SECONDS = 30


class Missing(Exception):
    """The peer is not there, with the reason."""


def await_byte(descriptor, expected):
    """What a peer says of itself."""
    found = os.read(descriptor, 1)
    if found != expected:
        raise SystemExit(f"bench: a peer said {found!r}, not {expected!r}")


class Forkserver:
    """A process forked by the server of Python's multiprocessing, which has imported the script's modules. It has the
    environment, the directory, the hash seed and the random numbers of the server."""

    name = "multiprocessing's forkserver"

    def __init__(self, words, folder, modules):
        interpreter, script = words
        self.process = subprocess.Popen([interpreter, PROGRAMS / "forkserver.py", script, *modules], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def measure(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [int(word) / 1e6 for word in self.process.stdout.readline().split()]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_SECONDS)


class Gunicorn:
    """One more worker of a gunicorn that has preloaded its application: from the request (SIGTTIN) until it is about to
    serve. A worker has nothing of a launch's own."""

    name = "gunicorn --preload"

    def __init__(self, words, folder, modules):
        program = shutil.which("gunicorn", path="/usr/bin:/bin")
        if not program:
            raise Missing("there is no gunicorn")
        Path(folder, "application.py").write_text("".join(f"import {module}\n" for module in modules)
                                                  + "def app(environment, start):\n    return []\n")
        self.told, tells = os.pipe()
        self.process = subprocess.Popen(
            [program, "--config", PROGRAMS / "gunicorn_conf.py", "--worker-tmp-dir", folder, "application:app"], cwd=folder,
            env={**os.environ, "PEER_DESCRIPTOR": str(tells)}, pass_fds=[tells], stdin=subprocess.DEVNULL)
        os.close(tells)
        await_byte(self.told, b"x")

    def measure(self):
        began = time.monotonic_ns()
        self.process.send_signal(signal.SIGTTIN)
        await_byte(self.told, b"x")
        first = (time.monotonic_ns() - began) / 1e6
        self.process.send_signal(signal.SIGTTOU)
        await_byte(self.told, b"e")
        return [first, first]

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)
        os.close(self.told)


class Drip:
    """A JVM that was started beforehand, and is used once."""

    name = "drip's way"

    def __init__(self, words, folder, arguments):
        place = words.index(arguments[0])
        options, self.arguments = words[:place], words[place + 1:]
        subprocess.run(["javac", "-d", folder, PROGRAMS / "Drip.java"], check=True)
        options[options.index("-cp") + 1] += f":{folder}"
        self.words = [*options, "Drip", arguments[0]]
        self.prepare()

    def prepare(self):
        said, says = os.pipe()
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=says)
        os.close(says)
        await_byte(said, b"r")
        os.close(said)

    def measure(self):
        began = time.monotonic_ns()
        os.write(self.process.stdin.fileno(), "\0".join([*self.arguments, ""]).encode())
        values = times(began, self.process.stdout.fileno())
        self.stop()
        self.prepare()
        return values

    def stop(self):
        self.process.kill()
        self.process.communicate()


class Spring:
    """A server of Ruby that has loaded the script's libraries, and forks for each client. The processes have the server's
    load path, its limits and its user."""

    name = "Spring's way"

    def __init__(self, words, folder, libraries):
        interpreter, self.script = words
        self.address = str(Path(folder, "spring"))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.address)
        listener.listen()
        said, says = os.pipe()
        self.process = subprocess.Popen(
            [interpreter, PROGRAMS / "spring.rb", str(listener.fileno()), *libraries], pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL, stderr=says)
        listener.close()
        os.close(says)
        await_byte(said, b"r")
        os.close(said)

    def measure(self):
        output, its_output = os.pipe()
        null = os.open("/dev/null", os.O_RDWR)
        with socket.socket(socket.AF_UNIX) as client:
            began = time.monotonic_ns()
            client.connect(self.address)
            for stream in (null, its_output, null):
                socket.send_fds(client, [b"\0"], [stream])
            client.sendall(json.dumps({"env": dict(os.environ), "args": [], "script": self.script}).encode() + b"\n")
            os.close(its_output)
            os.close(null)
            values = times(began, output)
        os.close(output)
        return values

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)


def times(began, output):
    """Milliseconds to the first byte and to the end."""
    os.read(output, 1)
    first = time.monotonic_ns()
    while os.read(output, 65536):
        pass
    return [(moment - began) / 1e6 for moment in (first, time.monotonic_ns())]


# The program of `runtimes.py` that a peer stands beside, the peer, and what it loads before.
PEERS = [
    ("Python, numpy", Forkserver, ["numpy"]),
    ("Python, pandas", Forkserver, ["pandas"]),
    ("Python, flask", Forkserver, ["flask"]),
    ("Python, flask", Gunicorn, ["flask"]),
    ("Java, picocli", Drip, ["Hello"]),
    ("Ruby, two gems", Spring, ["active_support/all", "nokogiri"]),
]


class Peer:
    """A contender and its samples, without the first: some load on demand what they then keep."""

    def __init__(self, program, made):
        self.program, self.made, self.samples = program, made, []
        made.measure()

    def measure(self):
        self.samples.append(self.made.measure())


def start(found, folder):
    """The peers of the programs that were found, which are a name and its words."""
    peers = []
    for program, kind, loaded in PEERS:
        if program not in found:
            print(f"# {kind.name}: not measured, there is no program {program!r}")
            continue
        place = Path(folder, f"peer{len(peers)}")
        place.mkdir()
        try:
            peers.append(Peer(program, kind(found[program], str(place), loaded)))
        except Missing as reason:
            print(f"# {kind.name}: not measured, {reason}")
    return peers
