"""Python: unmodified scripts, modules, commands, folders, archives, options; and every reason to start anew."""
import glob
import os
import subprocess
import time
import zipfile

import results
from comparing import ENVIRONMENT, Language
from instance import CHANGED, FAILED, HIDDEN, OPTIONS, PROGRAM, RUNTIMES, SIGNALS
from instance import ENVIRONMENT as VARIABLE

IMPORTS = ("json argparse subprocess logging random tempfile datetime typing collections asyncio urllib.request "
           "concurrent.futures dataclasses decimal multiprocessing").split()

# Each script prints everything that a program can observe about one subject.
SCRIPTS = {
    "arguments": """
        import sys
        print(sys.argv, getattr(sys, 'orig_argv', None), __name__, __file__, __doc__, __package__, __spec__)
        print(type(__loader__), __builtins__, globals().keys())""",
    "search path": """
        import sys
        print(sys.path, sys.path_hooks, sys.meta_path, sys.executable, sys.prefix, sys.base_prefix, sys.flags)
        print(sys.implementation.cache_tag, [path for path in sys.path if 'greenroom' in path])""",
    "environment": """
        import os
        print(os.environ, list(os.environ), os.environb[b'FOO'])
        os.putenv('Q', '1'); os.environ['NEW'] = 'x'; del os.environ['Z']
        os.system('env | sort | grep -v ^_=')""",
    "process files": "print(open('/proc/self/environ', 'rb').read(), open('/proc/self/cmdline', 'rb').read(), open('/proc/self/comm').read())",
    "working directory": "import os; print(os.getcwd(), os.path.abspath('x'), os.environ.get('PWD'), oct(os.umask(0)))",
    "streams": """
        import sys
        for f in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__):
            print(f, f.encoding, f.errors, f.line_buffering, f.write_through, f.newlines, f.isatty(), f.fileno())
            print(type(f.buffer), f.buffer.raw, f.buffer.raw.closefd, f.mode, f.name, f.buffer.raw._blksize)
        print(sys.stdin.read()); sys.stderr.write('e\\n'); sys.stdout.buffer.write(b'raw')""",
    "kept streams": """
        import logging, sys
        print(sys.stdout is sys.__stdout__, logging.lastResort.stream is sys.stderr)
        logging.error('to stderr')""",
    "encodings": """
        import sys, locale
        print(sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
        print(locale.getpreferredencoding(), locale.getlocale(), locale.setlocale(locale.LC_ALL, ''), 'äöü€')""",
    "exit status": "import sys; sys.exit(3)",
    "exit message": "raise SystemExit('no way')",
    "exception": "def f(): 1/0\nf()",
    "chained exceptions": "try:\n  {}['a']\nexcept KeyError as e:\n  raise RuntimeError('b') from e",
    "syntax error": "x = = 3",
    "stack": """
        import traceback, inspect, sys
        traceback.print_stack(); print(len(inspect.stack()))
        print(sys._getframe().f_code.co_filename, sys._getframe().f_back)""",
    "interrupt": "import os, signal, time\nprint('x', flush=True); os.kill(os.getpid(), signal.SIGINT); time.sleep(1)",
    "termination": "import os, signal\nprint('unflushed'); os.kill(os.getpid(), signal.SIGTERM)",
    "broken pipe": "import os, sys\nr, w = os.pipe(); os.close(r)\nos.write(w, b'x')",
    "signals": """
        import signal
        print([(s, signal.getsignal(s)) for s in sorted(signal.valid_signals()) if signal.getsignal(s) != signal.SIG_DFL])
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []))""",
    "functions at the end": "import atexit; atexit.register(print, 'bye'); print('hi')",
    "exit at the end": "import atexit, os; atexit.register(lambda: os._exit(5)); raise ValueError('x')",
    "threads": """
        import threading
        print(threading.enumerate(), threading.main_thread(), threading.current_thread())
        t = threading.Thread(target=lambda: print('in', threading.current_thread().name)); t.start()""",
    "processes": """
        import multiprocessing as m
        def f(x): return x * 2
        if __name__ == '__main__':
            for k in ('fork', 'spawn', 'forkserver'):
                with m.get_context(k).Pool(2) as p: print(k, p.map(f, [1, 2, 3]))""",
    "folder of processes": "import multiprocessing.process as p; print(p.ORIGINAL_DIR)",
    "time zone": "import time; print(time.tzname, time.timezone, time.localtime(0)[:6])",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd')))",
    "input": "print(input('name? ')); print(input())\nimport sys; print(sys.stdin.readline())",
    "seeded random": "import random; random.seed(1); print(random.random()); import hashlib; print(hashlib.md5(b'x').hexdigest())",
    "warnings": "import warnings; warnings.warn('careful'); print(warnings.filters)",
    "age of a log": """
        import logging
        start = logging._startTime
        print((start / 1e9 if isinstance(start, int) else start) >= float(open('launched').read()))""",
    "children": """
        import subprocess, sys
        print(subprocess.run([sys.executable, '-c', 'import sys, os; print(sys.argv, os.environ.get("FOO"), sys.path)', 'q'],
                             capture_output=True, text=True))""",
    "module beside": "import other, sys; print(other.X, other.__file__)",
    "collector": """
        import gc, sys
        print(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.get_freeze_count(), sys.getrecursionlimit())
        print(sys.getswitchinterval(), sys.gettrace(), sys.getprofile())""",
    "options seen": "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix, sys.warnoptions, sys._xoptions)",
    "limits": "import resource; print([resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith('RLIMIT_')])",
    "event loop": "import asyncio\nasync def m():\n  await asyncio.sleep(0.01); print('ran', asyncio.get_running_loop().is_running())\nasyncio.run(m())",
    "pickles": "import pickle\nclass A: pass\nprint(pickle.dumps(A()))",
    "main module": "import __main__, sys; print(__main__ is sys.modules['__main__'], __main__.__file__)",
    "site": """
        import sys, site
        print('sitecustomize' in sys.modules, getattr(sys.modules.get('sitecustomize'), '__file__', None))
        print(site.getsitepackages(), site.getusersitepackages(), site.ENABLE_USER_SITE, hasattr(sys, '__interactivehook__'))""",
    "audit": "import sys; seen=[]\nsys.addaudithook(lambda e, a: seen.append(e)); open('/dev/null').close(); print(seen)",
    "source": "import inspect\ndef f():\n  return 1\nprint(inspect.getsource(f))",
    "temporary files": "import tempfile, os; print(tempfile.gettempdir()); f = tempfile.NamedTemporaryFile(); print(os.path.dirname(f.name))",
    "web": "import urllib.request, http.client; print(http.client.HTTPConnection('localhost').host)",
    "command line": "import argparse\np = argparse.ArgumentParser(); p.add_argument('x', nargs='*'); print(p.parse_args(), p.prog); p.print_usage()",
    "modules": "import sys; print(sorted(sys.modules))",
    "order of modules": "import sys; print(list(sys.modules), sorted(sys.path_importer_cache))",
    "bytes out": "import sys; sys.stdout.buffer.write(bytes(range(256)))",
    "large output": "print('x' * 300000)",
}


