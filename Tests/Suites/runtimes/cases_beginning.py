"""Python: lists with what the program imports first, in its order. Such modules may change others."""
import os
import subprocess
import zipfile

import cases_python
import results
from comparing import ENVIRONMENT
from instance import HIDDEN
from learning import inspect, record

# Installed modules, with what the inspection says of each when a program imports h_registry and then this one.
MODULES = {
    "h_registry": ("checks = []\nclass Base: pass", "import"),
    "h_patches": ("import h_registry; h_registry.checks.append('patched')", "first"),
    "h_binds": ("import h_registry; h_registry.Base.hello = lambda self: 1", "first"),
    "h_patches_standard": ("import textwrap, colorsys; colorsys.rgb_to_hsv = str", "first"),
    "h_within": ("import h_patches, h_plain", "first"),
    "h_builtin": ("import builtins; builtins.h_name = 'builtin'", "first"),
    "h_plain": ("import json", "import"),
    "h_rebinds": ("import h_registry; h_registry.checks = ['rebound']", "first"),
    # What Python itself uses before the program imports anything.
    "h_replaces_builtin": ("import builtins; plain = builtins.sorted; builtins.sorted = lambda *a, **n: plain(*a, **n)", "state"),
    "h_ignores": ("import warnings; warnings.simplefilter('ignore')", "state"),
    "h_shows": ("import linecache; linecache.getline = lambda *a: 'nothing'", "state"),
    "h_early": ("import os; os.h_name = 1", "state"),
    "h_hook": ("import sys; sys.excepthook = lambda *a: None", "state"),
    "h_path": ("import sys; sys.path.append('/nowhere')", "state"),
    "h_collector": ("import gc; gc.disable()", "state"),
    # What is not known before the pause.
    "h_arguments": ("import h_registry, sys; h_registry.checks.append(len(sys.argv))", "arguments"),
    "h_program": ("import sys; name = getattr(sys.modules['__main__'], '__file__', None)", "arguments"),
    "h_imports_program": ("import __main__; name = getattr(__main__, '__file__', None)", "arguments"),
    "h_sets_in_program": ("import sys; sys.modules['__main__'].h_name = 1", "arguments"),
    # `inspect` keeps what it has found.
    "h_looks_around": ("import inspect; here = inspect.getmodule(inspect.currentframe())", "first"),
    "h_moves": ("import os, h_registry; h_registry.checks.append(os.getcwd())", "directory"),
    "h_opens": ("import h_registry; h_registry.checks.append(open('/etc/passwd').read())", "opens"),
    "h_prints": ("import h_registry; h_registry.checks.append(print('x'))", "prints"),
}
HELPERS = {
    "h_package/__init__.py": "value = 1\n",
    # After it, Python could read a program of another encoding.
    "h_package/part.py": "import codecs, h_registry; h_registry.checks.append('part')\n"
                         "codecs.register(lambda name: codecs.lookup('utf-8') if name.replace('-', '_') == 'h_rot' else None)\n",
    # After it, the program's first statement would find another module.
    "h_forgets.py": "import sys; del sys.modules['h_registry']\n",
    "h_answers.py": "import h_registry\ndef __getattr__(name):\n    if name != 'some': raise AttributeError(name)\n"
                    "    h_registry.checks.append(name)\n    return name\n",
    "h_optional.py": "try: import h_missing as found\nexcept ImportError: found = None\n",
}
FIRST = '''#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""What it is.

import nothing
"""
from __future__ import annotations

import sys  # a comment
import h_registry, h_patches as patches
from h_package import (  # one in several lines
    part as other,
    value,
)
'''
MAIN = FIRST + '''import json
from h_plain import *

x = 1
import builtins, decimal
print(h_registry.checks, other, value, sys.argv, sorted(globals()), hasattr(builtins, "h_name"), __doc__)
'''
WORDS = ["__future__:annotations", "sys", "h_registry", "h_patches", "h_package:part"]
PRINT = "import sys, h_registry\nprint(h_registry.checks, 'h_patches' in sys.modules and len(sys.argv), __name__)\n"
# Programs that begin so, and go on in other ways.
SAME = {
    "other_lines": FIRST + PRINT,
    "one_line": "'''x'''; from __future__ import annotations; import sys, h_registry\nimport h_patches\n"
                "from h_package import part; from h_package import value; x = 1\n" + PRINT,
    "continued": "from __future__ import annotations\r\nimport \\\r\n sys, h_registry,\\\r\n h_patches\r\nfrom h_package \\\r\n import part\r\n" + PRINT,
    "wrong_later": FIRST + PRINT + "x = = 3\n",
    "wrong_place": FIRST + PRINT + "return 3\n",
    "fails_later": FIRST + PRINT + "1 / 0\n",
    "long": FIRST + PRINT + "# x\n" * 50000 + "print('end')\n",
    "other_bytes": b"# \xe4\n" + FIRST.encode() + PRINT.encode(),
    "latin": FIRST.replace("utf-8", "latin-1").encode() + b"print('\xe4')\n" + PRINT.encode(),
}
OTHER = {
    "less": "from __future__ import annotations\nimport sys, h_registry\n" + PRINT,
    "nothing": "",
    "other_order": FIRST.replace("h_registry, h_patches as patches", "h_patches, h_registry") + PRINT,
    "something_between": FIRST.replace("import sys ", "import decimal, sys ") + PRINT,
    "code_before": "x = 1\n" + FIRST + PRINT,
    "code_between": FIRST.replace("import sys ", "x = 1; import sys ") + PRINT,
    "tries": "from __future__ import annotations\nimport sys\ntry:\n  import h_registry, h_patches\nexcept ImportError: pass\n"
             "from h_package import part\n" + PRINT,
    "in_a_condition": "from __future__ import annotations\nimport sys\nif True: import h_registry, h_patches\nfrom h_package import part\n" + PRINT,
    "in_a_string": "from __future__ import annotations\nimport sys, h_registry\n'''\nimport h_patches\nfrom h_package import part\n'''\n" + PRINT,
    "all_names": FIRST.replace("import h_registry, h_patches as patches", "from h_registry import *; import h_registry, h_patches") + PRINT,
    "only_the_package": FIRST[:FIRST.index("from h_package")] + "import h_package\n" + PRINT,
    "wrong_first": FIRST.replace("    value,\n)", "    value,\n") + PRINT,
    "second_encoding": "# coding x coding: h-rot\n" + FIRST.replace("# -*- coding: utf-8 -*-\n", "") + PRINT,
    "unknown_encoding": FIRST.replace("utf-8", "h-rot") + PRINT,
    "mark": "\ufeff" + FIRST + PRINT,
    "null": FIRST.replace("import sys ", "import sys\0 ") + PRINT,
    "compiled.pyc": FIRST + PRINT,
}


