"""Reads what a program of Python imports first: the import statements at its beginning, before any other code.

A beginning is a list of words: `X.Y` for `import X.Y`, and `X:a` for `from X import a`. Nothing of the program runs here.
"""
import os
import sys

# In bytes; what comes later in a program does not belong to its beginning.
SIZE_LIMIT = 65536
# A word is a part of a line of a list, which is at most 512 bytes long.
WORD_LIMIT = 400
# Another encoding could be one that a module of the list has registered.
ENCODINGS = {b"utf-8", b"utf8", b"ascii", b"us-ascii", b"latin-1", b"iso-8859-1", b"iso-8859-15"}
# ast.PyCF_ONLY_AST
TREE_ONLY = 0x400


def beginning_of(path):
    """The beginning of the program in a file; empty if it has none, or if it is not certain what the interpreter will
    make of the file."""
    # A program that is compiled is recognized by its name.
    if path.endswith(".pyc"):
        return []
    try:
        if os.stat(path).st_mode & 0o170000 != 0o100000:
            return []  # to read it would take from the program what it is to read
        with open(path, "rb") as file:
            text = file.read(SIZE_LIMIT)
    except OSError:
        return []
    if len(text) == SIZE_LIMIT:
        text = text[:text.rfind(b"\n") + 1]
    text = _first_lines(text)
    if not all(map(_has_known_encoding, text.splitlines()[:2])):
        return []
    try:
        tree = _parsed(text)
    except (SyntaxError, ValueError):
        return []
    return _words(tree)


def _first_lines(text):
    """The lines at the beginning that may be imports, strings or comments, without looking at the rest of a long program.
    If such a line is only the beginning of a longer statement, the statement ends with a line that has `closing`."""
    end, closing = 0, None
    for line in text.splitlines(True):
        if closing is not None:
            if closing in line:
                closing = b"" if not closing and _is_continued(line) else None
        elif line.startswith((b"import ", b"import\t", b"from ", b"from\t")):
            if b"(" in line and b")" not in line:
                closing = b")"
            elif _is_continued(line):
                closing = b""
        elif line.lstrip(b"rRuU").startswith((b'"', b"'")):
            quote = next((one for one in (b'"""', b"'''") if line.lstrip(b"rRuU").startswith(one)), None)
            closing = quote if quote and line.count(quote) < 2 else None
        elif line.strip() and not line.strip().startswith(b"#"):
            break
        end += len(line)
    return text[:end]


def _is_continued(line):
    return line.rstrip(b"\r\n").endswith(b"\\")


def _has_known_encoding(line):
    """Python takes the first `coding` that : or = follows."""
    rests = [rest for rest in line.split(b"coding")[1:] if rest[:1] in (b":", b"=")]
    return not rests or (rests[0][1:].split() or [b""])[0].lower() in ENCODINGS


def _parsed(text):
    """The tree of the text. The interpreter will give the same warnings when it reads the program."""
    filters = (sys.modules.get("warnings") or sys.modules["_warnings"]).filters
    kept = filters[:]
    filters[:] = [("ignore", None, Warning, None, 0)]
    try:
        return compile(text, "<beginning>", "exec", TREE_ONLY, dont_inherit=True)
    finally:
        filters[:] = kept


def _words(tree):
    found = []
    for statement in tree.body:
        kind = type(statement).__name__
        if kind == "Expr" and isinstance(getattr(statement.value, "value", None), str):
            continue
        if kind == "Import":
            words = [one.name for one in statement.names]
        elif kind == "ImportFrom" and not statement.level and statement.names[0].name != "*":
            words = [statement.module + ":" + one.name for one in statement.names]
        else:
            break
        if not all(word.isascii() and len(word) <= WORD_LIMIT for word in words):
            break
        found += words
    return found


def modules_of(word):
    """The modules that the word names, if the second is one."""
    name, _, attribute = word.partition(":")
    return [name, name + "." + attribute] if attribute else [name]


def load(word):
    """Imports what the word says, as the statement of a program does."""
    name, _, attribute = word.partition(":")
    module = __import__(name, None, None, (attribute,) if attribute else None, 0)
    if attribute and not hasattr(module, attribute) and name + "." + attribute not in sys.modules:
        raise ImportError("cannot import {!r} from {!r}".format(attribute, name))


def bound(word):
    """What a statement with this word binds now, without a call of the modules' code."""
    name, _, attribute = word.partition(":")
    names = name.split(".") + ([attribute] if attribute else [])
    found = [sys.modules.get(names[0]), sys.modules.get(name)]
    for index in range(1, len(names)):
        try:
            own = object.__getattribute__(sys.modules[".".join(names[:index])], "__dict__")
        except (KeyError, AttributeError):
            own = {}
        found.append(own.get(names[index], sys.modules.get(".".join(names[:index + 1]))))
    return found