def file_of(name):
    """Returns the name of the script's file, which hides no module."""
    return "s_" + name.replace(" ", "_") + ".py"


def dedent(text):
    lines = text.split("\n")
    return "\n".join(line[8:] if line.startswith(" " * 8) else line for line in lines).lstrip("\n") + "\n"


def language(interpreter, name="python"):
    def prepare(options, imports, environment):
        own = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{RUNTIMES}/python:{own}" if own else RUNTIMES + "/python"
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        return [interpreter, *options, RUNTIMES + "/python/placeholder"], environment
    return Language(name, interpreter, prepare)


def scripts(python):
    # Written first, because a file that changes during its import is not used.
    python.write("library/freshly.py", "x = 1\n")
    python.write("fresh.py", "import freshly; print(freshly.x)\n")
    installed = os.path.dirname(python.write("site-packages/ofuser.py", "x = 1\n"))
    os.getuid() or os.chown(installed, 65534, 65534)
    python.write("library/g_exits.py", "raise SystemExit(0)\n")
    python.write("library/g_changes.py", "import os; os.environ['FOO'] = 'other'\n")
    def note_the_time(paused):
        python.write("launched", str(time.time()))

    for name, text in SCRIPTS.items():
        file = file_of(name)
        python.write(file, dedent(text))
        words = [file, "a b", "", "ü"]
        python.same_on_both(name, words, imports=[] if "modules" in name else IMPORTS, change=note_the_time)
        if name in ("streams", "environment", "exception"):
            python.same(name + ", booted", words)


