"""Programs of Debian's base for measurements, chosen by a rule: whose package has the priority "required" or
"important", that are dynamically linked, that anybody may execute and that take no other user's rights, and that say
something with `--version` and end with status 0 within a second. Of more than the limit, every nth by the path."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Suites/corpus"))
import programs  # noqa: E402
from sandbox import NOBODY  # noqa: E402

PRIORITIES = ("required", "important")
FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")
ARGUMENT = "--version"
PATIENCE_SECONDS = 1


def is_candidate(path):
    status = os.lstat(path)
    return (stat.S_ISREG(status.st_mode) and not status.st_mode & (stat.S_ISUID | stat.S_ISGID)
            and programs.is_public(path) and not programs.reason_not_to_run(path)
            and programs.kind(path) == "elf" and programs.is_dynamic(path))


def answers(path, folder):
    """Whether the program says its version. It runs as nobody, because it might do something else."""
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    try:
        result = subprocess.run([path, ARGUMENT], stdin=subprocess.DEVNULL, capture_output=True, cwd=folder,
                                timeout=PATIENCE_SECONDS, **identity)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0 and bool(result.stdout)


def choose(limit):
    """Returns at most this many paths, and how many there were."""
    query = ["dpkg-query", "--show", "--showformat", "${Priority} ${binary:Package}\n"]
    listed = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    packages = [words[1] for words in map(str.split, listed.splitlines()) if words[0] in PRIORITIES]
    files = subprocess.run(["dpkg-query", "--listfiles", *packages], check=True, capture_output=True, text=True).stdout
    # A package may name a file in a folder that is a link.
    paths = {f"{os.path.realpath(os.path.dirname(path))}/{os.path.basename(path)}"
             for path in files.splitlines() if os.path.dirname(path) in FOLDERS}
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as folder:
        os.chmod(folder, 0o755)
        found = [path for path in sorted(paths) if os.path.lexists(path) and is_candidate(path) and answers(path, folder)]
    return [found[number * len(found) // limit] for number in range(limit)] if len(found) > limit else found, len(found)
