#!/usr/bin/env python3
"""Plays a daemon for two clients, greenroomctl and greenroom-run, called alike by several callers, and compares what
they send: recorded-daemon.py GREENROOMCTL GREENROOM-RUN. Prints how many messages were the same, or the first
difference."""
import array
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

APPS = [{"identifier": "org.example.tool", "eligible": True, "prewarmedCount": 0, "prewarmTarget": 0, "runningCount": 0,
         "state": "not_running", "program": "/usr/bin/true"}]
NAME = re.compile(rb'"launchIdentifier":"[0-9a-z]+-[0-9a-z]+"')


def answer(message):
    method = message["method"].rsplit(".", 1)[1]
    if method == "List":
        return {"apps": APPS}
    if method == "Launch":
        return {"instance": 4, "processId": None, "launchIdentifier": "x", "kind": "cold", "repeated": False,
                "elapsedUSec": 1}
    return {"instance": 4, "app": "org.example.tool",
            "exit": {"reason": "exited_self", "status": 7, "coreDumped": False, "timestampUSec": 1}}


class Daemon:
    """Answers one client, and keeps its messages and what their descriptors are."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.messages = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                self.converse(connection)

    def converse(self, connection):
        data = b""
        while True:
            part, control, _, _ = connection.recvmsg(1 << 20, 1 << 12)
            if not part:
                return
            for _, _, rights in control:
                numbers = array.array("i", rights[:len(rights) // 4 * 4])
                self.messages.append([os.readlink(f"/proc/self/fd/{number}") for number in numbers])
                for number in numbers:
                    os.close(number)
            data += part
            while b"\0" in data:
                message, data = data.split(b"\0", 1)
                # greenroomctl asks for all apps, to suggest one whose name is similar.
                if b".List" not in message:
                    self.messages.append(NAME.sub(b'"launchIdentifier":"?"', message))
                reply = {"parameters": answer(json.loads(message))}
                connection.send(json.dumps(reply).encode() + b"\0")


# The commands of a shell that executes the client, and then the words after the app's name.
CALLERS = [
    ("exec \"$@\" one 'two words' ''", []),
    ("exec \"$@\" $'f\\xe9' '\"quoted\\\\' $'line\\nend' \u00e4", []),
    ("export B=b NAME=$'caf\\xe9' C=c; exec \"$@\" x", []),
    ("cd /usr; umask 027; exec 5</dev/null 9>/dev/null; exec \"$@\"", []),
    ("ulimit -n 300; ulimit -c 0; exec nice -n 3 \"$@\"", []),
    ("trap '' PIPE USR1 HUP; exec env --block-signal=USR2,TERM setpriv --no-new-privs \"$@\"", []),
    ("exec taskset 1 ionice -c 3 setarch -R \"$@\"", []),
    ("exec \"$@\"", ["--env", "A=b", "--pipe", "--env", "C=\u00e9"]),
]


def record(client, folder, name, shell, options):
    path = f"{folder}/{name}"
    daemon = Daemon(path)
    words = client + [name, "--socket", path, *options, "--"] if options is not None else client
    result = subprocess.run(
        ["bash", "-c", shell, "caller", "env", "-u", "_", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "GREENROOM_SOCKET": path}, check=False)
    os.unlink(path)
    if result.returncode != 7:
        sys.exit(f"{client} ended with {result.returncode}")
    return daemon.messages


def main():
    run, small = [sys.argv[1], "run"], [sys.argv[2]]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        link = f"{folder}/links/tool"
        os.mkdir(f"{folder}/links")
        for shell, options in [*CALLERS, *((shell, None) for shell, _ in CALLERS)]:
            sent = []
            for client in (run, small):
                if options is None:
                    os.symlink(client[0], link)
                sent.append(record(client if options is not None else [link], folder, "tool", shell, options))
                if options is None:
                    os.unlink(link)
            if sent[0] != sent[1]:
                sys.exit(f"{shell} {options}: {sent[0]}\n{sent[1]}")
            count += len(sent[0])
    print(f"the same: {count} messages")


main()
