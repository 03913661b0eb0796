"""Finds out for inspect_imports.py which modules change others that a launch may load without them.

A module is *changed* if, after its own code has ended, one of its globals is bound anew, or a container, an instance, a
class or a closure that can be reached from one differs. That is harmless if the module imports the one that changes it:
then no launch has it unchanged. Otherwise a prewarm would hand the change to launches that do not want it.

Comparing every module after every import would take minutes. So the first process compares each module once, at the end,
and the next one watches only the globals that differed, to learn which import changes them.
"""
import gc
import os
import sys
import types
import _weakref

# Objects up to this many steps from a global are compared, and at most this many for each global.
DEPTH_LIMIT, SIZE_LIMIT = 8, 5000

# Compared by their value. A number that is stored again is no change.
SIMPLE = (int, float, complex, str, bytes, bool, type(None), type(...))
# Compared by their identity alone. A method cache (`_abc_data`, `lru_cache`) only remembers what would be computed again.
OPAQUE = (types.ModuleType, types.CodeType, types.FrameType, types.TracebackType, types.GeneratorType, types.CoroutineType,
          types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodWrapperType, types.MethodDescriptorType,
          types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, _weakref.ref)
OPAQUE_NAMES = {"_abc_data", "_lru_cache_wrapper", "_NamespacePath"}
# Modules of the import itself, and of the inspection.
OWN_MODULES = {"__main__", "__mp_main__", "_frozen_importlib", "_frozen_importlib_external", "_imp", "importlib._bootstrap",
               "importlib._bootstrap_external"}
# Not compared in a module: set by its import, or by warnings for each place that has warned.
OWN_NAMES = {"__builtins__", "__cached__", "__spec__", "__loader__", "__warningregistry__"}
# Not compared in a class: made by Python, or a cache (of the sums of flags).
OWN_ATTRIBUTES = {"__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl", "__annotations__",
                  "_value2member_map_"}

# The globals of a module, without access to its attributes: the module may be one that loads itself when it is used.
namespace = types.ModuleType.__dict__["__dict__"].__get__
_class_namespace = type.__dict__["__dict__"].__get__
_ancestors = type.__dict__["__mro__"].__get__


def attributes(value):
    """The `__dict__` of an instance, unless its class computes it."""
    for one in _ancestors(type(value)):
        found = (_class_namespace(one) or {}).get("__dict__")
        if type(found) is types.GetSetDescriptorType:
            try:
                return found.__get__(value)
            except (AttributeError, TypeError):
                return None  # an extension made the instance without one
        if found is not None:
            return None
    return None


def children(value, owner, known):
    """The objects that belong to a value, in an order that only depends on it. Runs no code of the value's."""
    kind = type(value)
    if issubclass(kind, OPAQUE) or kind.__name__ in OPAQUE_NAMES:
        return ()
    if issubclass(kind, type):
        return children_of_class(value, owner, known)
    if issubclass(kind, dict):
        if id(value) in known.namespaces:
            return ()  # the globals of a module, which is compared by itself
        return [part for pair in dict.items(value) for part in pair] + [attributes(value)]
    if issubclass(kind, (set, frozenset)):
        plain = set if issubclass(kind, set) else frozenset
        return sorted(plain.__iter__(value), key=id) + [attributes(value)]
    if kind is types.FunctionType:
        return [value.__dict__, value.__closure__, value.__defaults__, value.__kwdefaults__]
    names = {((_class_namespace(one) or {}).get("__module__"), one.__name__) for one in _ancestors(kind)}
    if ("logging", "Logger") in names:
        own = attributes(value)
        return [own.get(name) for name in ("level", "handlers", "filters", "propagate", "disabled")]
    # Each module that logs registers its logger with the manager, and a library binds a function when asked for it.
    if not names.isdisjoint({("logging", "Manager"), ("ctypes", "CDLL"), ("cffi.api", "FFILibrary")}):
        return ()
    attributes(value)  # makes its dictionary, which Python otherwise makes when it is first used
    return [part for part in gc.get_referents(value) if part is not kind]


def children_of_class(value, owner, known):
    own = _class_namespace(value) or {}  # an extension may have a class that it has not made ready
    if known.is_foreign(value, own.get("__module__"), owner):
        return ()
    parts = [part for name, one in own.items() if name not in OWN_ATTRIBUTES for part in (name, one)]
    return parts + type.__subclasses__(value) if owner in known.asking else parts


def picture(value, owner, known, seen):
    """The objects that can be reached from a value. It keeps them, so that none gets the address of another."""
    found, queue, index = [], [(value, 0)], 0
    while index < len(queue) and len(found) < SIZE_LIMIT:
        one, depth = queue[index]
        index += 1
        found.append(tuple if type(one) is tuple else one)  # a tuple is the same if its items are
        if type(one) in SIMPLE or id(one) in seen or depth == DEPTH_LIMIT:
            continue
        seen.add(id(one))
        parts = children(one, owner, known)
        found.append(len(parts))
        queue.extend((part, depth + 1) for part in parts)
    return found


