"""Build the recurrences for this processor, if that was not done: ``python -m lnlib.nn.kernels``.

Says where they lie, or why there are none, in which case the status is 1.
"""

import sys

from lnlib.nn.kernels import compiled

if __name__ == "__main__":
    there = compiled.available()
    print(f"lnlib: compiled recurrences: {compiled.reason()}")
    sys.exit(not there)
