"""Measure everything in this folder, print it, and keep it in ``_build/bench.json``.

Usage: python -m lnlib bench   (or: make bench)
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from bench import fisher, norm, pages, rnn
from lnlib.replay import record

MODULES = {"norm": norm, "rnn": rnn, "fisher": fisher, "pages": pages}


def main() -> int:
    """Run every benchmark; each prints its own table."""
    kept, start, load = {}, time.perf_counter(), os.getloadavg()
    for name, module in MODULES.items():
        print(f"\n{name}: {module.__doc__.splitlines()[0]}")
        kept[name] = module.main()
    kept["provenance"] = record.provenance(
        device="cpu", wall_s=time.perf_counter() - start, command="python -m lnlib bench"
    )
    # Others at work on the machine are in the figures: of the last minute, before and after.
    kept["provenance"]["load"] = [load[0], os.getloadavg()[0]]
    out = Path("_build/bench.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"\nLoad of the machine: {load[0]:.1f} before. Kept in {out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
