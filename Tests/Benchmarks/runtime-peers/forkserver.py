"""multiprocessing's forkserver with preloaded modules: starts a process for each line of standard input and prints the
nanoseconds until the first byte of its program's output, and until its end.

    forkserver.py SCRIPT MODULE...
"""
import multiprocessing
import os
import sys
import time


def run_script(path, output):
    """In the process that was forked."""
    import runpy
    os.dup2(output.fileno(), 1)
    runpy.run_path(path, run_name="__main__")
    sys.stdout.flush()
    os._exit(0)


def main():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["runpy", *sys.argv[2:]])
    for _ in sys.stdin:
        reader, writer = context.Pipe(duplex=False)
        began = time.monotonic_ns()
        process = context.Process(target=run_script, args=(sys.argv[1], writer))
        process.start()
        writer.close()
        os.read(reader.fileno(), 1)
        first = time.monotonic_ns()
        while os.read(reader.fileno(), 65536):
            pass
        print(first - began, time.monotonic_ns() - began, flush=True)
        process.join()


# The forked process imports this file for `run_script`, and so does not run main again.
if __name__ == "__main__":
    main()
