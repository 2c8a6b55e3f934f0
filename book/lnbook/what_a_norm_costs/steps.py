"""The time of a training step: each way to compute it, beside its floor."""

from __future__ import annotations

from lnbook.show.explore import Table
from lnbook.show.plots import NORMS
from lnbook.what_a_norm_costs.bench import Bench
from lnbook.what_a_norm_costs.written import duration


def steps(bench: Bench, batch_size: int) -> Table:
    """Return the time of a training step of section 6.6, for each norm and way to compute it."""
    norms = {n: f"MNIST step, {n}" for n in ("none", "layer", "batch")}
    norms["layer norm, after 2,000"] = "MNIST step 2,000, layer"
    shape = f"batch size {batch_size}"
    found = {n: {r["path"]: r for r in bench.pick(w, shape=shape)} for n, w in norms.items()}
    paths = list(found["layer"])
    rows = [[p, *(duration(f[p]["ms"]) if p in f else "–" for f in found.values())] for p in paths]
    rows.append(["floor", *(duration(f["plain"]["floor_ms"]) for f in found.values())])
    late = found["layer norm, after 2,000"]["plain"]["instead_ms"]
    rows.append(["plain, denormals as 0", *["–"] * 3, duration(late)])
    labels = [NORMS[n][0] if n in NORMS else n for n in norms]
    return Table(["step", *labels], rows, f"One training step, {shape}.")