def learn(python, program, environment, path, names=None, options=()):
    """Lines of the list that a launch of the program teaches; the findings."""
    record(python, [program], environment, python.folder, path)
    if names is not None:
        with open(path, "w") as file:
            file.write("".join(name + "\n" for name in names))
    findings = inspect(python.interpreter, path, environment, os.path.join(python.folder, program), options)
    return ["\t".join(finding[1:]) for finding in findings if finding[0] == "import"], findings


def words_of(learned):
    return [line[len("?begins:"):].split("\t")[0] for line in learned if line.startswith("?begins:")]


def prepare(python):
    for name, (text, _) in MODULES.items():
        python.write(f"site-packages/{name}.py", text + "\n")
    for name, text in HELPERS.items():
        python.write("site-packages/" + name, text)
    return dict(ENVIRONMENT, PYTHONPATH=python.folder + "/site-packages")


def inspections(python, environment):
    path = python.folder + "/recorded"
    for name, (_, expected) in MODULES.items():
        program = python.write(f"one_{name}.py", f"import h_registry, {name}\nimport string\nprint({name}.__name__, h_registry.checks)\n")
        learned, findings = learn(python, program, environment, path)
        found = {finding[1]: finding[2] if finding[0] == "refused" else "import" for finding in findings if finding[0] != "reads"}
        first = ["h_registry", name] if expected == "first" else []
        results.report(f"{python.name}: beginning: {name}: {expected}",
                       found.get(name) == ("import" if first else expected) and words_of(learned) == first and found["h_registry"] == "import",
                       f"{found} {words_of(learned)}")
        python.same(f"beginning with {name}", [program, "x"], environment=environment, imports=learned)


