"""Pauses Python between its start and its program, for Greenroom.

The daemon runs `python3 [OPTIONS] PLACEHOLDER` with this file's folder first in PYTHONPATH. `site` imports
this file before the interpreter looks at its program. The file imports what GREENROOM_IMPORTS lists, waits
for a launch, puts the launch's arguments, variables, streams and program in place of its own, and ends; the
interpreter then runs the program by itself. If the program could notice a difference from a direct call, the
interpreter is executed anew with the launch's words in the same process. Before the pause, any doubt ends the
process; the daemon then starts the program directly.

CPython 3.8 to 3.13. Until the pause, this file may import only modules that every start of Python imports.
"""
import os
import sys

# Why a launch is started anew: enum gr_anew_reason of wire.h.
OPTIONS, PROGRAM, HIDDEN, CHANGED, ENVIRONMENT, FAILED = 1, 2, 3, 4, 5, 7

# Variables that the start of Python reads, in addition to PYTHON*.
READ_AT_START = {"LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "__PYVENV_LAUNCHER__", "COVERAGE_PROCESS_START",
                 "COVERAGE_PROCESS_CONFIG"}

# Begins lines of a list about the first imports of a program (beginning.py).
BEGINS = "?begins:"

# In bytes; the daemon reads no longer record.
RECORD_LIMIT = 65536


class Refusal(Exception):
    """This process must not be launched."""


class Prewarm:
    """The facts that are known at the pause and compared at the launch."""

    def __init__(self):
        self.began = _now()
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.native = _native_module(os.path.dirname(self.here) + "/libgreenroom-runtime.so")
        self.words = _own_words()
        self.options = self.words[:-1]  # the interpreter's name is the first
        self.record = os.environ.pop("GREENROOM_RECORD", None)
        lines = [line.split("\t") for line in os.environ.pop("GREENROOM_IMPORTS", "").split("\n") if line]
        # A name, and the `_stamp` of the module when it was inspected; or what the program must import first (BEGINS).
        self.imports = [line for line in lines if line[0][0] not in "=<>?" or line[0].startswith(BEGINS)]
        self.beginning = [line[0][len(BEGINS):] for line in self.imports if line[0].startswith(BEGINS)]
        self.reader = _reader_of_beginnings() if self.beginning else None
        # After ?, a function of a module, how it was called in the inspection, and what it returned.
        self.answers = _answers_by_module([line[0][1:] for line in lines if line[0][0] == "?" and not line[0].startswith(BEGINS)])
        # After =, a file that the modules read, or looked for, or a program, and its `_stamp_of_file`.
        self.data = [(line[0][1:], line[1]) for line in lines if line[0][0] == "="]
        # From a profile: a module, and a statement that is executed in it before the pause (<) or at the launch (>).
        self.at_pause = [(line[0][1:], line[1]) for line in lines if line[0][0] == "<"]
        self.at_launch = [(line[0][1:], line[1]) for line in lines if line[0][0] == ">"]
        self._leave_no_folder()
        self.variables = dict(os.environ._data)
        self.key = _read_variables(self.words[0])
        self.has_sitecustomize = None
        if _is_sitecustomize_known():
            self.has_sitecustomize = _import_sitecustomize()
        self.at_start = set(sys.modules)
        self._refuse()
        # Also what could not be found: the program may have it.
        self.asked, stop_log = _log_imports()
        self._import_all()
        stop_log()
        self.imported = [name for name in sys.modules if name not in self.at_start]
        self.files = _files_of_modules()
        self._refuse_changes()

    def _leave_no_folder(self):
        """Removes this folder from the search path and PYTHONPATH."""
        sys.path[:] = [entry for entry in sys.path if entry != self.here]
        sys.path_importer_cache.pop(self.here, None)
        first, colon, rest = os.environ["PYTHONPATH"].partition(":")
        if colon:
            os.environ["PYTHONPATH"] = rest
        else:
            del os.environ["PYTHONPATH"]
        # An empty or relative entry means the working directory of the launch.
        if colon and not all(entry.startswith("/") for entry in rest.split(":")):
            raise Refusal("PYTHONPATH has a relative entry")

    def _refuse(self):
        if not self.native.find(self.words[-1]):
            raise Refusal("the interpreter's program cannot be exchanged")
        # The output or counts of the start would be lost, or would be those of this file.
        options = getattr(sys, "_xoptions", ())
        if sys.flags.verbose or "importtime" in options or os.environ.get("PYTHONPROFILEIMPORTTIME"):
            raise Refusal("the start prints")
        if sys.gettrace() or sys.getprofile() or "tracemalloc" in options or os.environ.get("PYTHONTRACEMALLOC"):
            raise Refusal("the start is traced")
        if self.imports and self.has_sitecustomize is None:
            raise Refusal("the machine's sitecustomize may change what is imported")
        if self.beginning and _has_usercustomize():
            raise Refusal("a usercustomize runs before what the program imports first")

    def _import_all(self):
        codes = []
        for name, *stamp in self.imports:
            begins = name.startswith(BEGINS)
            try:
                self.reader.load(name[len(BEGINS):]) if begins else __import__(name)
            except BaseException as error:
                # Half-defined modules stay, so nothing more may run here.
                raise Refusal("importing {}: {!r}".format(name, error))
            if stamp and not begins and stamp[0] != _stamp(sys.modules.get(name)):
                raise Refusal("{} is another file than was inspected".format(name))
            for function, answers in self.answers.get(name, {}).items():
                codes.append(_answer(_function(sys.modules[name], function), answers))
        for function, code in codes:
            function.__code__ = code
        if any(_stamp_of_file(path) != stamp for path, stamp in self.data):
            raise Refusal("another file was read than when the imports were inspected")
        _execute(self.at_pause)

    def _refuse_changes(self):
        if os.environ._data != self.variables:
            raise Refusal("an import changed the environment")
        # A folder also changes when the first bytecode of its modules is written; a file does not.
        since = self.began - 20_000_000  # the clock of file systems is at most this much behind
        imported = [name for name in self.imported if not _has_no_file(sys.modules[name])]
        if any(_changed_at(path) >= since for path in _imported_files(imported)):
            raise Refusal("a file changed while it was imported")