def is_general(action, message, category, module, line):
    """Whether a filter of warnings concerns those of any module. Others name a message, a module or a category of their own."""
    return message is None and module is None and category.__module__ == "builtins"


def is_same(one, other):
    return len(one) == len(other) and all(
        a is b or type(a) in SIMPLE and type(a) is type(b) and a == b for a, b in zip(one, other))


class Known:
    """What tells which objects belong to a module, and which are compared elsewhere."""

    def __init__(self):
        self.namespaces = set()  # the addresses of the globals of modules
        self.asking = set()  # modules that ask which subclasses their classes have
        self.foreign = {}  # (address of a class, module that has it): whether it is of another module, and the class

    def add(self, name, module):
        own = namespace(module)
        self.namespaces.add(id(own))
        path = own.get("__file__")
        if isinstance(path, str) and path.endswith(".py") and os.path.isfile(path):
            with open(path, "rb") as file:
                if b".__subclasses__" in file.read():
                    self.asking.add(name)

    def is_foreign(self, value, module, owner):
        """Whether a class is of another module, and compared there. That does not change when its module is loaded later."""
        key = (id(value), owner)
        if key not in self.foreign:
            # Classes made in C have no module name, and cannot be changed.
            self.foreign[key] = module != owner and (not isinstance(module, str) or module in sys.modules), value
        return self.foreign[key][0]


class ModuleState:
    def __init__(self, watched):
        self.watched = watched  # module: names of globals that differed in an earlier process
        self.running = []  # the modules whose code runs, the innermost last
        self.needs = {}  # module: those that its code imports
        self.first, self.last = {}, {}  # module: pictures of its globals, at its end and now
        self.known = Known()
        self.changes = []  # (changing module, changed module, name)

    def begin(self, name):
        self.look()
        self.needs_of_running(name)
        self.running.append(name)
        self.first.pop(name, None)
        self.last.pop(name, None)

    def end(self):
        changing = self.running[-1]
        self.look_at_watched(changing)
        self.running.pop()
        self.look_at_new()

    def needs_of_running(self, name):
        if self.running and isinstance(name, str):
            self.needs.setdefault(self.running[-1], set()).add(name)

    def look(self, changing=None):
        self.look_at_watched(self.running[-1] if self.running else changing)
        self.look_at_new()

    def look_at_new(self):
        for name in sys.modules.keys() - self.first.keys() - set(self.running):
            module = sys.modules[name]
            if isinstance(name, str) and name not in OWN_MODULES and issubclass(type(module), types.ModuleType):
                self.known.add(name, module)
                self.first[name] = self.pictures(name, None)
                if name in self.watched:
                    self.last[name] = self.pictures(name, self.watched[name])
            else:
                self.first[name] = None

    def look_at_watched(self, changing):
        for name, before in self.last.items():
            now = self.pictures(name, self.watched[name])
            for one in differences(before, now):
                if one in before or "__getattr__" not in now:  # __getattr__ may bind what it is asked for (PEP 562)
                    self.changes.append((changing, name, one))
            self.last[name] = now

    def pictures(self, name, wanted):
        """The picture of each global of a module, or of the wanted ones."""
        module, seen, found = sys.modules.get(name), set(), {}
        if not issubclass(type(module), types.ModuleType):
            return found
        for one, value in list(namespace(module).items()):
            if one in OWN_NAMES or wanted is not None and one not in wanted and one != "__getattr__":
                continue
            if issubclass(type(value), types.ModuleType) and sys.modules.get("{}.{}".format(name, one)) is value:
                continue  # an import of a module binds it in its package
            if one == "filters" and name in ("warnings", "_warnings"):
                value = repr([filter for filter in value if is_general(*filter)])
            found[one] = picture(value, name, self.known, set() if wanted is not None else seen)
        return found

    def unknown_changes(self):
        """(module, global) of what differs and was not watched."""
        for name, before in self.first.items():
            if before is not None and sys.modules.get(name) is not None:
                for one in differences(before, self.pictures(name, None)):
                    if one not in self.watched.get(name, ()):
                        yield name, one

    def needed(self, name):
        """The modules that are loaded wherever this one is."""
        found, queue = set(), [name]
        while queue:
            one = queue.pop()
            if one and one not in found:
                found.add(one)
                queue += self.needs.get(one, ())
                queue.append(one.rpartition(".")[0])
        return found

    def harmful_changes(self):
        """(changing module, changed module, global)."""
        needed = {}
        for changing, name, one in self.changes:
            if name not in needed:
                needed[name] = self.needed(name)
            if changing is not None and changing not in needed[name]:
                yield changing, name, one


def differences(before, now):
    return [name for name in {**before, **now} if not is_same(before.get(name, ()), now.get(name, ()))]