def programs(python):
    """Tests each way to name a program."""
    python.write("pkg/__init__.py", "")
    python.write("pkg/__main__.py", "import sys; print(__name__, __package__, __spec__, sys.argv, sys.path[0], __file__)\n")
    python.write("pkg/mod.py", "import sys\nprint(__name__, __package__, __spec__, sys.argv, sys.path[0], __file__); 1/0\n")
    with zipfile.ZipFile(python.folder + "/app.zip", "w") as archive:
        archive.writestr("__main__.py", "import sys; print(__name__, __file__, sys.argv, sys.path[0]); import inz; 1/0")
        archive.writestr("inz.py", "print(__file__)")
    python.write("sub/below.py", "import sys; print(sys.path[0], sys.argv)\n")
    os.symlink("../s_module_beside.py", python.folder + "/sub/link.py")
    python.write("exe", f"#!{python.interpreter}\nimport sys; print(sys.argv, __file__, sys.path[0])\n", 0o755)
    for name, words, more in (
            ("an absolute name", [python.folder + "/s_arguments.py"], {"directory": "/"}),
            ("a name with a dot", ["./s_arguments.py"], {}),
            ("a name with two dots", ["../below.py"], {"directory": "pkg"}),
            ("a name in another folder", ["sub/below.py", "x"], {}),
            ("a link", ["sub/link.py"], {}),
            ("a missing script", ["nosuch.py"], {}),
            ("a folder", ["pkg", "x"], {}),
            ("a folder that is no program", ["sub"], {}),
            ("an archive", ["app.zip", "x"], {}),
            ("a module", ["-m", "pkg.mod", "x"], {}),
            ("a package", ["-m", "pkg"], {}),
            ("a missing module", ["-m", "nosuchmod"], {}),
            ("a module of the library", ["-m", "base64", "-e"], {"given": b"abc"}),
            ("a command", ["-c", "import sys; print(sys.argv, sys.path[0] == '', __name__, globals().keys()); 1/0", "x", "-y"], {}),
            ("a command of lines", ["-c", "import sys\nif 1:\n  print(sys.argv)"], {}),
            ("a wrong command", ["-c", "x ="], {}),
            ("standard input", ["-", "x"], {"given": b"import sys; print(sys.argv, sys.path[0] == '', __name__)\n1/0\n"}),
            ("no word", [], {"given": b"import sys; print(sys.argv, sys.path[0] == '')\n"}),
            ("an executable script", ["./exe", "x"], {})):
        python.same(name, words, imports=IMPORTS, **more)
        if name in ("a folder", "a module", "a command", "an archive", "no word"):
            python.same(name + ", booted", words, **more)