def _now():
    import time

    return time.time_ns()


class _Spec:
    """The part of a spec that `_imp.create_dynamic` reads."""

    def __init__(self, name, origin):
        self.name, self.origin = name, origin


def _native_module(path):
    import _imp

    module = _imp.create_dynamic(_Spec("_greenroom", path))
    sys.modules.pop("_greenroom", None)
    return module


def _own_words():
    words = getattr(sys, "orig_argv", None)  # from 3.10 on
    if words is None:
        with open("/proc/self/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    return list(words)


def _read_variables(program):
    """The values of variables that were read before the pause, by name."""
    names = {name for name in os.environ if name.startswith("PYTHON")} | READ_AT_START | _names_in_path_files()
    if "/" not in program:
        names.add("PATH")
    site = sys.modules.get("site")
    if getattr(site, "ENABLE_USER_SITE", None):
        names.add("HOME")
    return {name: os.environ.get(name) for name in names}


def _names_in_path_files():
    """Words that could name variables in lines that `site` executes from .pth files."""
    names = set()
    for path in _path_files():
        try:
            with open(path, "rb") as file:
                lines = [line for line in file.read(65536).split(b"\n") if line.startswith((b"import ", b"import\t"))]
        except OSError:
            continue
        text = b" ".join(lines).decode("latin-1")
        text = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text)
        names.update(word for word in text.split() if word.isupper() and len(word) > 2)
    return names


def _path_files():
    """The .pth files, in which `site` finds folders for the search path and lines to execute."""
    for folder in sys.path:
        if not folder.endswith("-packages"):
            continue
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        yield from (folder + "/" + entry for entry in entries if entry.endswith(".pth"))