def cut(python, environment):
    """What comes before the pause ends before what cannot be imported there."""
    path = python.folder + "/recorded"
    python.write("own/h_own.py", "import h_registry; h_registry.checks.append('own')\n")
    for name, text, expected in (
            ("refused", "import h_registry, h_arguments, h_patches", []),
            ("after", "import h_registry, h_patches, h_arguments, h_binds", ["h_registry", "h_patches"]),
            ("own", "import h_registry, h_own, h_patches", []),
            ("missing", "import h_registry\nfrom h_registry import nothing\nimport h_patches", []),
            ("rebound", "from h_registry import checks\nimport h_patches, h_rebinds\nprint(checks)", ["h_registry:checks", "h_patches"]),
            ("replaced", "import h_patches, h_registry, h_forgets, h_binds", ["h_patches"]),
            ("asked", "from h_answers import some\nimport h_patches", []),
            ("later", "import h_registry\nx = 1\nimport h_patches", []),
            ("lazy", "import h_registry, h_patches\ndef f(): import h_binds\nf()", ["h_registry", "h_patches"]),
            ("not_pure", "import h_registry, h_plain\nfrom h_package import value\nimport h_patches, string", ["h_registry", "h_plain", "h_package:value", "h_patches"])):
        program = python.write(f"own/{name}.py", text + "\n" + PRINT + "print(hasattr(h_registry.Base, 'hello'))\n")
        learned, findings = learn(python, program, environment, path)
        refused = {finding[1] for finding in findings if finding[0] == "refused"}
        kept = {line.split("\t")[0] for line in learned}
        results.report(f"{python.name}: beginning: {name}: as far as it can be imported", words_of(learned) == expected
                       and ("h_patches" in kept) == bool(expected) and "h_binds" not in kept, f"{learned} {refused}")
        python.same(f"beginning, {name}", [program, "x"], environment=environment, imports=learned)
    program = python.write("own/plain.py", "import h_registry, h_patches\n" + PRINT)
    learned, _ = learn(python, program, environment, path, ["h_registry"])
    results.report(f"{python.name}: beginning: what was not recorded has a stamp", any(line.startswith("h_patches\t") and line[-1].isdigit() for line in learned), str(learned))
    learned, findings = learn(python, program, environment, path, ["h_registry", "h_patches", "!h_patches"])
    results.report(f"{python.name}: beginning: without what is excluded", not words_of(learned) and "h_registry" in str(learned)
                   and ["refused", "h_patches", "excluded", "h_patches"] in findings, str(findings))
    learned, _ = learn(python, program, environment, path, [])
    results.report(f"{python.name}: beginning: nothing, where nothing was recorded", learned == [], str(learned))


def launches(python, environment):
    path = python.folder + "/recorded"
    program = python.write("main.py", MAIN)
    learned, _ = learn(python, program, environment, path)
    results.report(f"{python.name}: beginning: its words, up to the last that is needed", words_of(learned) == WORDS, str(learned))
    results.report(f"{python.name}: beginning: other modules follow", {"h_plain", "decimal", "h_package.part"} <= {line.split("\t")[0] for line in learned}, str(learned))
    more = {"environment": environment, "imports": learned}
    python.same_on_both("a program that begins so", ["main.py", "x"], **more)
    for name, text in SAME.items():
        python.same(f"a program that begins so: {name}", [python.write(name, text), "x"], **more)
    for name, text in OTHER.items():
        python.same(f"a program that begins otherwise: {name}", [python.write(name, text), "x"], anew=HIDDEN, **more)
    python.same_on_terminal("a program that begins otherwise", ["less"], [], anew=HIDDEN, **more)
    # The first warning is of the interpreter, when it reads the program.
    escapes = python.write("escapes.py", FIRST.replace("What", "\\d") + PRINT + "x = '\\d'\nprint(1 is 1)\n")
    for option in ("-Wdefault", "-Werror"):
        learned_so, _ = learn(python, program, environment, path, options=[option])
        python.same(f"a program that warns when it is read, {option}", [escapes], options=[option], environment=environment, imports=learned_so)
    # Ways to name a program that have no beginning.
    begin = FIRST + PRINT
    python.write("folder/__main__.py", begin)
    python.write("site-packages/h_run.py", begin)
    with zipfile.ZipFile(python.folder + "/archive", "w") as archive:
        archive.writestr("__main__.py", begin)
    with open(python.folder + "/archive", "rb") as file:
        packed = file.read()
    python.write("begins_with_text", (FIRST + "x = 1\n").encode() + packed)
    for name, words in (("a command", ["-c", begin]), ("a module", ["-m", "h_run"]), ("standard input", ["-"]), ("no word", []),
                        ("a folder", ["folder"]), ("an archive", ["archive"]), ("an archive that begins with text", ["begins_with_text"]),
                        ("a pipe", ["/dev/stdin"]), ("a missing program", ["nosuch.py"])):
        python.same(f"a list with a beginning: {name}", words, given=begin.encode(), anew=HIDDEN, **more)
    python.write("beside/main.py", MAIN)
    python.write("beside/h_registry.py", "checks = ['mine']\n")
    python.same("a beginning with a module beside", ["beside/main.py"], anew=HIDDEN, **more)
    os.symlink("main.py", python.folder + "/link")
    python.same("a link to a program that begins so", ["link"], **more)
    python.same("other code before the beginning, after an edit", [python.write("edited.py", MAIN)], anew=HIDDEN,
                change=lambda _: python.write("edited.py", "import decimal\n" + MAIN), **more)
    return learned