def surroundings(python):
    """Other names of the interpreter, other bytes, closed streams."""
    # Written before anything is prewarmed, because a file that has just changed is not trusted. The list
    # has the answers of functions before the pause; here, they could only be answers for the prewarm.
    python.write("library/g_ask.py", "import os\ndef ask(name, other='-', *, third='!'): return os.environ[name] + other + third\n")
    python.write("library/g_asks.py", "from g_ask import ask\nvalue = ask('G_WORD'), ask('G_WORD', third='?'), ask('G_OTHER')\n")
    python.write("asks.py", "import g_ask, g_asks\nprint(g_asks.value, g_asks.ask is g_ask.ask, g_ask.ask('G_WORD'), vars(g_ask.ask),\n"
                 "      g_ask.ask.__code__.co_name, g_ask.ask.__defaults__, g_ask.ask.__kwdefaults__)\n")
    environment = python.folder + "/environment"
    subprocess.run([python.interpreter, "-m", "venv", "--without-pip", environment], check=True)
    inside = language(environment + "/bin/python3", python.name)
    inside.folder = python.folder
    inside.same("a virtual environment", ["s_search_path.py"], imports=IMPORTS)
    inside.same("a virtual environment's words", ["s_arguments.py"], directory="")
    by_name = language(os.path.basename(python.interpreter), python.name)
    by_name.folder = python.folder
    path = dict(ENVIRONMENT, PATH=os.path.dirname(python.interpreter) + ":/usr/bin:/bin")
    by_name.same("a name that PATH finds", ["s_search_path.py"], imports=IMPORTS, environment=path)
    by_name.same("another PATH", ["s_signals.py"], prewarm=path, environment=dict(path, PATH=path["PATH"] + ":/nowhere"),
                 anew=VARIABLE)
    own = python.write("sites/sitecustomize.py", "import os, sys; print('mine', sys.argv, os.environ['FOO'], __file__)\n")
    own = dict(ENVIRONMENT, PYTHONPATH=os.path.dirname(own))
    python.same("a sitecustomize of the user's", ["s_site.py", "x"], environment=own)
    python.refused("a sitecustomize of the user's, with imports", imports=IMPORTS, environment=own)
    python.refused("an import that fails", imports=["json", "nosuchmod"])
    python.refused("an import that exits", imports=["g_exits"], environment=dict(ENVIRONMENT, PYTHONPATH=python.folder + "/library"))
    python.refused("an import that changes a variable", imports=["g_changes"],
                   environment=dict(ENVIRONMENT, PYTHONPATH=python.folder + "/library"))
    asking = dict(ENVIRONMENT, PYTHONPATH=python.folder + "/library", G_OTHER="same")
    python.same("a function that answers", ["asks.py"], prewarm=dict(asking, G_WORD="old"), environment=dict(asking, G_WORD="new"),
                imports=["g_ask", "g_asks", "?g_ask/ask:(('G_WORD',),%20[],%20'new-!')\t-",
                         "?g_ask/ask:(('G_WORD',),%20[('third',%20'?')],%20'new-?')\t-"])
    python.refused("an assertion of a profile, with -O", options=["-O"], imports=["json", "<json\tassert False"])
    python.same("an assertion of a profile, with -O", ["s_arguments.py"], options=["-O"], imports=["json", ">json\tassert False"],
                anew=FAILED)
    python.refused("options that print", options=["-X", "importtime"])
    python.refused("a variable that prints", environment=dict(ENVIRONMENT, PYTHONPROFILEIMPORTTIME="1"))
    python.refused("traced memory", options=["-X", "tracemalloc"])
    python.refused("a relative entry in PYTHONPATH", environment=dict(ENVIRONMENT, PYTHONPATH="/nowhere:"))
    python.refused("isolation", options=["-I"])
    name = os.fsdecode(b"s_\xff.py")
    python.write(name, "import sys; print(ascii(sys.argv), ascii(__file__), ascii(sys.orig_argv) if hasattr(sys, 'orig_argv') else 0)\n")
    python.same("a name that is not text", [name, os.fsdecode(b"\xfe")], imports=IMPORTS)
    script = python.write("s_closed.py", "import os, sys; os.write(1 if sys.stdout else 2, ascii([sys.stdin, sys.stdout, sys.__stdin__]).encode())\n")
    for number, shell in ((0, "<&-"), (1, ">&-")):
        python.same(f"descriptor {number} closed", [script], change=lambda paused, number=number: paused.inherit(closed=[number]),
                    direct=["/bin/sh", "-c", 'exec "$@" ' + shell, "sh", python.interpreter, script],
                    launch=[python.interpreter, script])


def options(python):
    for words, script in ((["-u"], "streams"), (["-O"], "search path"), (["-Werror"], "warnings"),
                          (["-X", "utf8"], "encodings"), (["-B", "-s"], "options seen"), (["-q", "-E"], None),
                          (["-X", "dev"], "options seen")):
        if script:
            python.same(" ".join(words), [file_of(script)], options=words, imports=IMPORTS)
    python.same("-i", ["s_exit_status.py"], options=["-i"], given=b"print(1)\n")