def _site_folders():
    """The folders that `site` adds to the search path if they exist."""
    site = sys.modules.get("site")
    user = [site.getusersitepackages()] if getattr(site, "ENABLE_USER_SITE", None) else []
    return site.getsitepackages() + user if site else []


def _is_sitecustomize_known():
    """Whether the machine's own sitecustomize may run before the pause: if it is missing, or Debian's, which
    only installs a hook for crash reports. Any other runs after the pause, as it may read what the launch brings,
    or change how modules are imported."""
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None)
        if spec is None:
            continue
        get_code = getattr(spec.loader, "get_code", None)
        code = get_code("sitecustomize") if get_code else None
        return code is not None and set(code.co_names) <= {"apport_python_hook", "install", "ImportError"}
    return True


def _has_usercustomize():
    site = sys.modules.get("site")
    return bool(getattr(site, "ENABLE_USER_SITE", None)) and any(
        finder.find_spec("usercustomize", None) for finder in sys.meta_path)


def _reader_of_beginnings():
    """The module of beginning.py, which nobody finds in `sys.modules`."""
    import beginning

    del sys.modules["beginning"]
    return beginning


def _import_sitecustomize():
    """Imports the machine's own sitecustomize. Returns whether there is one."""
    sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        return False
    return True


def _imported_files(names):
    """The files of modules."""
    for name in names:
        path = getattr(sys.modules[name], "__file__", None)
        if isinstance(path, str) and path.startswith("/"):
            yield path


def _has_no_file(module):
    """Whether a package's own loader has made the module, and named a file that does not exist, as Ansible's does for
    `ansible_collections`. A file of importlib's loaders that is missing was removed."""
    path = getattr(module, "__file__", None)
    loader = type(getattr(module, "__loader__", None)).__module__
    return isinstance(path, str) and loader != "_frozen_importlib_external" and not os.path.exists(path)


def _is_of_root(path):
    try:
        return os.stat(path).st_uid == 0
    except OSError:
        return False


def _is_installed(path):
    """Whether the file is of the standard library or an installed package."""
    return "/site-packages/" in path or "/dist-packages/" in path or path.startswith(os.path.dirname(os.__file__) + "/")


def _files_of_modules():
    """The modification time of each folder in which a module was found or looked for, and of each file that
    may be edited in place: packages of the system are replaced as a whole."""
    paths = {entry for entry in (*sys.path, *_site_folders(), *_path_files()) if entry.startswith("/")}
    is_of_system = {}
    for path in _imported_files(sys.modules):
        folder = os.path.dirname(path)
        paths.add(folder)
        if folder not in is_of_system:
            is_of_system[folder] = _is_installed(path) and _is_of_root(folder)
        if not is_of_system[folder]:
            paths.add(path)
    paths.add(os.path.dirname(os.path.dirname(sys.executable)) + "/pyvenv.cfg")
    return {path: _modified_at(path) for path in paths}


def _modified_at(path):
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _stamp(module):
    """Tells one file of a module from another; inspect_imports.py has the same function."""
    path = getattr(module, "__file__", None)
    return str(_changed_at(path)) if isinstance(path, str) else "-"


def _stamp_of_file(path):
    """Tells apart what a look at a file finds; inspect_imports.py has the same function. A folder is only looked for. A name
    without a slash is a program, which PATH finds."""
    try:
        status = os.stat(path if "/" in path else _program(path))
    except OSError:
        return "-"
    return "0" if status.st_mode & 0o170000 == 0o040000 else str(status.st_ctime_ns)


def _program(name):
    """The file that is executed by that name; inspect_imports.py has the same function."""
    paths = [(folder or ".") + "/" + name for folder in os.environ.get("PATH", os.defpath).split(":")]
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), "/nonexistent/" + name)


def _answers_by_module(lines):
    """{module: {function: {its arguments as text: its value}}}"""
    found = {}
    for line in lines:
        function, _, text = line.partition(":")
        arguments, named, value = eval(text.replace("%20", " ").replace("%25", "%"), {"__builtins__": {}})
        module, _, function = function.partition("/")
        found.setdefault(module, {}).setdefault(function, {})[ascii((arguments, named))] = value
    return found


