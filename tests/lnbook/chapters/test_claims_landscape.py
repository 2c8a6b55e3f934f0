"""The landscape of a small network: lines, bands and sentence, on random records."""

import math
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.claims import landscape
from tests.cases.drawn import lines
from tests.cases.oracle import by_seed

EPOCHS = (0.0, 0.5, 1.0, 2.0)
LABELS = {"layer": "layer norm", "batch": "batch norm", "none": "no norm", "rms": "RMS norm"}
CURVES = {"effective smoothness": ("smoothness",), "range of the loss": ("loss_range",),
          "change of the gradient": ("gradient_change",),
          "covariate shift": ("shift_1", "shift_2", "shift_3")}  # fmt: skip


def records():
    rng, result = np.random.default_rng(2), []
    for rate in (0.1, 1.0):
        for norm in LABELS:
            for seed in (1, 0, 2):
                curves = {"epoch": list(EPOCHS)}
                for names in CURVES.values():
                    for name in names:
                        curves[name] = list(rng.lognormal(0, 1, 4))
                if (norm, seed) == ("batch", 2):  # a point without a number, and one without a log
                    curves["smoothness"][1], curves["loss_range"][2] = None, 0.0
                result.append({"settings": {"norm": norm, "learning_rate": rate}, "seed": seed,
                              "curves": curves})  # fmt: skip
    return result


RECORDS = records()


def measured(norm, rate, measure):
    """A measure by seed; of several layers their geometric mean."""
    results = []
    for run in by_seed(RECORDS, norm=norm, learning_rate=rate).values():
        columns = zip(*(run["curves"][name] for name in CURVES[measure]), strict=True)
        results.append([math.exp(fmean(map(math.log, c))) if all(v is not None and v > 0 for v in c)
                      else math.nan for c in columns])  # fmt: skip
    return results


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("measure", CURVES)
def test_lines_are_geometric_means_in_a_band_of_the_seeds(measure, rate):
    known = landscape.LandscapeRuns(RECORDS)
    figure = landscape.draw(known, measure, rate)
    text = landscape.describe(known, measure, rate)
    for norm, label in LABELS.items():
        rows = measured(norm, rate, measure)
        columns = [*zip(*rows, strict=True)]
        shown = [k for k, c in enumerate(columns) if not any(map(math.isnan, c))]
        middle, low, high = lines(figure)[label]
        for trace, of in (
            (middle, lambda c: math.exp(fmean(map(math.log, c)))), (low, min), (high, max),
        ):  # fmt: skip
            np.testing.assert_allclose(trace.x, [EPOCHS[k] for k in shown])
            np.testing.assert_allclose(trace.y, [of(columns[k]) for k in shown], atol=6e-6)
        every = [math.log(v) for row in rows for v in row if not math.isnan(v)]
        value = float(text.partition("seeds: ")[2].rstrip(".").split(f"{label} ")[1].split(",")[0])
        assert value == pytest.approx(math.exp(fmean(every)), rel=0.06)
    assert f"At learning rate {rate:g}, {measure}," in text
    assert "and 3 seeds" in text
