"""Finds out for Greenroom what imports do besides defining things. It runs in a separate process.

    INTERPRETER [OPTIONS] -S inspect_imports.py LIST [LIBRARY [PROGRAM]]

LIST has the name of a module on each line, as the hook records it; - is standard input. Other lines are

    !NAME                    the module must be refused
    @DISTRIBUTION VERSION…   the lines below are a profile, which is used only for these versions of the distribution
    +NAME REASON             the module is not refused for the reason
    ?NAME FUNCTION INPUT…    before a pause, the function of the module returns what it has returned here, as long as
                             these are the same: files (/PATH, ~/PATH), variables ($NAME), and programs that PATH finds
    <NAME STATEMENT          is executed in the module before the pause, and here after the imports
    >NAME                    a statement is executed in the module at the launch

LIBRARY is libgreenroom-inspect.so, which also sees what extension modules read. PROGRAM is the file that all launches run.
What its first imports load may change other modules, because a launch is started anew unless it begins with these imports.
The output has a line for each finding, with tabs:

    import   NAME  STAMP             may be imported before the pause; in the order of the list
    refused  NAME  REASON  MODULE    may not: MODULE (NAME or one that it imports) does or keeps what only a launch may
    import   =PATH  STAMP            this is an input, or a module that is vouched for reads or looks for this file
    import   ?NAME/FUNCTION:(ARGUMENTS, NAMED ARGUMENTS, VALUE)  -    a call of a function that the profile names, or of one
                     of the standard library that starts a program
    import   ?begins:WORD  -         the program must begin with this import (beginning.py), which comes after the imports of the
                     lines above, and before those of the lines below
    reads    VARIABLE                a module that may be imported, or the interpreter's start, reads this variable
    vouched  DISTRIBUTION  VERSION   the profile was used for this version
    unknown  DISTRIBUTION  VERSION   the profile was not used. VERSION is - if none was found, and * if an import would
                                     not find the modules in the folder of the version that was found

Reasons: arguments, directory, terminal, variables (all are read), environment (changed), locale, signals, time, opens,
writes, prints, runs, network, thread, descriptor, state (of the interpreter, or of another module that a launch may load
alone), fails, pause (a statement of the profile fails), archive (no file at the module's path), known, excluded.
Every module that imports a refused one is refused, too, because without it, it would import something else.
"""
import _thread
import builtins
import gc
import importlib
import io
import itertools
import os
import signal
import sys
import threading
import time
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import beginning  # noqa: E402
import module_state  # noqa: E402

# Neither this folder nor the names may be seen by what is imported.
sys.path_importer_cache.pop(sys.path.pop(0), None)
del sys.modules["module_state"], sys.modules["beginning"]

# The values that these modules keep are set again at the launch (sitecustomize.py).
MENDED = {"logging", "multiprocessing.process"}
# The effects of these modules cannot be seen from here: they take the terminal, or change other modules.
KNOWN = {"readline", "rlcompleter", "tty", "pty", "gevent.monkey", "eventlet", "dotenv.main", "antigravity",
         "this"}
# Files that describe the machine, not the user.
MACHINE = ("/usr/", "/lib", "/sys/devices/system/", "/proc/cpuinfo", "/proc/meminfo", "/dev/null", "/dev/urandom")
# Variables that differ from launch to launch: with their values in the key, no launch would find an instance.
PER_LAUNCH = {"PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "LINES", "WINDOWID", "DESKTOP_STARTUP_ID", "XDG_ACTIVATION_TOKEN",
              "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "GPG_TTY", "TMUX", "TMUX_PANE", "STY", "WINDOW",
              "INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS"}
# Without a refused module, others may fail that could be imported with it, and without those, still others. And if only
# the first caller of a function computes its value, each round refuses only one of the callers.
ROUND_LIMIT = 40

EVENTS = {"os.chdir": "directory", "os.fchdir": "directory", "os.umask": "state", "_thread.start_new_thread": "thread", "os.fork": "runs", "os.forkpty": "runs",
          "os.exec": "runs", "os.posix_spawn": "runs", "os.system": "runs", "os.kill": "runs", "pty.spawn": "runs",
          "os.remove": "writes", "os.mkdir": "writes", "os.rename": "writes", "os.link": "writes", "os.symlink": "writes",
          "os.rmdir": "writes", "os.chmod": "writes", "os.chown": "writes", "os.utime": "writes", "os.truncate": "writes",
          "tempfile.mkstemp": "writes", "tempfile.mkdtemp": "writes", "resource.setrlimit": "state",
          "sys.settrace": "state", "sys.setprofile": "state", "sys.addaudithook": "state", "sqlite3.connect": "opens"}
PREFIXES = (("socket.", "network"), ("urllib.", "network"), ("ftplib.", "network"), ("smtplib.", "network"),
            ("http.", "network"), ("imaplib.", "network"), ("poplib.", "network"), ("syslog.", "writes"),
            ("shutil.", "writes"), ("fcntl.", "state"))
