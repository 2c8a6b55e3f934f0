"""Build what is compiled for this processor, if that was not done: ``python -m lnlib.nn.kernels``.

Says where it lies, or why there is none, in which case the status is 1.
"""

import sys

from lnlib.nn.kernels import compiled, rows

if __name__ == "__main__":
    there = [module.available() for module in (compiled, rows)]
    print(f"lnlib: compiled recurrences: {compiled.reason()}")
    print(f"lnlib: compiled norms: {rows.reason()}")
    # Without it, small norms take longer, and no more.
    print(f"lnlib: operator of the norms: {rows.operator_reason()}")
    sys.exit(not all(there))
