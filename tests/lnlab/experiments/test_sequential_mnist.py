"""Sequential digits: the networks, effects of the seed, an update by hand, records, commands."""

import numpy as np
import pytest

from lnlab import records
from lnlab.experiments.sequential_mnist.run import (
    TUNED,
)


@pytest.mark.parametrize("kind", sorted(TUNED), ids="-".join)
def test_tuned_learning_rates_are_the_best_of_the_sweep(kind):
    cell, norm, step = kind
    nll = {}
    selected = {"data": "digits", "held_out": True, "cell": cell, "norm": norm, "step": step}
    for r in records.read_all("sequence", **selected):
        nll.setdefault(r["settings"]["learning_rate"], []).append(r["curves"]["test_nll"][-5:])
    mean = {rate: np.mean(curves) for rate, curves in nll.items()}
    assert len(mean) >= 4
    # Rows have three seeds. Pixels have one, and float32 sums in another order gave 0.60 and 0.80
    # for it, because 64 steps are chaotic.
    assert mean[TUNED[kind]] < {"row": 1.2, "pixel": 1.4}[step] * min(mean.values())
