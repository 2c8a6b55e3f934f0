"""Curves, sentences and tables, on synthetic records and those of the book."""

import functools
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.convnet import border, curves, runs, tables
from lnlab import comparison
from lnlab import records as record
from lnlab.experiments.convnet.results import TASK
from tests.cases import oracle, toy_records
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import parsed

CASES = ("better", "worse", "later")
MAPS = {"norm": "none", "data": "mnist", "crop": 0, "maps": True}


@functools.cache
def records(case):
    return [*toy_records.of_arms(case, "convnet")]


@functools.cache
def known(case):
    maps = {"settings": MAPS | {"batch_size": 64, "epochs": 10}}
    return runs.ConvnetRuns([*records(case), maps])


def arm(case, name):
    return oracle.arm(records(case), "convnet", name, "main")


@pytest.mark.parametrize("other", ["layer", "group"])
@pytest.mark.parametrize("case", CASES)
def test_curves_are_means_with_the_range_over_seeds(case, other):
    (figure,) = curves.draw_curves(known(case), TASK, other)
    wanted = []
    for name in [arm for arm in curves.ARMS if arm in ("none", "batch", other)]:
        of = arm(case, name)
        rows = [[100 * v for v in oracle.score(of[s])] for s in sorted(of)]
        places = oracle.updates(next(iter(of.values())))
        check_band(lines(figure)[curves.ARMS[name][0]], places, rows)
        means = [fmean(column) for column in zip(*rows, strict=True)]
        wanted += [min(means), places[means.index(min(means))]]
    result = parsed(curves.describe_curves(known(case), TASK, other))
    np.testing.assert_allclose(result[::2], wanted[::2], atol=0.051)
    np.testing.assert_allclose(result[1::2], wanted[1::2], atol=0.51)


@pytest.mark.parametrize("case", CASES)
def test_the_table_of_norms_has_rates_and_errors_at_the_end(case):
    table = tables.norm_table(known(case), TASK)
    for (name, label), row in zip(tables.LABELS.items(), table.rows, strict=True):
        of = arm(case, name)
        rate = next(iter(of.values()))["settings"]["learning_rate"]
        assert row[:2] == [label, f"{rate:g}*"]  # of two rates
        errors = [100 * fmean(oracle.numbers(run, "test_error")[-3:]) for run in of.values()]
        assert parsed(row[-1]) == [pytest.approx(fmean(errors), abs=0.051)]


def apart(known, data, crop, norm, layer, shown):
    """Border minus interior, one number per channel, from a loop over positions."""
    maps = known.maps[data, crop, norm]["arrays"][f"{shown}_{layer}"][-1].astype(float)
    last = maps.shape[-1] - 1
    sums = {True: [], False: []}
    for i in range(last + 1):
        for j in range(last + 1):
            sums[bool({i, j} & {0, last})].append(maps[:, i, j])
    edge, rest = (np.mean(sums[at], 0) for at in (True, False))
    if shown == "on":
        return 100 * (edge - rest) / 255
    return 100 * (edge - rest) / rest.mean()


def test_a_marker_is_the_mean_over_channels_and_its_bar_their_interval():
    book = runs.ConvnetRuns(record.read_all("convnet", maps=True))
    for shown, kind in (("on", 0), ("deviation", 3)):
        data, crop = book.map_keys()[kind]
        panel = border.draw_border(book, shown)[kind]
        for trace, norm in zip(panel.data[:3], runs.NORMS, strict=True):
            for k, layer in enumerate(runs.LAYERS):
                values = apart(book, data, crop, norm, layer, shown)
                low, high = comparison.interval(values)
                assert trace.x[k] == pytest.approx(values.mean(), rel=1e-6)
                assert trace.x[k] - trace.error_x.arrayminus[k] == pytest.approx(low, rel=1e-6)
                assert trace.x[k] + trace.error_x.array[k] == pytest.approx(high, rel=1e-6)
