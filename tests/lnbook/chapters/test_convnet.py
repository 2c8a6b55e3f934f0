"""What is drawn and said is what was recorded."""

from types import SimpleNamespace

import numpy as np
import pytest

from lnbook.chapters.convnet import border, curves, norms, runs
from lnlab import comparison
from lnlab import records as record
from lnlab.experiments.convnet.results import TASK


@pytest.fixture(scope="module")
def book():
    return runs.Runs(record.read_all("convnet", maps=True))


def apart(known, data, cut, norm, layer, shown):
    """Ring less the rest, a number a channel, from a loop over places."""
    maps = known.maps[data, cut, norm]["arrays"][f"{shown}_{layer}"][-1].astype(float)
    last = maps.shape[-1] - 1
    sums = {True: [], False: []}
    for i in range(last + 1):
        for j in range(last + 1):
            sums[bool({i, j} & {0, last})].append(maps[:, i, j])
    edge, rest = (np.mean(sums[at], 0) for at in (True, False))
    if shown == "on":
        return 100 * (edge - rest) / 255
    return 100 * (edge - rest) / rest.mean()


def test_a_marker_is_the_mean_over_channels_and_its_bar_their_interval(book):
    for shown, kind in (("on", 0), ("deviation", 3)):
        data, cut = book.kinds()[kind]
        panel = border.draw_border(book, shown)[kind]
        for trace, norm in zip(panel.data[:3], runs.NORMS, strict=True):
            for k, layer in enumerate(runs.LAYERS):
                values = apart(book, data, cut, norm, layer, shown)
                low, high = comparison.interval(values)
                assert trace.x[k] == pytest.approx(values.mean(), rel=1e-6)
                assert trace.x[k] - trace.error_x.arrayminus[k] == pytest.approx(low, rel=1e-6)
                assert trace.x[k] + trace.error_x.array[k] == pytest.approx(high, rel=1e-6)
        shapes = [trace.marker.symbol for trace in panel.data[:3]]
        assert len(set(shapes)) == 3


def test_every_interval_lies_within_its_panel(book):
    for shown in border.SHOWN.values():
        for panel in border.draw_border(book, shown):
            low, high = panel.layout.xaxis.range
            for trace in panel.data[:3]:
                x, more, less = map(np.array, (trace.x, trace.error_x.array,
                                               trace.error_x.arrayminus))  # fmt: skip
                assert low < (x - less).min()
                assert (x + more).max() < high


def test_the_sentence_counts_the_layers_whose_interval_is_below_zero(book):
    text = border.describe_border(book, "on")
    for data, cut in book.kinds():
        plain, batch, layer = (
            sum(comparison.interval(apart(book, data, cut, norm, k, "on"))[1] < 0
                for k in runs.LAYERS)
            for norm in runs.NORMS
        )  # fmt: skip
        assert (
            f"{runs.PICTURES[data]}, {runs.CUTS[cut]}: no norm {plain}, batch norm {batch}, "
            f"layer norm {layer}"
        ) in text


def test_records_without_maps_are_refused():
    with pytest.raises(ValueError, match=r"must have maps, none has; record them .* --maps"):
        runs.Runs([made("none", 0, [0.5, 0.4])])


# The comparison of norms.


def made(norm, seed, errors, rate=0.1, **settings):
    """A record that need not have been; test errors are twice those on validation."""
    given = {"norm": norm, "initialization": "uniform", "learning_rate": rate, "batch_size": 2,
             "data": "fashion_small", "cut": 0, "epochs": 10, "maps": False}  # fmt: skip
    curves = {"epoch": [0, 1, 2], "val_error": errors, "test_error": [2 * e for e in errors],
              "wall_s": [1, 2 + seed, 9 + seed]}  # fmt: skip
    return {"settings": given | settings, "seed": seed, "curves": curves,
            "data": {"cases": {"train": 20}}}  # fmt: skip


