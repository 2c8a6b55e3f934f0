"""A compiler without optimization, which builds faster."""

import shlex

from lnlib.nn.kernels.cpu import build


def unoptimized(folder):
    """Return the path of a script that calls the compiler without optimization."""
    script = folder / "unoptimized"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(build._compiler())} "$@" -O0\n')
    script.chmod(0o700)
    return str(script)
