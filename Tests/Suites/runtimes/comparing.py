"""Compares a direct run with a prewarmed one, byte by byte."""
import os
import re
import shutil
import tempfile

import instance
import results

# Texts that differ between any two runs of a program.
ALWAYS = [(rb"0x[0-9a-f]{6,}", b"0xADDRESS"), (rb"\bpid=\d+", b"pid=N"), (rb"\bstarted \d+", b"started N")]
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb",
               "SHELL": "/bin/sh", "FOO": "bär", "Z": "1", "A": "2"}


def is_wanted(name):
    return re.search(os.environ.get("CASES", ""), name)


class Language:
    """One interpreter and its cases, which run in a folder of their own.

    `prepare(options, imports, environment)` returns the words and the environment of the prewarm.
    """

    def __init__(self, name, interpreter, prepare):
        self.name, self.interpreter, self.prepare = name, interpreter, prepare
        self.executable = None  # the program that pauses, if the interpreter first executes others
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix=f"greenroom-{name}-"))

    def write(self, path, text, mode=0o644):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def pause(self, options=(), imports=(), environment=None, **more):
        words, variables = self.prepare(list(options), list(imports),
                                        dict(ENVIRONMENT if environment is None else environment))
        return instance.Instance(words, variables, self.executable, **more)

    def refused(self, name, options=(), imports=(), environment=None):
        """A case that must not pause, because something has happened that cannot be repeated at the launch."""
        if not is_wanted(name):
            return
        try:
            paused = self.pause(options, imports, environment)
        except instance.Refused:
            return results.report(f"{self.name}: {name}: does not pause", True)
        paused.end()
        return results.report(f"{self.name}: {name}: does not pause", False, "it has paused")

    def same(self, name, words, options=(), imports=(), environment=None, prewarm=None, directory="",
             given=b"one\ntwo\n", mask=0o027, anew=0, hides=(), direct=None, launch=None, change=None):
        """A case. `words` follow the interpreter and the options of the pause; `direct` are the whole words of the
        direct run, and `launch` those of the launch, where they are others. `prewarm`: the environment of the
        pause, if it is another. `anew`: the reason for which it must start anew. `change` is called between the
        pause and the launch."""
        def run(paused, words, launch, environment):
            folder = os.path.join(self.folder, directory)
            return (instance.run_directly(words, environment, folder, given, mask),
                    instance.run_prewarmed(paused, launch, environment, folder, given, mask))

        self._compare(name, words, run, options, imports, environment, prewarm, anew, hides, direct, launch, change)

    def same_on_both(self, name, words, given=b"one\ntwo\n", **more):
        """A case on pipes and, with the same input typed ahead, on a terminal."""
        self.same(name, words, given=given, **more)
        self.same_on_terminal(name, words, [], typed=given + b"\x04", **more)

    def same_on_terminal(self, name, words, dialogue, options=(), imports=(), environment=None, prewarm=None, directory="",
                         anew=0, hides=(), direct=None, launch=None, typed=b"", change=None):
        """A case on a terminal of its own. `dialogue`: a pattern to wait for, and what to type then, in turns. `typed` is
        typed before the start."""
        def run(paused, words, launch, environment):
            folder = os.path.join(self.folder, directory)
            return (instance.talk_directly(words, environment, folder, dialogue, typed),
                    instance.talk_prewarmed(paused, launch, environment, folder, dialogue, typed))

        self._compare(name + ", terminal", words, run, options, imports, environment, prewarm, anew, hides, direct, launch, change)

    def _compare(self, name, words, run, options, imports, environment, prewarm, anew, hides, direct, launch, change):
        if not is_wanted(name):
            return
        environment = dict(ENVIRONMENT if environment is None else environment)
        direct = direct or [self.interpreter, *options, *words]
        title = f"{self.name}: {name}"
        try:
            paused = self.pause(options, imports, prewarm if prewarm is not None else environment)
        except instance.Refused as refusal:
            return results.report(title, False, str(refusal))
        try:
            if change:
                change(paused)
            expected, found = run(paused, direct, launch or direct, environment)
        except instance.Refused as refusal:
            return results.report(title, False, str(refusal))
        finally:
            paused.end()
        text = differences(expected, found, [*ALWAYS, *hides])
        if paused.anew != anew:
            text += f"started anew for reason {paused.anew}, not {anew}\n"
        return results.report(title, not text, text)

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def differences(direct, prewarmed, hides):
    text = ""
    if direct.status != prewarmed.status:
        text += f"status {direct.status}, prewarmed {prewarmed.status}\n"
    for name, one, other in (("output", direct.output, prewarmed.output),
                             ("errors", direct.errors, prewarmed.errors)):
        for pattern, replacement in hides:
            one, other = (re.sub(pattern, replacement, each, flags=re.M) for each in (one, other))
        if one == other:
            continue
        one, other = one.split(b"\n"), other.split(b"\n")
        text += f"{name}:\n"
        for i in range(max(len(one), len(other))):
            pair = [lines[i] if i < len(lines) else b"" for lines in (one, other)]
            if pair[0] != pair[1]:
                text += f"  direct    {pair[0][:300]!r}\n  prewarmed {pair[1][:300]!r}\n"
    return text