# Globals that may differ after an import: a program finds the same in them, or asks only for what it has loaded itself.
HARMLESS_STATE = {
    # What imports themselves write, and what `state` compares.
    "sys": {"modules", "path_importer_cache", "path", "argv", "orig_argv", "meta_path", "path_hooks", "stdin", "stdout", "stderr",
            "__stdin__", "__stdout__", "__stderr__", "excepthook"},
    # Caches: what is missing is made when it is asked for.
    "re": {"_cache", "_cache2"},
    "linecache": {"cache"},
    "platform": {"_uname_cache", "_sys_version_cache", "_platform_cache"},
    "sysconfig": {"_CONFIG_VARS", "_CONFIG_VARS_INITIALIZED"},
    "pkgutil": {"iter_importer_modules"},
    "_ctypes": {"_pointer_type_cache"},
    "ctypes": {"_pointer_type_cache", "_c_functype_cache", "_win_functype_cache"},
    "encodings": {"_cache"},
    "tempfile": {"_name_sequence"},
    "uuid": {"_node"},
    "numpy": {"finfo", "iinfo"},
    "dateutil.tz": {"gettz"},
    "dateutil.tz.tz": {"gettz"},
    "cryptography.hazmat.bindings._openssl": {"lib"},
    "Cryptodome.Util._raw_api": {"cached_architecture"},
    "cython_runtime": {"cline_in_traceback"},
    "jinja2.lexer": {"_lexer_cache"},
    # Keyed by class or function: whoever uses one of these has loaded the module that registers it.
    "copyreg": {"dispatch_table"},
    "pickle": {"dispatch_table"},
    "typing": {"_overload_registry"},
    # Objects for which something is done at the end of the process, or in a child.
    "weakref": {"finalize"},
    "logging": {"_handlers", "_handlerList", "_at_fork_reinit_lock_weakset"},
    # Werkzeug adds a scheme here, which matters for addresses of this scheme alone.
    "urllib.parse": {"uses_netloc"},
}
HARMLESS = {"socket.__new__", "socket.gethostname"}
# Show the syntax errors and warnings of a program, which Python finds before the program imports anything.
SHOW_ERRORS = {"warnings", "traceback", "linecache", "tokenize", "codeop", "textwrap"}
# No line of a list is longer (`LearnedImports.Limit.name`).
LINE_LIMIT = 512