def variables(python):
    def same(name, script, more, **other):
        python.same(name, [file_of(script)], environment=dict(ENVIRONMENT, **more), **other)

    plain = {name: value for name, value in ENVIRONMENT.items() if name != "LANG"}
    same("the C locale", "encodings", {"LC_ALL": "POSIX"}, imports=IMPORTS)
    python.same("no locale", ["s_encodings.py"], environment=plain)
    python.same("no locale's environment", ["s_environment.py"], environment=plain)
    same("PYTHON variables", "search path", {"PYTHONPATH": python.folder + "/sub", "PYTHONHASHSEED": "0",
                                             "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}, imports=IMPORTS)
    same("PYTHONUNBUFFERED", "streams", {"PYTHONUNBUFFERED": "1"}, imports=IMPORTS)
    same("a time zone", "time zone", {"TZ": "America/New_York"}, imports=IMPORTS, prewarm=ENVIRONMENT)
    other = dict(reversed(ENVIRONMENT.items()), GONE="1", A="other")
    same("another caller's environment", "environment", {}, prewarm=other)
    same("another caller's environment, with imports", "environment", {}, prewarm=other, imports=IMPORTS)
    same("a large environment", "environment", {"LARGE": "x" * 30000}, prewarm=ENVIRONMENT)
    same("an empty PYTHONPATH", "search path", {"PYTHONPATH": ""}, prewarm=ENVIRONMENT)


def terminal(python):
    """On a terminal, interactively too."""
    python.write("s_terminal.py", """import sys, os
for f in (sys.stdin, sys.stdout, sys.stderr): print(f.isatty(), f.line_buffering, f.buffer.raw._blksize)
print(os.get_terminal_size(), os.tcgetpgrp(0) == os.getpgrp(), os.getsid(0) == os.getpid())
print(input('? '))
import time
try:
    print('sleeping', flush=True)
    while True: time.sleep(0.1)
except KeyboardInterrupt:
    print('interrupted')
""")
    python.same_on_terminal("streams and an interrupt", ["s_terminal.py"], [(rb"\? ", b"hello\n"), (rb"sleeping\r\n", b"\x03")],
                            imports=IMPORTS)
    basic = dict(ENVIRONMENT, PYTHON_BASIC_REPL="1")
    for name, environment in (("interactive", ENVIRONMENT), ("interactive, basic", basic)):
        python.same_on_terminal(name, [], [(rb">>> ", b"1+1\n"), (rb"2\r\n.*>>> ", b"import sys; sys.argv, sys.ps1\n"),
                                           (rb"'\)\r\n.*>>> ", b"1/0\n"), (rb"ZeroDivisionError: .*\r\n.*>>> ", b"exit()\n")],
                                environment=environment)
    python.same_on_terminal("interactive after a script", ["s_arguments.py"], [(rb">>> ", b"__name__\n"), (rb"__'\r\n.*>>> ", b"exit()\n")],
                            options=["-i"], environment=basic)


def anew(python):
    """If a program could see a difference, the interpreter must start anew."""
    python.write("hidden/random.py", "print('mine')\n")
    python.write("hidden/script.py", "import random; print(random.__file__)\n")
    python.write("hiddenpackage/json/__init__.py", "")
    python.write("hiddenpackage/script.py", "import json; print(json.__file__)\n")
    python.write("plain/json/data", "")
    python.write("plain/script.py", "import json; print(json.__file__)\n")
    with zipfile.ZipFile(python.folder + "/hidden.zip", "w") as archive:
        archive.writestr("__main__.py", "import random")
        archive.writestr("random.py", "print('mine')")
    python.same("a module beside hides one", ["hidden/script.py"], imports=IMPORTS, anew=HIDDEN)
    python.same("a module beside, booted", ["hidden/script.py"])
    python.same("a package beside hides one", ["hiddenpackage/script.py"], imports=IMPORTS, anew=HIDDEN)
    python.same("a folder beside hides none", ["plain/script.py"], imports=IMPORTS)
    python.same("an archive hides one", ["hidden.zip"], imports=IMPORTS, anew=HIDDEN)
    python.same("the working directory hides one", ["-c", "import random"], directory="hidden", imports=IMPORTS, anew=HIDDEN)
    python.same("the working directory hides one from standard input", ["-"], given=b"import random\n", directory="hidden",
                imports=IMPORTS, anew=HIDDEN)
    python.same("a module that is imported is run", ["-m", "json.tool"], given=b"[1]", imports=["json.tool"], anew=HIDDEN)

    python.same("a package whose program is imported is run", ["-m", "pkg"], imports=["pkg.__main__"],
                environment=dict(ENVIRONMENT, PYTHONPATH=python.folder), anew=HIDDEN)

    script = python.write("s_signals.py", dedent(SCRIPTS["signals"]))
    python.same("other options", ["-B", script], anew=OPTIONS)
    python.same("fewer options", [], options=["-B"], direct=[python.interpreter, script], anew=OPTIONS)
    python.same("an option that ends Python", ["--version"], anew=OPTIONS)
    python.same("a command in one word", ["-cprint(1)"], anew=OPTIONS)
    python.same("an empty name", [""], anew=PROGRAM)
    python.same("a variable of Python", [script], prewarm=ENVIRONMENT,
                environment=dict(ENVIRONMENT, PYTHONWARNINGS="error"), anew=VARIABLE)
    python.same("another locale", [script], prewarm=ENVIRONMENT, environment=dict(ENVIRONMENT, LC_ALL="C"), anew=VARIABLE)
    python.same("another home", [script], prewarm=ENVIRONMENT, environment=dict(ENVIRONMENT, HOME="/nowhere"), anew=VARIABLE)

    python.same("a signal that the caller ignores", [script], direct=["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh", python.interpreter, script],
                launch=[python.interpreter, script], change=lambda paused: paused.inherit(ignored=[2]), anew=SIGNALS)
    python.same("a signal that Python ignores", [script], change=lambda paused: paused.inherit(ignored=[13]))

    module = python.folder + "/library/freshly.py"
    own = dict(ENVIRONMENT, PYTHONPATH=python.folder + "/library")

    def edit(paused):
        with open(module, "w") as file:
            file.write("x = 2222\n")

    python.same("a module that was edited", ["fresh.py"], environment=own, imports=["freshly"], change=edit, anew=CHANGED)
    installed = python.folder + "/site-packages/ofuser.py"

    def edit_installed(paused):
        with open(installed, "w") as file:
            file.write("x = 2222\n")

    python.same("an installed module that its user edited", ["-c", "import ofuser; print(ofuser.x)"], imports=["ofuser"],
                environment=dict(ENVIRONMENT, PYTHONPATH=os.path.dirname(installed)), change=edit_installed, anew=CHANGED)
    python.same("a module beside that appeared", ["fresh.py"], environment=own, imports=["json"], anew=CHANGED,
                change=lambda paused: python.write("library/json.py", "x = 1\n"))

    # The user's own packages appear. There were none before.
    version = "python{}.{}".format(*subprocess.run([python.interpreter, "-c", "import sys; print(*sys.version_info[:2])"],
                                                   capture_output=True, text=True).stdout.split())
    packages = f"home/.local/lib/{version}/site-packages"
    at_home = dict(ENVIRONMENT, HOME=python.folder + "/home", PYTHONDONTWRITEBYTECODE="1")
    words = ["-c", "import atHome; print(atHome.x)"]
    python.same("the first package of the user's", words, environment=at_home, anew=CHANGED,
                change=lambda paused: python.write(packages + "/atHome.py", "x = 1\n"))
    for name in ("one", "two"):
        python.write(f"{name}/atHome.py", f"x = '{name}'\n")
    os.remove(f"{python.folder}/{packages}/atHome.py")
    python.write(packages + "/more.pth", python.folder + "/one\n")
    python.same("a folder that a file names", words, environment=at_home)
    python.same("a folder that an edited file names", words, environment=at_home, anew=CHANGED,
                change=lambda paused: python.write(packages + "/more.pth", python.folder + "/two\n"))


def interpreters():
    """Returns the machine's interpreter, and one of each other version, by version: (3, 11), ..."""
    places = os.environ.get("PATH", "").split(":") + sorted(glob.glob("/root/.pyenv/versions/3.*/bin"))
    found = {}
    for path in ["/usr/bin/python3", *(f"{place}/python3.{minor}" for place in places for minor in range(8, 14))]:
        if not os.path.exists(path) or "/shims/" in path:
            continue
        version = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True,
                                 text=True).stdout
        found.setdefault(tuple(map(int, version.split())), path)
    found.pop((), None)
    wanted = os.environ.get("PYTHONS")
    return {version: path for version, path in found.items() if not wanted or "{}.{}".format(*version) in wanted.split()}


def run():
    found = interpreters()
    for minor in range(8, 14):
        if (3, minor) not in found:
            results.skip(f"python3.{minor}", "there is none")
    for version, path in found.items():
        python = language(path, "python{}.{}".format(*version))
        for part in (scripts, programs, surroundings, options, variables, terminal, anew):
            part(python)
        python.end()
