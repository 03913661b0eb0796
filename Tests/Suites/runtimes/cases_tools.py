"""Programs in Python that nobody has written for this test: recorded, inspected, prewarmed with what was learned.

They are looked for in PATH and in the bin folder of TOOLS=, a virtual environment.
"""
import os
import shutil

import cases_python
import instance
import learning
import results
from comparing import ENVIRONMENT

# For each tool: commands of the tool that prepare the runs, and the runs that are compared.
TOOLS = {
    "hg": ([["init", "repository"]], [["status", "-R", "repository"], ["version", "-q"], ["log", "-R", "nowhere"]]),
    "ansible": ([], [["--version"], ["localhost", "-m", "debug", "-a", "msg=hello"]]),
    "yt-dlp": ([], [["--version"], ["--help"], ["--simulate", "nothing://x"]]),
    "meson": ([], [["--version"], ["setup", "nowhere"], ["introspect", "--targets", "nowhere"]]),
    "django-admin": ([["startproject", "site1"]], [["--version"], ["help"], ["check", "--list-tags"], ["check", "--help"],
                     ["check", "--pythonpath", "site1", "--settings", "site1.settings"]]),
    "pip": ([], [["--version"], ["list"], ["show", "nothing-such"]]),
    "aws": ([], [["--version"], ["configure", "list"], ["s3", "nothing"]]),
    "black": ([], [["--version"], ["--check", "ugly.py"], ["--diff", "ugly.py"]]),
    "http": ([], [["--version"], ["--offline", "--ignore-stdin", "example.org", "a=b"]]),
    "flask": ([], [["--version"], ["routes"]]),
}
# Texts that differ in each run.
HIDES = [(rb"\b\d+ms\b", b"N ms"), (rb"20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?", b"TIME"), (rb"ansible-local-\w+", b"LOCAL")]


def find(name):
    places = os.environ.get("TOOLS", "") + "/bin:" + os.environ.get("PATH", "")
    path = shutil.which(name, path=places)
    if not path:
        return None, "it is not installed"
    with open(path, "rb") as file:
        line = file.readline()
    words = os.fsdecode(line[2:]).split()
    if not line.startswith(b"#!") or len(words) != 1 or "python" not in words[0]:
        return None, f"its first line is {line[:60]!r}"
    return (words[0], path), None


def tool(name, preparations, runs):
    found, reason = find(name)
    if not found:
        return results.skip(f"tool: {name}", reason)
    interpreter, path = found
    python = cases_python.language(interpreter, "tool: " + name)
    python.write("ugly.py", "x = {  'a':1 }\n")
    environment = dict(ENVIRONMENT, HOME=python.folder, PATH=os.path.dirname(path) + ":/usr/bin:/bin")
    for words in preparations:
        instance.run_directly([interpreter, path, *words], environment, python.folder)
    recorded, imports = python.folder + "/recorded", []
    for words in runs:
        title = f"tool: {name} {' '.join(words)}"
        try:
            learning.record(python, [path, *words], environment, python.folder, recorded)
            findings = learning.inspect(interpreter, recorded, environment, path)
        except (instance.Refused, OSError) as error:
            results.report(title, False, str(error))
            continue
        imports = learning.imports(findings)
        python.same(f"{' '.join(words)} ({len(imports)} of {len(learning.lines(recorded))} imports)", [path, *words],
                    imports=imports, environment=environment, hides=HIDES)
    # An app has one list, which also serves launches that load fewer modules.
    for words in runs[:-1]:
        python.same(f"{' '.join(words)}, with the list of {' '.join(runs[-1])}", [path, *words], imports=imports,
                    environment=environment, hides=HIDES)
    python.end()


def django_signals():
    """Django's database connects itself to signals that a program may have without it."""
    found, reason = find("django-admin")
    if not found:
        return results.skip("tool: signals of Django", reason)
    python = cases_python.language(found[0], "tool: signals of Django")
    python.write("signals.py", "import sys\nfrom django.core import signals\nif sys.argv[1:]: import django.db\n"
                 "print(len(signals.request_started.receivers))\n")
    recorded = python.folder + "/recorded"
    learning.record(python, ["signals.py", "all"], ENVIRONMENT, python.folder, recorded)
    imports = learning.imports(learning.inspect(found[0], recorded, ENVIRONMENT))
    for words in (["signals.py"], ["signals.py", "all"]):
        python.same(f"{' '.join(words)} ({len(imports)} of {len(learning.lines(recorded))} imports)", words, imports=imports)
    python.end()


def run():
    django_signals()
    for name, (preparations, runs) in TOOLS.items():
        tool(name, preparations, runs)
