"""Python: what a launch records, and what the inspection of a list finds."""
import os

import cases_python
import results
from comparing import ENVIRONMENT
from instance import CHANGED
from learning import imports, inspect, record

REGISTRY = """
import functools
checks, names, seen, number, counted = [], {"own": 1}, set(), 1000000, 0
class Box: pass
box = Box()
box.items = []
class Base:
    subclasses = []
    def __init_subclass__(one): Base.subclasses.append(one)
def add(check): checks.append(check); return check
def keeper():
    kept = []
    def keep(one): kept.append(one)
    return keep
def count():
    global counted
    counted += 1
keep = keeper()
@functools.singledispatch
def show(value): pass
"""
# Installed modules that do one thing each at import, with what the inspection says of it.
MODULES = {
    "g_plain": ("import collections", "import"),
    "g_arguments": ("import sys; name = sys.argv[0]", "arguments"),
    "g_words": ("import sys; count = len(sys.argv)", "arguments"),
    "g_directory": ("import os; here = os.getcwd()", "directory"),
    "g_absolute": ("import os; here = os.path.abspath('x')", "directory"),
    "g_moves": ("import os; os.chdir('/')", "directory"),
    "g_terminal": ("import os; colour = os.isatty(1)", "terminal"),
    "g_stream": ("import sys; colour = sys.stdout.isatty()", "terminal"),
    "g_variable": ("import os; x = os.environ.get('G_ONE')", "import"),
    "g_getenv": ("import os; x = os.getenv('G_TWO', '')", "import"),
    "g_bytes": ("import os; x = b'G_THREE' in os.environb", "import"),
    "g_all": ("import os; x = dict(os.environ)", "variables"),
    "g_sets": ("import os; os.environ['G_SET'] = '1'", "environment"),
    "g_sets_and_resets": ("import os; os.environ['G_RESET'] = '1'; del os.environ['G_RESET']", "import"),
    "g_puts": ("import os; os.environ.setdefault('G_PUT', '1')", "environment"),
    "g_locale": ("import locale; locale.setlocale(locale.LC_ALL, '')", "locale"),
    "g_signal": ("import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "signals"),
    "g_time": ("import time; start = time.time()", "time"),
    "g_opens": ("text = open('/etc/passwd').read()", "opens"),
    "g_data": ("import os; text = open(os.__file__).read()", "import"),
    "g_keeps": ("import os; file = open('/dev/null')", "descriptor"),
    "g_writes": ("import os; os.mkdir('/tmp/greenroom-never/x') if os.path.exists('/tmp/greenroom-never') else open('/tmp/greenroom-g', 'w')", "writes"),
    "g_runs": ("import subprocess; subprocess.run(['/bin/true'])", "runs"),
    "g_system": ("import os; os.system('true')", "runs"),
    "g_connects": ("import socket\ntry: socket.create_connection(('127.0.0.1', 1), 1)\nexcept OSError: pass", "network"),
    "g_asks": ("import socket\nwith socket.socket(socket.AF_INET) as s: s.bind(('127.0.0.1', 0))", "import"),
    "g_thread": ("import threading; threading.Thread(target=print, daemon=True).start()", "thread"),
    # None of the modules below is blamed for what this thread does meanwhile.
    "g_busy_thread": ("import threading\ndef work():\n  while True: open('/dev/null').close()\nthreading.Thread(target=work, daemon=True).start()", "thread"),
    "g_path": ("import sys; sys.path.append('/nowhere')", "state"),
    "g_hook": ("import sys; sys.excepthook = lambda *a: None", "state"),
    "g_builtin": ("import builtins; builtins._ = str", "state"),
    "g_fails": ("raise RuntimeError('no')", "fails"),
    "g_imports": ("import g_arguments", "arguments"),
    "g_imports_from": ("try:\n  from g_imports import x\nexcept ImportError: x = 1", "arguments"),
    "g_by_name": ("import importlib; importlib.import_module('g_terminal')", "terminal"),
    "g_launch": ("import os; here = os.environ.get('OLDPWD')", "variables"),
    "g_excluded": ("x = 1", "excluded"),
    "g_imports_excluded": ("import g_excluded", "excluded"),
    "g_prints": ("import os; print('import\\tg_arguments\\t-', flush=True); os.write(1, b'x')", "prints"),
    "g_prints_later": ("print('x', end='')", "prints"),
    "g_warns": ("import sys; sys.stderr.write('x')", "prints"),
    "g_writes_past": ("import os; os.write(2, b'x')", "prints"),
    "g_platform": ("import platform; x = platform.architecture()", "runs"),
    # The module that first calls `ask` starts a program. If the inspection refuses that module, the next
    # one starts it.
    "g_asks_once": ("import functools, subprocess\nask = functools.lru_cache()(lambda: subprocess.run(['/bin/true']))", "runs"),
    "g_asks_first": ("import g_asks_once; g_asks_once.ask()", "runs"),
    "g_asks_again": ("import g_asks_once; g_asks_once.ask()", "runs"),
    # One import executes several modules, of which only one changes something.
    "g_leads": ("import g_leaf, g_leaf_path", "state"),
    "g_leaf": ("x = 1", "import"),
    "g_leaf_path": ("import sys; sys.path.append('/elsewhere')", "state"),
    "g_undoes": ("import sys; sys.path.append('/x'); import g_leaf_too; sys.path.remove('/x')", "import"),
    "g_leaf_too": ("x = 1", "import"),
    "g_lazily": ("def f():\n  import g_arguments", "import"),
    "g_package": ("from . import inner", "directory"),
    "g_log": ("import logging", "import"),
    # The second module exists only after the first, which is refused.
    "g_makes": ("import sys, types; name = sys.argv[0]; sys.modules['g_made'] = types.ModuleType('g_made')", "arguments"),
    "g_made": ("raise ImportError", "fails"),
    # A module that keeps what others add, and modules that add to it. A launch may load the first alone.
    "g_adds_first": ("import g_registry; g_registry.checks.append(1)", "state"),
    "g_registry": (REGISTRY, "import"),
    "g_adds_by_call": ("import g_registry\n@g_registry.add\ndef check(): pass", "state"),
    "g_adds_key": ("import g_registry; g_registry.names['x'] = 1", "state"),
    "g_replaces_key": ("import g_registry; g_registry.names['own'] = 2", "state"),
    "g_adds_to_set": ("from g_registry import seen; seen.add(1)", "state"),
    "g_adds_to_instance": ("import g_registry; g_registry.box.items.append(1)", "state"),
    "g_adds_attribute": ("import g_registry; g_registry.box.more = 1", "state"),
    "g_adds_subclass": ("import g_registry\nclass Own(g_registry.Base): pass", "state"),
    "g_asks_subclasses": ("class Base: pass\ndef all(): return Base.__subclasses__()", "import"),
    "g_adds_to_asked": ("import g_asks_subclasses\nclass Own(g_asks_subclasses.Base): pass", "state"),
    "g_adds_to_closure": ("import g_registry; g_registry.keep(1)", "state"),
    "g_adds_kind": ("import g_registry; g_registry.show.register(int)(str)", "state"),
    "g_patches": ("import g_registry; g_registry.Base.hello = lambda self: 1", "state"),
    "g_binds": ("import g_registry; g_registry.add = print", "state"),
    "g_binds_anew": ("import g_registry; g_registry.more = 1", "state"),
    "g_counts": ("import g_registry; g_registry.count()", "state"),
    "g_patches_standard": ("import textwrap; textwrap.dedent = str", "state"),
    "g_filters": ("import warnings; warnings.simplefilter('ignore')", "state"),
    "g_imports_adding": ("import g_adds_key", "state"),
    "g_uses_registry": ("from g_registry import checks, Base\nclass Own: base = Base", "import"),
    "g_stores_again": ("import g_registry; g_registry.number = 1000 * 1000", "import"),
    "g_filters_own": ("import warnings; warnings.filterwarnings('ignore', 'g_filters_own')", "import"),
    "g_caches": ("import re, copyreg\nclass Own: pass\nre.compile('g_own'); copyreg.pickle(Own, str)", "import"),
    "g_logs": ("import logging; logging.getLogger('g_logs').addHandler(logging.NullHandler())", "import"),
    # Whoever imports the package gets what its own module adds, but not what another module adds later.
    "g_whole": ("checks = []\nfrom . import adds", "import"),
    "g_grows": ("checks = []", "import"),
}
PACKAGES = {"g_package", "g_whole", "g_grows"}


def findings_of(python, version):
    places = python.folder + "/site-packages"
    for name, (text, _) in MODULES.items():
        file = name + "/__init__.py" if name in PACKAGES else name + ".py"
        python.write("site-packages/" + file, text + "\n")
    python.write("site-packages/g_package/inner.py", "import os; here = os.getcwdb()\n")
    python.write("site-packages/g_package/other.py", "x = 1\n")
    python.write("site-packages/g_whole/adds.py", "from . import checks; checks.append(1)\n")
    python.write("site-packages/g_grows/adds.py", "from . import checks; checks.append(1)\n")
    names = [*MODULES, "g_package.inner", "g_package.other", "g_whole.adds", "g_grows.adds", "readline", "logging", "multiprocessing.process"]
    path = python.write("names", "\n".join([*names, "!g_excluded"]) + "\n")
    environment = dict(ENVIRONMENT, PYTHONPATH=places)
    findings = inspect(python.interpreter, path, environment)
    found = {finding[1]: finding[2] if finding[0] == "refused" else "import" for finding in findings if finding[0] != "reads"}
    expected = {name: reason for name, (_, reason) in MODULES.items()}
    expected.update({"g_whole.adds": "import", "g_grows.adds": "state", "g_package.inner": "directory", "g_package.other": "directory", "readline": "known",
                     "logging": "import", "multiprocessing.process": "import"})
    for name, reason in expected.items():
        results.report(f"{version}: inspection: {name}: {reason}", found.get(name) == reason, f"found {found.get(name)}")
    order = [name for name in names if expected[name] == "import"]
    results.report(f"{version}: inspection: the order is that of the list", imports(findings) == order, str(imports(findings)))
    read = {finding[1] for finding in findings if finding[0] == "reads"}
    results.report(f"{version}: inspection: the variables that are read are named", {"G_ONE", "G_TWO", "G_THREE"} <= read
                   and not {"G_SET", "G_PUT", "FOO", "TERM"} & read, str(read))
    causes = {finding[1]: finding[3] for finding in findings if finding[0] == "refused"}
    results.report(f"{version}: inspection: the cause is named", causes.get("g_imports_from") == "g_arguments", str(causes))


ASKING = """import platform, ctypes.util
import g_processor, g_library
print(g_processor.x, g_library.x, platform.processor(), ctypes.util.find_library("m"))
print(platform._Processor.from_subprocess.__code__.co_names, g_processor.ask is platform._Processor.from_subprocess)
"""


def answers(python, version):
    """Functions of the standard library that start programs: a prewarm gets what they have returned in the inspection."""
    if version.endswith("3.8"):
        return  # it has another function
    tools, ran = python.folder + "/tools", python.folder + "/ran"
    uname = f"#!/bin/sh\necho >>{ran}\necho mine\n"
    python.write("tools/uname", uname, 0o755)
    python.write("site-packages/g_processor.py", "import platform; x = platform.processor(); ask = platform._Processor.from_subprocess\n")
    python.write("site-packages/g_library.py", "import ctypes.util; x = ctypes.util.find_library('c')\n")
    script = python.write("asking.py", ASKING)
    environment = dict(ENVIRONMENT, PYTHONPATH=python.folder + "/site-packages", PATH=f"{tools}:/usr/bin:/bin")
    path = python.folder + "/recorded"
    record(python, [script], environment, python.folder, path)
    findings = inspect(python.interpreter, path, environment)
    lines = ["\t".join(finding[1:]) for finding in findings if finding[0] == "import"]
    names = {line.partition("\t")[0] for line in lines}
    results.report(f"{version}: inspection: what starts a known program is learned",
                   {"g_processor", "g_library", "=uname", "=/etc/ld.so.cache"} <= names
                   and any(name.startswith("?platform/_Processor.from_subprocess:") for name in names), str(findings))

    def runs():
        return os.path.getsize(ran)

    before = runs()
    python.pause(imports=lines, environment=environment).end()
    results.report(f"{version}: a prewarm starts no program", runs() == before)
    python.same("answers of programs", [script], environment=environment, imports=lines)
    python.same("answers of programs, with another PATH", [script], environment=dict(environment, PATH="/usr/bin:/bin"),
                prewarm=environment, imports=lines, anew=CHANGED)
    python.same("answers of a program that was replaced", [script], environment=environment, imports=lines, anew=CHANGED,
                change=lambda _: python.write("tools/uname", uname.replace("mine", "other"), 0o755))
    python.refused("answers of another program than was inspected", imports=lines, environment=environment)


def records(python, version):
    python.write("beside/own.py", "import decimal\n")
    python.write("beside/script.py", "import json, own, g_plain, sys; print(sys.argv, sorted(globals()))\n")
    python.write("hiding/g_plain.py", "x = 1\n")
    python.write("hiding/script.py", "import json, g_plain\n")
    python.write("site-packages/g_package/program.py", "import other, json; print(other.x)\n")
    python.write("elsewhere/g_extended/part.py", "x = 1\n")
    python.write("site-packages/g_extended/__init__.py", f"__path__.append({python.folder!r} + '/elsewhere/g_extended')\n")
    python.write("extends.py", "import g_extended.part, json\n")
    python.write("ends.py", "import json, os; os.fork() or os._exit(0); os.wait(); raise SystemExit(3)\n")
    python.write("forks.py", "import os, json, sys\nif os.fork() == 0: sys.exit(0)\nos.wait(); os._exit(0)\n")
    python.write("lazy.py", """if True:
        import importlib.util, json, sys
        spec = importlib.util.find_spec("g_time")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        sys.modules["g_time"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        g_plain = __import__("g_plain")
    """)
    environment = dict(ENVIRONMENT, PYTHONPATH=python.folder + "/site-packages")
    path = python.folder + "/recorded"
    names = record(python, ["beside/script.py", "x"], environment, python.folder, path)
    results.report(f"{version}: recording: installed modules, not those beside the program",
                   {"json", "decimal", "g_plain"} <= set(names) and not {"own", "__main__", "os"} & set(names), str(names))
    results.report(f"{version}: recording: in the order in which the imports began",
                   names.index("json") < names.index("json.decoder") < names.index("decimal") < names.index("g_plain"), str(names))
    names = record(python, ["hiding/script.py"], environment, python.folder, path)
    results.report(f"{version}: recording: nothing, where the program hides an installed module", names == [], str(names))
    names = record(python, ["site-packages/g_package/program.py"], environment, python.folder, path)
    results.report(f"{version}: recording: not those beside a program that is installed", "json" in names and "other" not in names,
                   str(names))
    names = record(python, ["extends.py"], environment, python.folder, path)
    results.report(f"{version}: recording: a package that adds to itself, without what it adds",
                   "g_extended" in names and "json" in names and "g_extended.part" not in names, str(names))
    names = record(python, ["lazy.py"], environment, python.folder, path)
    results.report(f"{version}: recording: not what would be imported when it is used", "json" in names and "g_plain" in names
                   and "g_time" not in names, str(names))
    names = record(python, ["ends.py"], environment, python.folder, path)
    results.report(f"{version}: recording: by a program that exits", "json" in names, str(names))
    names = record(python, ["forks.py"], environment, python.folder, path)
    results.report(f"{version}: recording: by no child", names is None, str(names))
    for name in ("g_prints", "g_prints_later", "g_warns", "g_writes_past"):
        python.write(f"{name}.program.py", f"import json, {name}; print('own')\n")
        record(python, [f"{name}.program.py"], environment, python.folder, path)
        kept = imports(inspect(python.interpreter, path, environment))
        python.same(f"{name}, as far as it was learned", [f"{name}.program.py"], environment=environment, imports=kept)
    # The list is of a launch that loads modules which register in another one. Another launch does not
    # load them.
    python.write("checks.py", "import sys, g_registry\nif sys.argv[1:]: import g_adds_by_call, g_adds_subclass\n"
                 "print(len(g_registry.checks), len(g_registry.Base.subclasses))\n")
    record(python, ["checks.py", "all"], environment, python.folder, path)
    kept = imports(inspect(python.interpreter, path, environment))
    results.report(f"{version}: recording: what others register in is learned", "g_registry" in kept, str(kept))
    for words in (["checks.py"], ["checks.py", "all"]):
        python.same(f"modules that register in others, {len(words) - 1}", words, environment=environment, imports=kept)
    # If warnings are errors, a launch imports nothing after a warning.
    python.write("site-packages/g_deprecated.py", "import warnings; warnings.warn('old', DeprecationWarning)\n")
    kept = imports(inspect(python.interpreter, python.write("names", "json\ng_deprecated\ng_plain\n"),
                           dict(environment, PYTHONWARNINGS="error")))
    results.report(f"{version}: inspection: nothing after a warning that is an error", kept == ["json"], str(kept))
    python.same("recording changes nothing", ["beside/script.py"], environment=environment,
                prewarm=dict(environment, GREENROOM_RECORD=path + ".nobody"))
    python.same("a list that was learned", ["beside/script.py"], environment=environment, imports=["json", "decimal", "g_plain"])


def run():
    for version, path in cases_python.interpreters().items():
        python = cases_python.language(path, "python{}.{}".format(*version))
        findings_of(python, python.name)
        answers(python, python.name)
        records(python, python.name)
        python.end()