def _function(module, name):
    """A function of a module, or of a class in it."""
    owner = module
    for part in name.split("."):
        owner = vars(owner)[part]
    return owner


def _stand_in(*arguments, **named):
    return "answer".__call__(arguments, named)


def _answer(function, answers):
    """Lets a function return what it has returned in the inspection. Returns it and its own code, which must be put back.
    The function stays the same object, so no module can keep another one. inspect_imports.py does the same."""
    plain = type(function)(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    plain.__kwdefaults__ = function.__kwdefaults__

    def answer(arguments, named):
        call = ascii((arguments, sorted(named.items())))
        # Without an answer it may start a program, and then the prewarm is ended.
        return answers[call] if call in answers else plain(*arguments, **named)

    code = _stand_in.__code__
    function.__code__ = code.replace(co_consts=tuple(answer if one == "answer" else one for one in code.co_consts))
    return function, plain.__code__


def _execute(statements):
    """Executes the statements of a profile in their modules."""
    for name, statement in statements:
        module = sys.modules.get(name)
        if module is not None:
            # With -O, too, its assertions count.
            exec(compile(statement, "<profile>", "exec", dont_inherit=True, optimize=0), module.__dict__)


def _changed_at(path):
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return sys.maxsize


class Launch:
    """Turns the process into the launch. Every method may start it anew, and then does not return."""

    def __init__(self, prewarm, words, variables):
        self.prewarm, self.native = prewarm, prewarm.native
        self.words = [os.fsdecode(word) for word in words]
        self._take_variables(variables)

    def anew(self, reason):
        self.native.start_anew(reason)

    def _take_variables(self, variables):
        """Fills os.environ as the start of Python does: the first of two equal names counts."""
        data = os.environ._data
        zone = data.get(b"TZ")
        data.clear()
        for variable in variables:
            name, equals, value = variable.partition(b"=")
            if equals:
                data.setdefault(name, value)
        if data.get(b"TZ") != zone:
            import time

            time.tzset()

    def compare(self):
        key = self.prewarm.key
        for name in key:
            if (os.environ.get(name) or None) != (key[name] or None):
                self.anew(ENVIRONMENT)
        for name in os.environ:
            if name.startswith("PYTHON") and name not in key and os.environ[name]:
                self.anew(ENVIRONMENT)
        for path, modified in self.prewarm.files.items():
            if _modified_at(path) != modified:
                self.anew(CHANGED)
        if any(_stamp_of_file(path) != stamp for path, stamp in self.prewarm.data):
            self.anew(CHANGED)

    def program(self):
        """(kind, value, arguments) of the program that the words name; see `become` in python.c."""
        options = self.prewarm.options
        if self.words[:len(options)] != options:
            self.anew(OPTIONS)
        rest = self.words[len(options):]
        if not rest:
            return "-", "", [""]
        first = rest[0]
        if first == "-":
            return "-", "", rest
        if first in ("-c", "-m") and len(rest) > 1:
            value = rest[1] + "\n" if first == "-c" else rest[1]
            return first[1], value, [first] + rest[2:]
        if first.startswith("-"):
            self.anew(OPTIONS)
        if not first:
            self.anew(PROGRAM)
        return "f", self._whole_name(first), rest

    def _whole_name(self, name):
        """The interpreter makes the name of the program absolute from 3.9 on."""
        if sys.version_info < (3, 9) or name.startswith("/"):
            return name
        try:
            return os.getcwd() + "/" + name
        except OSError:
            return name

    def refuse_hidden(self, kind, value):
        """Starts anew if a module in the program's folder hides one that was imported or looked for before the pause, or
        if the program of `-m` is already imported."""
        imported = self.prewarm.imported
        if not imported:
            return
        if kind == "m":
            module = sys.modules.get(value)
            is_imported = "." in value and module is not None and not hasattr(module, "__path__")
            if is_imported or value + ".__main__" in sys.modules:
                self.anew(HIDDEN)
        if getattr(sys.flags, "safe_path", False):
            return
        tops = {name.partition(".")[0] for name in (*imported, *self.prewarm.asked)}
        if kind == "f":
            names = _names_in_archive(value)
            folder = value if os.path.isdir(value) else os.path.dirname(os.path.realpath(value))
        else:
            names, folder = None, "."
        if names is None:
            names = _importable_names(folder, tops)
        if not tops.isdisjoint(names):
            self.anew(HIDDEN)

    def refuse_other_beginning(self, kind, value):
        """Starts anew unless the program begins with the imports that have come first before the pause: what they have done
        to other modules is right only for such a program."""
        first = self.prewarm.beginning
        if not first:
            return
        is_script = kind == "f" and _names_in_archive(value) is None
        if not is_script or self.prewarm.reader.beginning_of(value)[:len(first)] != first:
            self.anew(HIDDEN)

    def exchange_streams(self):
        """Makes the standard streams what they would be at a start with the launch's descriptors. The objects
        stay, because imported modules may have them."""
        import stat

        for number, name in enumerate(("stdin", "stdout", "stderr")):
            try:
                mode = os.fstat(number).st_mode
            except OSError:
                setattr(sys, name, None)
                setattr(sys, "__{}__".format(name), None)
                continue
            if number == 0 and stat.S_ISDIR(mode):
                self.anew(PROGRAM)  # the start of Python complains
            _open_again(getattr(sys, name), number, name)

    def mend_modules(self):
        """Updates values from their start that modules keep and a program may ask for."""
        logging = sys.modules.get("logging")
        if logging:
            import time

            is_whole = isinstance(logging._startTime, int)  # from 3.13 on
            logging._startTime = time.time_ns() if is_whole else time.time()
        process = sys.modules.get("multiprocessing.process")
        if process:
            try:
                process.ORIGINAL_DIR = os.path.abspath(os.getcwd())
            except OSError:
                process.ORIGINAL_DIR = None

    def go_on(self):
        self.compare()
        kind, value, arguments = self.program()
        self.refuse_hidden(kind, value)
        self.refuse_other_beginning(kind, value)
        sys.argv[:] = arguments
        if hasattr(sys, "orig_argv"):
            sys.orig_argv[:] = self.words
        self.exchange_streams()
        self.mend_modules()
        _execute(self.prewarm.at_launch)
        if self.prewarm.record:
            _record_at_exit(self.prewarm)
        self.native.become(kind, value, arguments[0])


def _names_in_archive(path):
    """The names of modules at the top of a zip file; None if the file is not one."""
    import zipimport

    try:
        archive = zipimport.zipimporter(path)
    except ImportError:
        return None
    files = archive._get_files() if hasattr(archive, "_get_files") else archive._files  # from 3.13 on
    return {name.partition("/")[0].partition(".")[0] for name in files}


def _importable_names(folder, tops):
    """The names in `tops` for which the folder has a module."""
    import _imp

    suffixes = _imp.extension_suffixes() + [".py", ".pyc"]
    try:
        entries = os.listdir(folder)
    except OSError:
        return set()
    found = set()
    for entry in entries:
        top, dot, suffix = entry.partition(".")
        if top in tops and (dot + suffix in suffixes if dot else _is_package(folder + "/" + entry, suffixes)):
            found.add(top)
    return found


def _is_package(folder, suffixes):
    return any(os.path.exists(folder + "/__init__" + suffix) for suffix in suffixes)


def _open_again(stream, number, name):
    """Initializes a standard stream as the start of Python does (create_stdio in pylifecycle.c)."""
    buffer = stream.buffer
    unbuffered = stream.write_through  # -u or PYTHONUNBUFFERED
    raw = type(getattr(buffer, "raw", buffer))(number, "w" if number else "r", closefd=False)
    raw.name = "<{}>".format(name)
    if hasattr(buffer, "raw"):
        buffer.__init__(raw, raw._blksize if raw._blksize > 1 else 8192)
    else:
        buffer = raw
    encoding, errors = stream.encoding, stream.errors
    by_line = not unbuffered and (raw.isatty() or (number == 2 and sys.version_info >= (3, 9)))
    stream.__init__(buffer, encoding, errors, "\n", by_line, unbuffered)
    stream.mode = "w" if number else "r"


def _record_at_exit(prewarm):
    """Sends to the daemon's socket, at the program's end, which modules it has imported, in the order in
    which their imports began. Does not wait for the daemon."""
    import atexit

    owner = os.getpid()
    order, _ = _log_imports()
    places = list(sys.path)  # the program's folder is not among them yet

    def send():
        if os.getpid() != owner:
            return
        text = "\n".join(_recorded(prewarm.at_start, order, places)) + "\n"
        if len(text) < RECORD_LIMIT:
            prewarm.native.send(prewarm.record, text)

    def send_quietly():
        try:
            send()
        except Exception:
            pass

    atexit.register(send_quietly)


def _log_imports():
    """A list to which the name of each module is appended when its import begins, and a function that ends this.
    `sys.modules` has the order in which imports end, in which a circular import may fail, because it begins in another
    module."""
    # It is asked first, unless an imported module has put its own before it.
    importer = next(one for one in sys.meta_path if getattr(one, "__name__", None) == "BuiltinImporter")
    find, plain, order = importer.find_spec, vars(importer)["find_spec"], []

    def find_spec(name, path=None, target=None):
        order.append(name)
        return find(name, path, target)

    importer.find_spec = staticmethod(find_spec)
    return order, lambda: setattr(importer, "find_spec", plain)


def _recorded(at_start, order, places):
    """The names of modules that can be imported by these names at another start: those of the standard
    library, and installed ones. None if the program has its own module of an installed name: another module
    that needs that name would get the wrong one."""
    names, own = [], set()
    lazy = getattr(sys.modules.get("importlib.util"), "_LazyModule", None)
    for name in dict.fromkeys(order):
        module = sys.modules.get(name)
        if type(module) is lazy:
            continue  # not imported yet; reading an attribute would import it
        if module is None or name in at_start or name == "__main__" or not _is_plain(name):
            continue
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name != name:
            continue
        path, top = getattr(module, "__file__", None), name.partition(".")[0]
        # A package without its own file has folders; a module that was made at run time has neither.
        paths = [path] if isinstance(path, str) else [str(path) for path in getattr(module, "__path__", ())]
        if all(_is_installed(path) and _is_found(path, top, places) for path in paths):
            names.append(name)
        else:
            own.add(top)
    # An installed package may add to itself from elsewhere.
    own -= {name.partition(".")[0] for name in names}
    if any(own & _importable_names(place, own) for place in places if place.startswith("/")):
        return []
    return names


def _is_plain(name):
    return name.isascii() and name.replace("_", "").replace(".", "").isalnum()


def _is_found(path, top, places):
    """Whether a module of that name is found in one of the folders. A module beside a program inside a
    package is not."""
    return any(path.startswith(place + "/" + top) and path[len(place) + 1 + len(top):][:1] in ("", ".", "/")
               for place in places)


def _leave_no_module(names):
    for name in names:
        sys.modules.pop(name, None)


def _pause():
    # The modules that this hook alone imports. Not atexit, whose functions would be lost with it.
    helpers = {"time", "stat", "zipimport", "_imp"} - set(sys.modules)
    try:
        prewarm = Prewarm()
        launch = prewarm.native.wait()
        if launch is None:
            raise Refusal("this process is not prewarmed")
    except BaseException as error:
        try:
            os.write(2, "greenroom: {}\n".format(error).encode())
        finally:
            os._exit(70)
    try:
        launch = Launch(prewarm, *launch)
        launch.go_on()
    except BaseException:
        prewarm.native.start_anew(FAILED)
    _leave_no_module(helpers - set(prewarm.imported))
    return prewarm.has_sitecustomize


_has_sitecustomize = _pause()
if _has_sitecustomize is None:
    _has_sitecustomize = _import_sitecustomize()
if not _has_sitecustomize:
    raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
