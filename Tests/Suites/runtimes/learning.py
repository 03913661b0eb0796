"""What the daemon does to learn a list of imports: records it at a launch, and has it inspected."""
import collections
import os
import socket
import subprocess

import instance
from instance import PRODUCT, RUNTIMES

INSPECT = [RUNTIMES + "/python/inspect_imports.py"]
LIBRARY = RUNTIMES + "/libgreenroom-inspect.so"
TRACE = RUNTIMES + "/libgreenroom-trace.so"


def record(language, words, environment, directory, path):
    """Launches an instance that has only booted, and writes to `path` which imports it reports. Returns the names;
    None if it reports nothing."""
    address = path + ".socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        paused = language.pause(environment=dict(environment, GREENROOM_RECORD=address))
        try:
            instance.run_prewarmed(paused, [language.interpreter, *words], environment, directory)
            if paused.anew:
                raise instance.Refused(f"the launch that records started anew: {paused.anew}")
        finally:
            paused.end()
            os.remove(address)
        listener.setblocking(False)
        try:
            text = listener.recv(65536)
        except BlockingIOError:
            return None
    with open(path, "wb") as file:
        file.write(text)
    return [name for name in lines(path) if name]


def lines(path):
    with open(path) as file:
        return file.read().split("\n")[:-1]


def inspect(interpreter, path, environment, program=None, options=()):
    """Returns the findings: a list of [what, name, ...]. `program`: what the manifest names, if it names a script."""
    words = [interpreter, *options, "-S", *INSPECT, "-", LIBRARY, *([program] if program else [])]
    with open(path) as file:
        run = subprocess.run(words, env=environment, capture_output=True, text=True,
                             stdin=file, cwd=os.path.dirname(path))
    if run.returncode:
        raise instance.Refused(f"the inspection failed: {run.stderr}")
    return [line.split("\t") for line in run.stdout.splitlines()]


def imports(findings):
    return [finding[1] for finding in findings if finding[0] == "import"]


# What each module does first; which module asks for which; the stamps of modules, in the order in which they begin; the
# variables that are read; the stamps of other files; which module reads which file; and which version of a profile's gem
# was found ("vouched" or "unknown", with name and version); what the program requires first (words and files), and which
# modules load builtin ones that only such requires may load.
Trace = collections.namedtuple("Trace", "does needs stamps reads data readers versions first takes", defaults=((), (), (), ()))


def trace(words, path, environment):
    """Returns what the trace of an inspection says, as `ImportTrace` reads it."""
    with open(path) as file:
        run = subprocess.run(words, env=dict(environment, LD_PRELOAD=TRACE), stdout=subprocess.PIPE, text=True, stdin=file)
    lines = [line.split("\t") for line in run.stdout.splitlines()]
    if run.returncode or lines[-1] != ["done"]:
        raise instance.Refused(f"the inspection failed: {run.returncode}, {lines[-1:]}")
    found, stack, spared, places = Trace({}, set(), {}, set(), {}, set(), [], [], set()), [], {}, []
    for word, *fields in lines:
        if word in ("begin", "needs") and stack:
            found.needs.add((stack[-1], fields[0]))
        if word == "begin":
            stack.append(fields[0])
            found.stamps.setdefault(fields[0], "")
        elif word in ("end", "fails"):
            stack.pop()
            found.stamps[fields[0]] = fields[1]
            if word == "fails":
                found.does.setdefault(fields[0], "fails")
        elif word == "spares":
            spared.setdefault(stack[-1], set()).add(fields[0])
        elif word == "does" and fields[0] not in spared.get(stack[-1], ()):
            found.does.setdefault(stack[-1], fields[0])
        elif word == "opens" and "opens" not in spared.get(stack[-1], ()) and not (fields[0] + "/").startswith(tuple(places)):
            found.does.setdefault(stack[-1], "opens")
        elif word == "data":
            found.data[fields[0]] = fields[1]
            found.readers.add((stack[-1] if stack else "", fields[0]))
        elif word in ("vouched", "unknown"):
            found.versions.append([word, *fields])
        elif word == "first" and len(fields) == 2:
            found.first.append(fields)
        elif word == "takes" and stack:
            found.takes.add(stack[-1])
        elif word == "place":
            places.append(fields[0] + "/")
        elif word == "reads":
            found.reads.add(fields[0])
            if fields[0] == "*":
                found.does.setdefault(stack[-1], "variables")
    return found


def lines_for_hook(found):
    """Returns the list of a trace in which nothing is refused."""
    lines = [f"{name}\t{stamp}" for name, stamp in found.stamps.items()]
    return lines + [f"={path}\t{stamp}" for path, stamp in found.data.items() if not path.endswith((".pm", ".rb"))]