class Findings:
    def __init__(self):
        self.refused = {}  # module: the reason, for each module that is itself the cause
        self.changing = set()  # modules that change what only another beginning of the program could notice
        self.variables = {}  # name: the modules that read it
        self.importers = {}  # module: the modules that import it
        self.pending = {}  # reason: modules
        self.vouched = set()  # (module, reason)
        self.data = {}  # path of a file that a vouched module reads or looks for: its stamp; None: taken at the end
        self.answers = {}  # a function and its arguments: the line of this call, with its value
        self.modules = None  # ModuleState
        self.is_quiet = False

    def refuse(self, name, reason):
        if not self.is_vouched(name, reason):
            self.refused.setdefault(name, reason)

    def is_vouched(self, name, reason=None):
        """Whether the profile has the module, or PACKAGE.* for a package that it is in: for that reason, or any."""
        return any((name == one or one.endswith(".*") and name.startswith(one[:-1])) and reason in (None, other)
                   for one, other in self.vouched)

    def look(self, path):
        """Notes a file whose content, or absence, a vouched module may have seen."""
        if self.is_quiet or not isinstance(path, (str, bytes)):
            return
        path, names = os.fsdecode(path), self.modules_in_progress()
        if names and self.is_vouched(names[0]) and path.startswith("/") and not path.startswith(MACHINE):
            # For a warning about this file, Python reads the file to show the line.
            if path != __file__ and not path.startswith(tuple(set(installed_places))):
                if not path.isascii() or not path.isprintable() or " " in path:
                    self.refused.setdefault(names[0], "opens")  # no list can contain it
                self.data[path] = None

    def modules_in_progress(self):
        """The modules that are being imported, the innermost first."""
        frame, found = sys._getframe(2), []
        while frame:
            name = frame.f_globals.get("__name__") or ""
            if frame.f_code.co_name == "<module>" and not name.startswith("importlib") and name != "__main__":
                found.append(name)
            frame = frame.f_back
        return found

    def note(self, reason):
        if self.is_quiet:
            return
        self.is_quiet = True
        names = self.modules_in_progress()
        if names and names[0] not in MENDED:
            self.refuse(names[0], reason)
        for importer, name in zip(names[1:], names):
            self.importers.setdefault(name, set()).add(importer)
        self.is_quiet = False

    def blame_callers(self, reason):
        """Also refuses the installed modules whose functions the module in progress has called: they may do
        this only once, and then another module would be refused in the next round."""
        frame = sys._getframe(2)
        while frame and not (frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") in sys.modules):
            name, path = frame.f_globals.get("__name__") or "", frame.f_code.co_filename
            if name != "__main__" and "-packages/" in path:
                self.refuse(name, reason)
            frame = frame.f_back

    def note_if_it_lasts(self, reason):
        """Notes a change that may be undone before the end of the import."""
        names = self.modules_in_progress()
        if names and not self.is_quiet:
            self.pending.setdefault(reason, set()).add(names[0])

    def settle(self, reason, has_changed):
        for name in self.pending.pop(reason, ()):
            if has_changed:
                self.refuse(name, reason)

    def read(self, variable):
        if variable in PER_LAUNCH:
            self.note("variables")
        elif not self.is_quiet:
            self.variables.setdefault(variable, set()).update(self.modules_in_progress()[:1])

    def imports(self, importer, name):
        self.modules.needs_of_running(name)
        if importer != name:
            self.importers.setdefault(name, set()).add(importer)


findings = Findings()


def on_event(event, arguments):
    if findings.is_quiet:
        return
    if event == "open":
        on_open(*arguments)
    elif event == "subprocess.Popen":
        # Even if the process only finds something out: nothing may start a process before a pause.
        findings.note("runs")
        findings.blame_callers("runs")
    elif event == "socket.bind" and is_loopback(arguments[1]):
        pass  # asks whether the machine has IPv6
    elif event in EVENTS:
        # subprocess starts its programs by one of these calls, after the event above.
        if event not in ("os.posix_spawn", "os.fork") or not is_called_by("subprocess"):
            findings.note(EVENTS[event])
    elif event not in HARMLESS:
        for prefix, reason in PREFIXES:
            if event.startswith(prefix):
                findings.note(reason)


def is_loopback(address):
    return isinstance(address, tuple) and address[0] in ("::1", "127.0.0.1") and address[1] == 0


def is_called_by(*modules):
    frame = sys._getframe(2)
    while frame:
        if frame.f_globals.get("__name__") in modules and frame.f_code.co_name != "<module>":
            return True
        frame = frame.f_back
    return False


def on_open(path, mode, flags):
    if not isinstance(path, (str, bytes)):
        return
    path = os.fsdecode(path)
    is_written = any(letter in mode for letter in "wax+") if mode else (flags or 0) & os.O_ACCMODE != os.O_RDONLY
    if path == "/dev/null" or path.endswith((".py", ".pyc", ".so")) and not is_written:
        return
    if is_written:
        findings.note("writes")
    elif not path.startswith(MACHINE) and not path.startswith(tuple(set(installed_places))):
        findings.note("opens")
        findings.look(path)


def watch_looks():
    for name in ("stat", "lstat", "access", "listdir", "scandir"):
        def look(path=".", *arguments, _plain=getattr(os, name), **named):
            findings.look(path)
            return _plain(path, *arguments, **named)

        setattr(os, name, look)


def hands_on():
    """Whether the variables are read to be handed to a program. A module that starts one is refused
    anyway."""
    return is_called_by("ctypes.util", "platform")


class WatchedVariables(dict):
    """The dictionary within os.environ."""

    def __getitem__(self, key):
        if not hands_on():
            findings.read(os.fsdecode(key))
        return dict.__getitem__(self, key)

    def __contains__(self, key):
        findings.read(os.fsdecode(key))
        return dict.__contains__(self, key)

    def __iter__(self):
        if not hands_on():
            findings.note("variables")
        return dict.__iter__(self)

    def __setitem__(self, key, value):
        findings.note_if_it_lasts("environment")
        dict.__setitem__(self, key, value)

    def __delitem__(self, key):
        findings.note_if_it_lasts("environment")
        dict.__delitem__(self, key)


class WatchedWords(list):
    def __getitem__(self, index):
        findings.note("arguments")
        return list.__getitem__(self, index)

    def __iter__(self):
        findings.note("arguments")
        return list.__iter__(self)

    def __len__(self):
        findings.note("arguments")
        return list.__len__(self)


class WatchedProgram(types.ModuleType):
    """Stands for the program, which nobody knows yet."""

    def __getattribute__(self, name):
        # `inspect` looks through all modules for the one of a function.
        if not is_called_by("inspect"):
            findings.note("arguments")
        return types.ModuleType.__getattribute__(self, name)

    def __setattr__(self, name, value):
        findings.note("arguments")
        types.ModuleType.__setattr__(self, name, value)


class WatchedStream(io.TextIOWrapper):
    def isatty(self):
        findings.note("terminal")
        return io.TextIOWrapper.isatty(self)


def watch(owner, name, reason, matters=lambda *arguments: True):
    plain = getattr(owner, name, None)
    if plain is None:
        return

    def watched(*arguments, **named):
        if matters(*arguments):
            findings.note(reason)
        return plain(*arguments, **named)

    setattr(owner, name, watched)


def watch_imports():
    plain, by_name = builtins.__import__, importlib.import_module

    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        result = plain(name, globals, locals, fromlist, level)
        importer = (globals or {}).get("__name__")
        if importer:
            if level:
                package = (globals.get("__package__") or importer).rsplit(".", level - 1)[0]
                name = package + ("." + name if name else "")
            findings.imports(importer, name)
            for one in fromlist or ():
                if name + "." + str(one) in sys.modules:
                    findings.imports(importer, name + "." + one)
        return result

    def import_module(name, package=None):
        result = by_name(name, package)
        importer = sys._getframe(1).f_globals.get("__name__")
        if importer:
            findings.imports(importer, result.__name__)
        return result

    builtins.__import__, importlib.import_module = import_, import_module


def watch_all():
    sys.modules["__main__"] = WatchedProgram("__main__")
    os.environ._data = os.environb._data = WatchedVariables(os.environ._data)
    sys.argv = WatchedWords([""])
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = WatchedWords([""])
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None:
            stream = WatchedStream(stream.detach(), stream_encoding[name], "backslashreplace")
        setattr(sys, name, stream)
        setattr(sys, "__{}__".format(name), stream)
    for name in ("getcwd", "getcwdb"):
        watch(os, name, "directory")
    for name in ("isatty", "get_blocking", "ttyname", "get_terminal_size", "tcgetpgrp", "ctermid"):
        watch(os, name, "terminal")
    watch(os, "umask", "state")
    watch_looks()
    watch(threading, "_start_new_thread", "thread")
    watch(threading, "_start_joinable_thread", "thread")  # from 3.13 on
    watch(_thread, "start_new_thread", "thread")
    watch(signal, "signal", "signals")
    watch(signal, "pthread_sigmask", "signals")
    watch(signal, "set_wakeup_fd", "signals")
    for name in ("time", "time_ns"):
        watch(time, name, "time")
    import _locale

    plain = _locale.setlocale

    def setlocale(category, locale=None):
        if locale is not None:
            findings.note_if_it_lasts("locale")
        return plain(category, locale)

    _locale.setlocale = setlocale
    watch_imports()
    watch_execution()
    sys.addaudithook(on_event)


def state():
    """The state that modules share and that an import must not change."""
    return {"excepthook": sys.excepthook, "displayhook": sys.displayhook, "unraisablehook": sys.unraisablehook,
            "thread": threading.excepthook, "path": list(sys.path), "builtins": set(dir(builtins)),
            "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(), "path_hooks": list(sys.path_hooks),
            "collector": (gc.isenabled(), gc.get_threshold()),
            "streams": [sys.stdin, sys.stdout, sys.stderr], "descriptors": descriptors(), "print": builtins.print,
            "open": builtins.open, "printed": printed()}


def printed():
    """How much was printed, on either stream: a launch would have to print it again."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except (AttributeError, ValueError):
            pass  # there is none, or it was closed
    return os.fstat(prints).st_size


def passing_state():
    import _locale

    findings.is_quiet = True
    now = {"environment": dict(dict.items(os.environ._data)), "locale": _locale.setlocale(_locale.LC_ALL)}
    findings.is_quiet = False
    return now


def descriptors():
    names = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            names[number] = os.readlink("/proc/self/fd/" + number)
        except OSError:
            pass  # the descriptor of this listing
    return names


# For each module that is being executed, the innermost last: the parts of the state that the modules imported
# by it have changed.
changed_within = [set()]


def changes(before, now):
    return {key for key in before if before[key] != now[key]}


def refuse_for_state(name, changed):
    if "thread" in findings.refused.values():
        return  # a thread may have done it: the next round, in which none runs, tells
    if changed == {"builtins"}:
        findings.changing.add(name)
        return
    one = {"descriptors": "descriptor", "printed": "prints"}
    findings.refuse(name, one.get(*changed, "state") if len(changed) == 1 else "state")


def watch_execution():
    """Finds out which module changes the state, among those that one import executes."""
    owner = importlib._bootstrap_external._LoaderBasics
    plain = owner.exec_module

    def exec_module(self, module):
        was_quiet, findings.is_quiet = findings.is_quiet, True
        findings.modules.begin(module.__name__)
        before = state()
        findings.is_quiet = False  # also if an `Answer`, which is quiet, imports the module
        changed_within.append(set())
        try:
            return plain(self, module)
        finally:
            findings.is_quiet = True
            changed = changes(before, state())
            if changed - changed_within.pop():
                refuse_for_state(module.__name__, changed)
            changed_within[-1] |= changed
            findings.modules.end()
            findings.is_quiet = was_quiet

    owner.exec_module = exec_module
    extensions = importlib._bootstrap_external.ExtensionFileLoader
    plain_of_extensions = extensions.exec_module

    def exec_extension(self, module):
        was_quiet, findings.is_quiet = findings.is_quiet, True
        findings.modules.begin(module.__name__)
        findings.is_quiet = False
        try:
            return plain_of_extensions(self, module)
        finally:
            findings.is_quiet = True
            findings.modules.end()
            findings.is_quiet = was_quiet

    extensions.exec_module = exec_extension


def import_all(names, answers):
    for number, name in enumerate(names):
        try:
            import_one(name, lambda: __import__(name))
        except Warning:
            # A filter turns warnings into errors (-W, PYTHONWARNINGS), so a launch fails here, too. This module and
            # those after it are refused: a launch does not get to them, and importing them may prevent the warning.
            findings.refused.update(dict.fromkeys(names[number:], "fails"))
            break
        except BaseException:
            findings.refused[name] = "fails"
        for answer in answers:
            if answer.module == name in sys.modules:
                answer.begin()


def import_one(name, call):
    """Calls what imports the module, and finds out what that changes."""
    findings.is_quiet = True
    before, known, passing = state(), set(sys.modules), passing_state()
    changed_within[:] = [set()]
    findings.is_quiet = False
    try:
        call()
    finally:
        for reason, value in passing_state().items():
            findings.settle(reason, value != passing[reason])
        findings.is_quiet = True
        findings.modules.look(name)
        changed = changes(before, state()) - changed_within[0]
        if changed:
            # It is not known which of the modules imported meanwhile did so: an extension, for example.
            for new in (set(sys.modules) - known) | {name}:
                refuse_for_state(new, changed)
        findings.is_quiet = False


class Beginning:
    """What the program imports first, in its order. So a launch has the effects of these imports on other modules, too, and
    finds them as it would find them in a direct run."""

    def __init__(self, words):
        self.words = words
        self.loaded = []  # for each word, the modules that were loaded by it
        self.bound = []  # for each word, what the program's statement binds
        self.before = set()  # the modules that were loaded before

    def load(self):
        """Returns whether all of it could be imported."""
        self.before = set(sys.modules)
        for word in self.words:
            known = set(sys.modules)
            try:
                import_one(beginning.modules_of(word)[0], lambda: beginning.load(word))
            except BaseException:
                return False
            now = beginning.bound(word)
            # The program's statements run after all of this, so none may then bind something else. A value that only
            # __getattr__ makes is asked for again.
            if now[-1] is None or any(one is not other for earlier, found in zip(self.words, self.bound)
                                      for one, other in zip(beginning.bound(earlier), found)):
                return False
            self.bound.append(now)
            self.loaded.append(set(sys.modules) - known)
        return True

    def modules(self, count=None):
        """The modules that the first `count` words loaded; those of all words if there is no count."""
        return set().union(*self.loaded[:count])

    def settle(self, findings):
        """Refuses modules that change others, if the program can have the others without the change. Returns how many of
        the words are needed so that the rest of the modules need not be refused."""
        changing = set(findings.changing)
        for name, changed, one in findings.modules.harmful_changes():
            if is_harmless(changed, one) or is_standard(name):
                continue
            # Python may use the others before the program imports anything.
            is_early = changed in self.before or changed in SHOW_ERRORS
            if is_early and not (changed == "builtins" and one not in standard_builtins):
                findings.refuse(name, "state")
            changing.add(name)
        changing = {name for name in changing if not findings.is_vouched(name, "state")}
        for name in changing - self.modules():
            findings.refuse(name, "state")
        return max((number for number, loaded in enumerate(self.loaded, 1) if loaded & changing), default=0)

    def first_refused(self, cause):
        """The number of words before the first one that loads a refused module."""
        for number, (word, loaded) in enumerate(zip(self.words, self.loaded)):
            if not loaded.union(beginning.modules_of(word)).isdisjoint(cause):
                return number
        return len(self.words)


def refuse_importers(names):
    """Returns, for each refused module and each that imports one, the module that is the cause."""
    cause = {name: name for name in findings.refused}
    children = {}
    for name in set(names) | set(sys.modules):
        children.setdefault(name.rpartition(".")[0], set()).add(name)
    queue = list(cause)
    while queue:
        name = queue.pop()
        # A module that fails when it is imported by its own name may still be imported by others, so those are kept.
        users = set() if findings.refused.get(name) == "fails" and cause[name] == name else findings.importers.get(name, set())
        for user in users | children.get(name, set()):
            if user not in cause:
                cause[user] = cause[name]
                queue.append(user)
    return cause


def variables_of_extensions(path):
    """What the interposed getenv(3) has written since the start of the inspection."""
    with open(path, "rb") as file:
        return {os.fsdecode(line) for line in file.read().split(b"\n") if line}


def stamp(module):
    """The same as `_stamp` in sitecustomize.py."""
    path = getattr(module, "__file__", None)
    return str(os.stat(path).st_ctime_ns) if isinstance(path, str) else "-"


def stamp_of_file(path):
    """The same as `_stamp_of_file` in sitecustomize.py."""
    try:
        status = os.stat(path if "/" in path else program(path))
    except OSError:
        return "-"
    return "0" if status.st_mode & 0o170000 == 0o040000 else str(status.st_ctime_ns)


def program(name):
    """The same as `_program` in sitecustomize.py."""
    paths = [(folder or ".") + "/" + name for folder in os.environ.get("PATH", os.defpath).split(":")]
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), "/nonexistent/" + name)


class Answer:
    """A function, perhaps of a class, of which it is known what its value depends on. It starts programs, which a prewarm may
    not do, so a prewarm gets the values that it has returned in this process."""

    def __init__(self, module, name, *inputs):
        self.module, self.name, self.inputs = module, name, inputs

    def begin(self):
        """Changes the code of the function, as `_answer` in sitecustomize.py does, so that its calls are noted."""
        function = function_named(sys.modules[self.module], self.name)
        if type(function) is not types.FunctionType or function.__closure__:
            return  # then the module is refused for what the function does
        self.plain = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
        self.plain.__kwdefaults__ = function.__kwdefaults__
        code = stand_in.__code__
        function.__code__ = code.replace(co_consts=tuple(self.call if one == "answer" else one for one in code.co_consts))
        function_codes.append((function, self.plain.__code__))

    def call(self, arguments, named):
        was_quiet, findings.is_quiet = findings.is_quiet, True
        line = None
        try:
            self.note_inputs()
            value = self.plain(*arguments, **named)
            line = self.line(arguments, sorted(named.items()), value)
            return value
        finally:
            findings.is_quiet = was_quiet
            if not line:
                findings.note("runs")
            elif findings.answers.setdefault((self.module, self.name, ascii((arguments, sorted(named.items())))), line) != line:
                # The next caller may get either value, or a third.
                findings.note("runs")
                findings.refuse(self.module, "runs")

    def note_inputs(self):
        for one in self.inputs:
            if one.startswith("$"):
                findings.variables.setdefault(one[1:], set()).add(self.module)
                continue
            if one.startswith("~/"):
                findings.variables.setdefault("HOME", set()).add(self.module)
                one = os.path.expanduser(one)
            # Stamped before the call, so that a file that is changed meanwhile has another stamp in the prewarm.
            findings.data.setdefault(one, stamp_of_file(one))

    def line(self, arguments, named, value):
        """The line of a call; None if a list cannot contain it."""
        text = ascii((arguments, named, value)).replace("%", "%25").replace(" ", "%20")
        line = "{}/{}:{}".format(self.module, self.name, text)
        return line if is_constant((arguments, tuple(named), value)) and len(line) < LINE_LIMIT else None


# What modules of the standard library ask programs, for whoever imports them: the kind of the processor, and where a library is.
STANDARD_ANSWERS = [Answer("platform", "_Processor.from_subprocess", "uname"),
                    Answer("ctypes.util", "_findSoname_ldconfig", "/sbin/ldconfig", "/etc/ld.so.cache")]


def function_named(module, name):
    """The same as `_function` in sitecustomize.py, or None."""
    owner = module
    for part in name.split("."):
        owner = vars(owner).get(part) if hasattr(owner, "__dict__") else None
    return owner


def stand_in(*arguments, **named):
    return "answer".__call__(arguments, named)


def is_constant(value):
    """Whether the value consists only of immutable values whose identity does not matter."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return type(value) in (str, bytes, int, float, bool, type(None))


class Profile:
    """What vouches for modules of one distribution."""

    def __init__(self, lines):
        first = next((line[1:].split() for line in lines if line.startswith("@")), [""])
        self.distribution, self.versions = first[0], first[1:]
        self.vouched = {tuple(line[1:].split()) for line in lines if line.startswith("+")}
        self.at_pause = [line[1:].split(" ", 1) for line in lines if line.startswith("<")]
        self.at_launch = [line[1:] for line in lines if line.startswith(">")]
        self.answers = [Answer(*line[1:].split()) for line in lines if line.startswith("?")]
        self.is_used = False

    def choose(self):
        """Uses the profile if it knows the installed version, which a folder's name tells: nothing is imported."""
        if not self.distribution:
            return
        folder, version = next(filter(lambda found: found[1], zip(sys.path, map(self._version, sys.path))), ("", "-"))
        if version != "-" and not all(self._is_found_in(folder.rstrip("/"), top) for top in self._tops()):
            version = "*"
        self.is_used = version in self.versions
        say("vouched" if self.is_used else "unknown", self.distribution, version)
        if self.is_used:
            findings.vouched.update(self.vouched)

    def _tops(self):
        """The packages and modules that the profile is about."""
        names = [name for name, _ in self.vouched] + [name for name, _ in self.at_pause]
        return {name.partition(".")[0] for name in names + [answer.module for answer in self.answers] + self.at_launch}

    def _is_found_in(self, folder, top):
        """Whether an import finds that name in the folder. True also if it finds nothing, or a standard module."""
        spec = importlib._bootstrap_external.PathFinder.find_spec(top)
        if spec is None or is_standard_file(spec.origin):
            return True
        return all(os.path.dirname(place) == folder for place in spec.submodule_search_locations or [spec.origin])

    def _version(self, folder):
        """The version in the name of NAME-VERSION.dist-info or NAME-VERSION.egg-info, perhaps with -py3."""
        try:
            entries = os.listdir(folder)
        except OSError:
            return None
        for entry in entries:
            name, _, rest = entry.partition("-")
            if normalized(name) == normalized(self.distribution) and rest.endswith((".dist-info", ".egg-info")):
                return rest.rsplit(".", 1)[0].partition("-")[0]
        return None

    def pause(self):
        """Executes all statements for the pause, even after one has failed: the next may undo what the module did."""
        if self.is_used:
            for name, statement in self.at_pause:
                if name in sys.modules:
                    try:
                        code = compile(statement, "<profile>", "exec", dont_inherit=True, optimize=0)
                        exec(code, sys.modules[name].__dict__)
                    except BaseException:
                        findings.refused.setdefault(name, "pause")


def normalized(name):
    return name.lower().replace("_", "-").replace(".", "-")


def is_standard(name):
    """Whether a module is of the standard library, which is made to be imported anywhere."""
    return is_standard_file(getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None))


