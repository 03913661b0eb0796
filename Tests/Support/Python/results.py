"""Prints the results of a suite's tests, a line for each, as Tests/Tools/test reads them."""
failures = 0


def report(name, is_good, text=""):
    """`text`: shown below a test that failed."""
    global failures
    lines = [("ok - " if is_good else "not ok - ") + name]
    if not is_good:
        failures += 1
        lines += ["    " + line for line in text.strip().splitlines()]
    # Written at once, so that the lines of processes that share an output stay together.
    print("\n".join(lines) + "\n", end="", flush=True)


def skip(name, reason):
    print(f"ok - {name} # SKIP {reason}\n", end="", flush=True)


def status():
    """The suite's exit status."""
    return int(failures > 0)
