"""The traces of a figure, and checks of them against numbers computed elsewhere."""

from statistics import fmean

import numpy as np


def lines(figure):
    """Return the traces of a figure by name, each with the edges of its band."""
    traces = {t.name: t for t in figure.data if t.name}
    return {
        label: (t, traces.get(f"{label}, lower edge"), traces.get(f"{label}, upper edge"))
        for label, t in traces.items()
        if "edge" not in label
    }


def heights(figure):
    """Return the y of each trace that has a name."""
    return {t.name: np.array(t.y, dtype=float) for t in figure.data if t.name}


def check_band(line, where, by_seed, rtol=1e-6):
    """Compare a line and its band with the mean, the minimum and the maximum of the seeds."""
    columns = [*zip(*by_seed, strict=True)]
    for trace, of in zip(line, (fmean, min, max), strict=True):
        wanted = [of(column) for column in columns]
        if trace is None:
            assert all(len(set(column)) == 1 for column in columns)
            continue
        np.testing.assert_allclose(np.array(trace.x, float), where, rtol=rtol)
        np.testing.assert_allclose(np.array(trace.y, float), wanted, rtol=rtol)
