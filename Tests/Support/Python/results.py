"""Prints the results of a suite's tests, a line for each, as Tests/Tools/test reads them."""
failures = 0


def report(name, is_good, text=""):
    """`text`: shown below a test that failed."""
    global failures
    print(("ok - " if is_good else "not ok - ") + name, flush=True)
    if not is_good:
        failures += 1
        print("".join(f"    {line}\n" for line in text.strip().splitlines()), end="", flush=True)


def skip(name, reason):
    print(f"ok - {name} # SKIP {reason}", flush=True)


def status():
    """The suite's exit status."""
    return int(failures > 0)
