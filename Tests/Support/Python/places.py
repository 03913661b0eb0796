"""Where things are, and how long a test waits for them."""
import os

ROOT = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/../../..")
# The folder with the binaries: PRODUCT=, or the debug build. As the daemon does, without symbolic links.
PRODUCT = os.path.realpath(os.environ.get("PRODUCT", ROOT + "/.build/debug"))
DEADLINE = 60  # in seconds; a machine under load is slow, but a hang never ends
FACT_DEADLINE = 4 * DEADLINE  # what the daemon lets run only on an idle processor waits for that, too
