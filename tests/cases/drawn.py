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


def check_inside(figure, but=()):
    """Check that axes with a fixed range show all points."""
    for letter in "xy":
        axis = figure.layout[f"{letter}axis"]
        if axis.range is None or axis.type == "category":
            continue
        low, high = sorted(axis.range)
        for trace in figure.data:
            if trace.name in but:
                continue
            values = np.array([np.nan if v is None else v for v in trace[letter]], float)
            values = values[np.isfinite(values)]
            if axis.type == "log":
                assert (values > 0).all(), trace.name
                values = np.log10(values)
            room = 1e-9 * max(1, high - low)
            assert (values >= low - room).all(), (letter, trace.name, low, values.min())
            assert (values <= high + room).all(), (letter, trace.name, high, values.max())
