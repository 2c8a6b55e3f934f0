"""Build what is compiled for this processor, if that was not done: ``python -m lnlib.nn.kernels``.

Says where it lies, or why there is none, in which case the status is 1.
"""

import sys

from lnlib.nn.kernels.cpu import layer_norm, recurrent

if __name__ == "__main__":
    is_available = [module.available() for module in (recurrent, layer_norm)]
    print(f"lnlib: compiled recurrences: {recurrent.reason()}")
    print(f"lnlib: compiled norms: {layer_norm.reason()}")
    # Without it, small norms take longer, and no more.
    print(f"lnlib: operator of the norms: {layer_norm.operator_reason()}")
    sys.exit(not all(is_available))