def sweep(left_out=None):
    ends = {"none": 0.4, "batch": 0.2, "layer": 0.3, "channel": 0.45, "group": 0.2, "instance": 0.1}
    results = [
        made(norm, seed, [0.9, 0.38 if norm == "layer" else 0.6, end + 0.01 * seed])
        for norm, end in ends.items()
        for seed in (0, 1, 2)
    ]
    he = [made("none", seed, [0.9, 0.5, 0.4], initialization="he") for seed in (0, 1, 2)]
    # Another kind of runs, which would win.
    other_setting = [made("none", seed, [0.1, 0.0, 0.0], batch_size=4, cut=4) for seed in (0, 1, 2)]
    return [run for run in (*results, *he, *other_setting) if run["settings"]["norm"] != left_out]


def compared(records):
    default_runs = [run for run in records if run["settings"]["cut"] == 0]
    return norms.norms(SimpleNamespace(compared=default_runs), TASK).rows


def test_each_norm_has_its_updates_to_the_targets_and_its_error_at_the_end():
    rows = {row[0]: row[1:] for row in compared(sweep())}
    layer = rows["layer norm over channels and positions"]
    # No norm plateaus at the mean of 0.9, 0.6 and 0.41, so that the targets are 0.77, 0.7 and 0.66;
    # smoothed, layer norm's second point is the mean of all three.
    first = [(0.9 + 0.38 + end) / 3 for end in (0.3, 0.31, 0.32)]
    aims = [0.9 - part * (0.9 - (0.9 + 0.6 + 0.41) / 3) for part in (0.5, 0.75, 0.9)]
    means = [np.mean([10 * (0.9 - aim) / (0.9 - low) for low in first]) for aim in aims]
    assert layer[0] == "0.1"
    np.testing.assert_allclose([int(cell.split()[0]) for cell in layer[1:4]], means, atol=0.51)
    assert layer[4] == f"{200 * np.mean(first):.1f}%"  # twice as much on test data


def test_nothing_is_compared_before_every_arm_is_there_with_several_seeds():
    whole = sweep()
    for records in (sweep("group"), [run for run in whole if run["seed"] == 0], []):
        rows = compared(records)
        assert [row[0] for row in rows] == list(norms.NAMES.values())
        assert {row[1] for row in rows} == {norms.MISSING}


def test_curves_appear_with_the_last_arm_and_are_of_the_best_rates():
    default_runs = [run for run in sweep() if run["settings"]["cut"] == 0]
    worse = [made("layer", seed, [0.9, 0.8, 0.7], rate=0.2) for seed in (0, 1, 2)]
    known = SimpleNamespace(compared=[*default_runs, *worse])
    (figure,) = curves.draw_curves(known, TASK, "layer", "seconds")
    (layer,) = (t for t in figure.data if t.name == "layer norm")
    np.testing.assert_allclose(layer.x, [1, 3, 10])  # mean of the seeds
    np.testing.assert_allclose(layer.y, [90, 38, 31])
    text = curves.describe_curves(known, TASK, "layer", "updates")
    shown = [t.name for t in figure.data if "edge" not in t.name]
    assert shown == ["no norm", "batch norm", "layer norm"]
    assert "layer norm 31.0% after 20 updates" in text
    assert len({tuple(look[1:]) for look in curves.ARMS.values()}) == len(norms.NAMES)
    assert curves.curves(known, TASK) is not None
    fewer = [run for run in default_runs if run["settings"]["norm"] != "instance"]
    assert curves.curves(SimpleNamespace(compared=fewer), TASK) is None


def test_only_runs_of_the_usual_settings_are_compared(book):
    maps = next(iter(book.maps.values()))
    known = [made("layer", 0, [0.5], batch_size=64), made("layer", 0, [0.5], batch_size=4),
             made("layer", 0, [0.5], batch_size=64, data="mnist"), maps]  # fmt: skip
    assert runs.Runs(known).compared == known[:1]
