"""Compares a direct run with a prewarmed one, byte by byte."""
import os
import re
import shutil
import tempfile

import instance
import results

# What differs between any two runs of a program.
ALWAYS = [(rb"0x[0-9a-f]{6,}", b"0xADDRESS"), (rb"\bpid=\d+", b"pid=N"), (rb"\bstarted \d+", b"started N")]
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb",
               "SHELL": "/bin/sh", "FOO": "bär", "Z": "1", "A": "2"}


class Language:
    """One interpreter and its cases, which run in a folder of their own.

    `prepare(options, imports, environment)` returns the words and the environment of the prewarm.
    """

    def __init__(self, name, interpreter, prepare):
        self.name, self.interpreter, self.prepare = name, interpreter, prepare
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix=f"greenroom-{name}-"))
        self.count = 0

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
        return instance.Instance(words, variables, **more)

    def same(self, name, words, options=(), imports=(), environment=None, prewarm=None, directory="",
             given=b"one\ntwo\n", mask=0o027, anew=0, hides=(), direct=None, launch=None, change=None):
        """A case. `words` follow the interpreter and the options of the pause; `direct` are the whole words of the
        direct run, and `launch` those of the launch, where they are others. `prewarm`: the environment of the
        pause, if it is another. `anew`: the reason for which it must start anew. `change` is called between the
        pause and the launch."""
        self.count += 1
        environment = dict(ENVIRONMENT if environment is None else environment)
        direct = direct or [self.interpreter, *options, *words]
        directory = os.path.join(self.folder, directory)
        title = f"{self.name}: {name}"
        try:
            paused = self.pause(options, imports, prewarm if prewarm is not None else environment)
        except instance.Refused as refusal:
            return results.report(title, False, str(refusal))
        try:
            if change:
                change()
            expected = instance.run_directly(direct, environment, directory, given, mask)
            found = instance.run_prewarmed(paused, launch or direct, environment, directory, given, mask)
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