def is_standard_file(path):
    return path in ("built-in", "frozen") or isinstance(path, str) and (
        path.startswith(os.path.dirname(os.__file__) + "/") and "-packages/" not in path)


def has_file(name):
    """Whether the module can be imported by that name from a file."""
    module = sys.modules.get(name)
    if not issubclass(type(module), types.ModuleType) or not (name.isascii() and name.replace(".", "_").isidentifier()):
        return False
    own = module_state.namespace(module)
    return getattr(own.get("__spec__"), "name", None) == name and isinstance(own.get("__file__"), str)


def is_harmless(module, name):
    """Whether a global may differ. six, also a copy of it in a package, replaces its names by what they stand for, and Cython
    shares its types in a module."""
    last = module.rpartition(".")[2]
    return last == "six" or last.startswith("_cython_") or name in HARMLESS_STATE.get(module, ())


def inspect(names, words, excluded, watched, profile, log):
    """Imports the names, in a process that has imported nothing yet, and reports. `words`: what the program imports first."""
    findings.is_quiet = True
    findings.modules = module_state.ModuleState(watched)
    if log:
        open(log, "wb").close()  # the reads of the interpreter's start are known
    watch_all()
    findings.is_quiet = False
    import site

    site.main()  # -S has kept it from running; it also reads variables
    at_start = set(findings.variables)
    findings.refused.clear()  # a prewarm's start does the same before the hook
    installed_places.extend(site.getsitepackages() + [site.getusersitepackages(), os.path.dirname(os.__file__)])
    findings.is_quiet = True
    profile.choose()
    findings.is_quiet = False
    findings.refused.update({name: "known" for name in KNOWN if name in names})
    findings.modules.look()
    answers = profile.answers if profile.is_used else []
    answered = {(answer.module, answer.name) for answer in answers}
    answers = answers + [answer for answer in STANDARD_ANSWERS if (answer.module, answer.name) not in answered]
    # These modules come first, so that their functions are replaced before other modules call them.
    first = {answer.module for answer in answers}
    first, names = [name for name in names if name in first], [name for name in names if name not in first]
    import_all(first, answers)
    # That runs after the pause, and in a direct run before the program.
    program = Beginning([] if "usercustomize" in sys.modules else words)
    if not program.load():
        say("begins", str(len(program.loaded)))
        return
    import_all([name for name in names if name not in KNOWN], answers)
    for function, code in function_codes:
        function.__code__ = code
    findings.is_quiet = True
    needed = program.settle(findings)
    # What a launch has not recorded has a stamp, too.
    names += sorted(name for name in program.modules(needed) - {*first, *names} if has_file(name))
    for changed, name in findings.modules.unknown_changes():
        if not is_harmless(changed, name):
            say("changed", changed, name)
    profile.pause()
    for name in KNOWN & set(sys.modules):
        findings.refused.setdefault(name, "known")
    findings.refused.update({name: "excluded" for name in excluded})
    read_by_extensions = variables_of_extensions(log) if log else set()
    stamps = {}
    for name in first + names:
        try:
            stamps[name] = stamp(sys.modules.get(name))
        except OSError:
            findings.refused.setdefault(name, "archive")
        if read_by_extensions & PER_LAUNCH:
            findings.refused.setdefault(name, "variables")  # it is not known which of them reads it
    cause = refuse_importers(first + names)
    for name in first:
        say_what_is_with(name, cause, stamps)
    say("begins", str(program.first_refused(cause)), str(needed))
    for name in names:
        say_what_is_with(name, cause, stamps)
    for path, found in findings.data.items():
        say("import", "=" + path, found or stamp_of_file(path))
    for line in findings.answers.values():
        say("import", "?" + line, "-")
    read = {name for name, modules in findings.variables.items() if name in at_start or not modules <= set(cause)}
    read |= read_by_extensions - {"TZ"}  # which the hook applies
    for name in sorted(read):
        say("reads", name)


