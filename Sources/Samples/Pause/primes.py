#!/usr/bin/env python3
"""Says which numbers are prime, as primes.c does. Its manifest:

    [App]
    Exec=/usr/local/bin/primes.py
    [Prewarm]
    Depth=declared

Greenroom pauses programs in Python after the interpreter's start without any of this. A program that pauses
itself decides how much of its own work comes before the pause.
"""
import ctypes
import os
import sys

LIMIT = 1_000_000


def make_table():
    table = bytearray(b"\x01") * LIMIT
    table[0] = table[1] = 0
    for number in range(2, int(LIMIT ** 0.5) + 1):
        if table[number]:
            table[number * number::number] = bytes(len(range(number * number, LIMIT, number)))
    return table


def prewarm_pause():
    """Waits for the launch, and gives the process its arguments, variables and streams."""
    pause = getattr(ctypes.CDLL(None), "greenroom_prewarm_pause", None)
    argc, argv, envp = ctypes.c_int(), ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_char_p)()
    if not pause or not pause(ctypes.byref(argc), ctypes.byref(argv), ctypes.byref(envp)):
        return
    # The interpreter and its options come before the script's name.
    first = len(sys.orig_argv) - len(sys.argv)
    sys.argv[1:] = [os.fsdecode(argv[i]) for i in range(first + 1, argc.value)]
    variables, number = {}, 0
    while envp[number] is not None:
        name, equals, value = envp[number].partition(b"=")
        if equals:
            variables.setdefault(name, value)
        number += 1
    for name in set(os.environb) - set(variables):
        del os.environb[name]
    os.environb.update(variables)
    # At the pause, it was not yet known whether the launch would bring a terminal.
    for stream in sys.stdin, sys.stdout:
        stream.reconfigure(line_buffering=stream.isatty())


table = make_table()
prewarm_pause()
for word in sys.argv[1:]:
    if not 0 <= int(word) < LIMIT:
        sys.exit(f"{word}: not in the table")
    print(f"{word}: {os.environ.get('PRIME', 'prime') if table[int(word)] else 'no'}")