def surroundings(python, environment, learned):
    path = python.folder + "/recorded"
    # A module that was looked for in vain.
    python.write("optional/plain.py", "import h_optional\nprint(h_optional.found)\n")
    python.write("optional_beside/plain.py", "import h_optional\nprint(h_optional.found)\n")
    python.write("optional_beside/h_missing.py", "x = 1\n")
    found, _ = learn(python, "optional/plain.py", environment, path)
    python.same("a module that is looked for in vain", ["optional/plain.py"], environment=environment, imports=found)
    python.same("a module beside that is looked for in vain elsewhere", ["optional_beside/plain.py"], environment=environment,
                imports=found, anew=HIDDEN)
    # It runs after the pause, and in a direct run before the program.
    version = subprocess.run([python.interpreter, "-c", "import site; print(site.USER_SITE.partition('.local/')[2])"],
                             capture_output=True, text=True).stdout.strip()
    at_home = dict(environment, HOME=python.folder + "/home")
    python.write(f"home/.local/{version}/usercustomize.py", "import builtins; builtins.h_customized = 1\n")
    python.refused("a beginning with a usercustomize", imports=learned, environment=at_home)
    found, _ = learn(python, "main.py", at_home, path)
    results.report(f"{python.name}: beginning: none with a usercustomize", words_of(found) == [], str(found))
    python.same("a usercustomize before the beginning", ["main.py"], imports=found, environment=at_home)
    python.refused("a beginning that cannot be imported", imports=["?begins:h_registry:nothing\t-"], environment=environment)
    # The inspection's own modules, and the hook's, are found by nobody.
    program = python.write("looks.py", "import h_registry, h_patches\nimport sys\nprint([n for n in sys.modules if 'begin' in n], 'beginning' in sys.path_importer_cache)\n")
    found, _ = learn(python, program, environment, path)
    python.same("what the hook leaves", [program], imports=found, environment=environment)


PACKAGES = {
    "pandas": "import pandas as pd\nimport inspect\nprint(pd.DataFrame({'a': [1, 2]}).describe(), inspect.isgenerator)\n"
              "from dateutil import tz\nprint(pd.Timestamp(0, tz='UTC').tz_convert(tz.tzlocal()), pd.to_datetime('1/2/70'))\n",
    "scipy": "import builtins\nimport numpy as np, scipy.linalg, scipy.optimize, scipy.stats\nfrom scipy import spatial\n"
             "print(scipy.stats.norm.cdf(1.5), spatial.distance.euclidean([0, 1], [1, 0]), [n for n in dir(builtins) if 'pybind' in n])\n",
    "numpy": "import numpy\nprint(numpy.arange(3).sum(), numpy.random.default_rng(1).random())\n",
}


def packages(python):
    for name, text in PACKAGES.items():
        if subprocess.run([python.interpreter, "-c", "import " + name], capture_output=True).returncode:
            results.skip(f"{python.name}: beginning with {name}", f"there is no {name}")
            continue
        program = python.write(f"with_{name}.py", "#!/usr/bin/env python3\n" + text + "import time\nprint(time.tzname)\n")
        path = python.folder + "/recorded"
        learned, findings = learn(python, program, ENVIRONMENT, path)
        refused = [finding for finding in findings if finding[0] == "refused"]
        results.report(f"{python.name}: {name} is imported before the pause", bool(learned) and not refused, str(refused))
        python.same_on_both(f"{name}, {len(learned)} imports, from a beginning of {len(words_of(learned))}", [program], imports=learned)
        python.same(f"{name}, with another time zone", [program], imports=learned, prewarm=ENVIRONMENT,
                    environment=dict(ENVIRONMENT, TZ="America/New_York"))
        if words_of(learned):
            other = python.write(f"without_{name}.py", "import inspect, builtins\nprint(inspect.isgenerator, [n for n in dir(builtins) if n[:2] == '__'])\n")
            python.same(f"the list of {name} for another program", [other], imports=learned, anew=HIDDEN)


def run():
    for version, path in cases_python.interpreters().items():
        python = cases_python.language(path, "python{}.{}".format(*version))
        environment = prepare(python)
        inspections(python, environment)
        cut(python, environment)
        surroundings(python, environment, launches(python, environment))
        packages(python)
        python.end()