def say_what_is_with(name, cause, stamps):
    if name in cause:
        say("refused", name, findings.refused[cause[name]], cause[name])
    else:
        say("import", name, stamps[name])


def say(*fields):
    report.append("\t".join(fields) + "\n")


def write_all(descriptor, text):
    data = text.encode(errors="surrogateescape")
    while data:
        data = data[os.write(descriptor, data):]


def inspect_in_child(names, words, excluded, watched, profile, log):
    """The lines of the report."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            inspect(names, words, excluded, watched, profile, log)
            write_all(writer, "".join(report))
            status = 0
        except BaseException:
            os.dup2(errors, 2)
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)  # so that no imported code can interfere
    os.close(writer)
    with open(reader, encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().split("\n")[:-1]
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
    return lines


def main():
    with open(0 if words[1] == "-" else words[1], closefd=words[1] != "-") as file:
        lines = [line for line in file.read().split("\n") if line and not line.startswith("#")]
    names, profile = [line for line in lines if line[0] not in "!@+<>?"], Profile(lines)
    excluded = {line[1:] for line in lines if line.startswith("!")}
    leave_streams()
    log = os.environ.pop("GREENROOM_INSPECT", None)
    if log:
        os.set_inheritable(int(os.path.basename(log)), False)
    # Without a name, the program has hidden an installed module from the launch that has recorded.
    program = beginning.beginning_of(words[3]) if len(words) > 3 and names else []
    # What is known, or excluded, need not be imported to end what comes before the pause.
    program = list(itertools.takewhile(lambda word: KNOWN.union(excluded).isdisjoint(beginning.modules_of(word)), program))
    refused, watched = [], {}
    for _ in range(ROUND_LIMIT):
        lines = inspect_in_child(names, program, excluded, watched, profile, log)
        newly = [line for line in lines if line.startswith("refused\t")]
        changed = [line.split("\t") for line in lines if line.startswith("changed\t")]
        lines = [line for line in lines if not line.startswith("changed\t")]
        for _, module, name in changed:
            watched.setdefault(module, set()).add(name)
        _, possible, *needed = next(line.split("\t") for line in lines if line.startswith("begins\t"))
        is_shorter = int(possible) < len(program)
        program = program[:int(possible)]
        if not needed:
            continue  # nothing was found out but this
        refused += newly
        if not newly and not changed and not is_shorter:
            break
        names = [line.split("\t")[1] for line in lines if line.startswith("import\t") and line[7] not in "=?"]
    else:
        lines, needed = [], [0]
    begins = "\n".join("import\t?begins:{}\t-".format(word) for word in program[:int(needed[0])])
    lines = [begins if line.startswith("begins\t") else line for line in lines if begins or not line.startswith("begins\t")]
    write_all(result, "".join(line + "\n" for line in refused + lines))


def leave_streams():
    """What is imported must neither read the list nor write into the report; what it prints is counted."""
    os.dup2(os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC), 0)
    for number in (1, 2):
        os.dup2(prints, number)


def wait_for_others():
    """Lets this process run only when no other wants the processor (sched(7))."""
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        pass


def start_with_library():
    """Executes itself with the library preloaded, which sees every getenv(3)."""
    file = os.memfd_create("greenroom-inspect")
    os.set_inheritable(file, True)
    os.environ["GREENROOM_INSPECT"] = "/proc/self/fd/{}".format(file)
    own = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = words[2] + (":" + own if own else "")
    command = getattr(sys, "orig_argv", None) or open("/proc/self/cmdline").read().split("\0")[:-1]
    os.execv(sys.executable, command)


words = list(sys.argv)
installed_places, report = [], []
standard_builtins = set(dir(builtins))
function_codes = []  # (function, its own code)
stream_encoding = {name: getattr(getattr(sys, name), "encoding", "utf-8") for name in ("stdin", "stdout", "stderr")}
result, errors, prints = os.dup(1), os.dup(2), os.memfd_create("greenroom-prints")
sys.dont_write_bytecode = True
# This file's folder contains the hook, which must not be imported.
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != os.path.dirname(os.path.realpath(__file__))]
if len(words) > 2 and "GREENROOM_INSPECT" not in os.environ:
    start_with_library()
wait_for_others()
main()
