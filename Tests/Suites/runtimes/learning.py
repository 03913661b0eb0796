"""What the daemon does to learn a list of imports: records it at a launch, and has it inspected."""
import os
import subprocess

import instance
from instance import PRODUCT, RUNTIMES

INSPECT = [RUNTIMES + "/python/inspect_imports.py"]
LIBRARY = RUNTIMES + "/libgreenroom-inspect.so"


def record(language, words, environment, directory, path):
    """Launches an instance that has only booted, and leaves what it imported in `path`."""
    paused = language.pause(environment=dict(environment, GREENROOM_RECORD=path))
    try:
        instance.run_prewarmed(paused, [language.interpreter, *words], environment, directory)
        if paused.anew:
            raise instance.Refused(f"the launch that records started anew: {paused.anew}")
    finally:
        paused.end()
    return lines(path) if os.path.exists(path) else None


def lines(path):
    with open(path) as file:
        return file.read().split("\n")[:-1]


def inspect(interpreter, path, environment):
    """The findings: a list of [what, name, ...]."""
    run = subprocess.run([interpreter, "-S", *INSPECT, path, LIBRARY], env=environment, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL)
    if run.returncode:
        raise instance.Refused(f"the inspection failed: {run.stderr}")
    return [line.split("\t") for line in run.stdout.splitlines()]


def imports(findings):
    return [finding[1] for finding in findings if finding[0] == "import"]
