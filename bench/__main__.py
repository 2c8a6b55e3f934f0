"""Run all benchmarks in this folder, print one table, and store it in ``_build/bench.json``.

Usage: python -m lnlab bench [--keep]   (or: make bench, make bench KEEP=1)
       python -m bench norm rnn         runs some of them and stores nothing

With ``--keep``, the rows are also stored in ``book/runs/bench.json``, which the book shows. They
replace the rows of the same device; rows of other devices are kept.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from bench import exchange, experiments, fisher, mnist, norm, pages, rnn, table
from lnlab import records

MODULES = {
    "norm": norm,
    "rnn": rnn,
    "fisher": fisher,
    "mnist": mnist,
    "experiments": experiments,
    "exchange": exchange,
    "pages": pages,
}
OUT = Path("_build/bench.json")


def measure(names: list[str], device: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run benchmarks on one device, print their rows, and return them and their provenance."""
    rows, start, load = [], time.perf_counter(), os.getloadavg()
    for name in names:
        begin = time.perf_counter()
        with threadpool_limits(torch.get_num_threads(), "blas"):
            result = MODULES[name].rows(device)
        if not result:  # some benchmarks are only for the CPU
            continue
        print(f"\n{name}: {MODULES[name].__doc__.splitlines()[0]}")
        table.show(result)
        table.check_floors(result, name)  # fail before the rest is measured
        print(f"{time.perf_counter() - begin:.0f} s", flush=True)
        rows += result
    run_provenance = records.provenance(
        device=device, wall_s=time.perf_counter() - start, command="python -m lnlab bench"
    )
    # Other programs affect the results, so the load of the last minute is stored, before and after.
    run_provenance["load"] = [round(load[0], 2), round(os.getloadavg()[0], 2)]
    run_provenance["cpus"] = os.cpu_count()
    return rows, run_provenance


def main(names: list[str] | None = None, *, keep: bool = False) -> int:
    """Run the benchmarks, print the results and, if all were run, store them.

    Args:
        names: Some of :data:`MODULES`; ``None`` means all.
        keep: Whether to store the rows in the book's table, too.
    """
    if keep and names:
        raise ValueError("bench: --keep stores the whole table and cannot be combined with names")
    old = table.read(table.PATH) if keep and table.PATH.exists() else None  # fail early
    new: dict[str, Any] = {"format": table.FORMAT, "rows": [], "provenance": {}}
    for device in ("cpu", "cuda")[: 1 + torch.cuda.is_available()]:
        rows, run_provenance = measure(names or list(MODULES), device)
        new["rows"] += rows
        if rows:
            new["provenance"][rows[0]["device"]] = run_provenance
            print(
                f"\n{rows[0]['device']}. Load of the machine: {run_provenance['load'][0]} before."
            )
    if names:
        return 0
    table.write(new, OUT)
    print(f"Stored in {OUT}.")
    if keep:
        for device in old["provenance"] if old else []:
            what = "replaces" if device in new["provenance"] else "leaves"
            date = old["provenance"][device]["date"]
            print(f"{table.PATH.name}: {what} the rows of {device}, measured {date}.")
        table.write(table.merge(old, new) if old else new, table.PATH)
        print(f"Kept in {table.PATH}.")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODULES))
    parser.add_argument("--keep", action="store_true", help="store in book/runs/bench.json, too")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(MODULES):
        parser.error(f"the benchmarks are {', '.join(MODULES)}, got {', '.join(sorted(unknown))}")
    try:
        sys.exit(main(chosen.names or None, keep=chosen.keep))
    except (ValueError, RuntimeError) as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(1)
