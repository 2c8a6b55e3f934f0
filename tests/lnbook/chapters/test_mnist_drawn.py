"""Figures, sentences and tables on MNIST, for synthetic records, compared with loops."""

import itertools
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.mnist import batch_means, batch_sizes, differences, figure_6, learning_rates
from lnbook.chapters.mnist.runs import MNISTRuns
from tests.cases.drawn import check_band, check_inside, lines
from tests.cases.oracle import parsed
from tests.cases.protocol import Answer, end, ends, holm, key, outcome, reason

EPOCHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 3.0)
LABELS = {"layer": "layer norm", "batch": "batch norm", "none": "no norm"}
RATE, SWEPT = 1e-3, (1e-4, 1e-3, 1e-2)
DIGITS = {"train_nll": 4, "test_error": 2}


def made(rng, norm, size, seed, rate=RATE):
    curves = {"epoch": list(EPOCHS)}
    for name, scale in (("train_nll", 1), ("test_nll", 2), ("test_error", 0.2)):
        level = rng.uniform(0.1, 1)  # per measure: their best runs differ
        slow = (norm, size) == ("none", 128)  # does not level off
        falls = np.exp(-(0.5 if slow else 4) * np.array(EPOCHS))
        ends = 0.2 + {("batch", 128): 0.02, ("batch", 4): 0.0025}.get((norm, size), 0)
        curves[name] = list(scale * (level * falls + ends + 0.01 * rng.uniform(size=8)))
    provenance = {"wall_s": 1.0, "device": "CPU: toy", "threads": 1, "date": "2026", "torch": "2"}
    settings = {
        "norm": norm, "batch_size": size, "epochs": 3, "learning_rate": rate, "data": "mnist",
    }  # fmt: skip
    named = {"experiment": "mnist", "settings": settings, "seed": seed}
    return {**named, "curves": curves, "provenance": provenance}


def book(many=False):
    rng = np.random.default_rng(7)
    seeds = {"layer": (3, 1, 0, 2), "batch": (1, 2, 3, 4), "none": (1, 2, 3)}
    if many:
        seeds = {norm: (*of, *range(5, 12)) for norm, of in seeds.items()}
    results = [made(rng, norm, size, seed) for norm, of in seeds.items() for size in (128, 4)
             for seed in of]  # fmt: skip
    results += [made(rng, norm, 4, seed, rate) for norm in ("layer", "batch")
              for rate in SWEPT if rate != RATE for seed in seeds[norm]]  # fmt: skip
    results += [made(rng, norm, size, seed) for norm, more in (("layer", (1, 2, 16)),
              ("batch", (2, 16))) for size in more for seed in seeds[norm]]  # fmt: skip
    return results


RECORDS = {many: book(many) for many in (False, True)}


def cell(many, norm, size, rate=RATE):
    """The runs of a group by seed."""
    return {r["seed"]: r for r in sorted(RECORDS[many], key=lambda r: r["seed"])
            if (r["settings"]["norm"], r["settings"]["batch_size"]) == (norm, size)
            and r["settings"]["learning_rate"] == rate}  # fmt: skip


def value(run, name, epoch):
    """The value of a curve at the last point that is not after an epoch."""
    at = max(k for k, e in enumerate(EPOCHS) if e <= epoch)
    return (100 if name == "test_error" else 1) * run["curves"][name][at]


def check_difference(text, d, name):
    reported = parsed(text)
    np.testing.assert_allclose(reported, [fmean(d), *ends(d)], atol=0.51 * 10 ** -DIGITS[name])


@pytest.mark.parametrize("epoch", [0.0, 0.5, 2.0])
def test_figure_6_shows_mean_and_range_and_is_described_at_the_cursor(epoch):
    known, until, norms = MNISTRuns(RECORDS[False]), 3.0, ["layer", "batch", "none"]
    panels = figure_6.draw(known, epoch, norms, until)
    text = figure_6.describe(known, epoch, norms, until)
    wanted = [epoch]
    for (name, size), panel in zip(
        itertools.product(("train_nll", "test_error"), (128, 4)), panels, strict=True
    ):
        for norm in norms:
            runs = cell(False, norm, size)
            rows = [[value(r, name, e) for e in EPOCHS] for r in runs.values()]
            check_band(lines(panel)[LABELS[norm]], EPOCHS, rows)
        dots = [(t.x[0], t.y[0]) for t in panel.data if t.mode == "markers"]
        means = [(epoch, fmean(value(r, name, epoch) for r in cell(False, norm, size).values()))
                 for norm in norms]  # fmt: skip
        np.testing.assert_allclose(dots, means)
        check_inside(panel)
    # The axes do not depend on the selected norms, so that batch sizes can be compared.
    ranges = [panel.layout.yaxis.range for panel in panels]
    assert ranges[::2] == ranges[1::2]
    alone = figure_6.draw(known, epoch, ["layer"], until)
    assert [panel.layout.yaxis.range for panel in alone] == ranges
    for size in (128, 4):
        wanted.append(size)
        for norm in norms:
            wanted += [fmean(value(r, n, epoch) for r in cell(False, norm, size).values())
                       for n in ("train_nll", "test_error")]  # fmt: skip
    np.testing.assert_allclose(parsed(text), wanted, atol=0.0051)


def at_the_end(many):
    """All final comparisons of two norms by the protocol, and their labels."""
    results = {}
    pairs = [("layer", "batch"), ("layer", "none"), ("batch", "none")]
    for pair, size, name in itertools.product(pairs, (128, 4), ("train_nll", "test_error")):
        b, a = (cell(many, norm, size) for norm in pair)
        factor = 100 if name == "test_error" else 1
        of = {s: [factor * v for v in b[s]["curves"][name]] for s in b}
        before = {s: [factor * v for v in a[s]["curves"][name]] for s in a}
        why = reason([a, b], lambda r, n=name: r["curves"][n], lambda r: r["curves"]["epoch"])
        results[*pair, size, name] = Answer(
            [end(of[s]) - end(before[s]) for s in sorted(a.keys() & b.keys())], "",
            untestable=why, what=f"{pair} {size} {name}",
        )  # fmt: skip
    p = holm(results.values())
    return {k: (one, outcome(one, p.get(key(one)))) for k, one in results.items()}


def test_final_differences_have_labels_corrected_for_all_pairs():
    kinds = {}
    for many in (False, True):
        wanted = at_the_end(many)
        result = differences.at_the_end(MNISTRuns(RECORDS[many]))
        assert {k: str(label) for k, (_, label) in result.items()} == {
            k: label for k, (_, label) in wanted.items()
        }
        kinds[many] = {label for _, label in wanted.values()}
    assert {"undecided", "supported"} < kinds[True]
    assert "not testable here: stopped before a plateau" in kinds[True] & kinds[False]
    alone = [outcome(one) for one, _ in at_the_end(True).values()]
    assert alone != [label for _, label in at_the_end(True).values()]  # corrected


def swept(norm, rate, name, epoch):
    return [value(cell(False, norm, 4, rate)[s], name, epoch) for s in (1, 2, 3)]


@pytest.mark.parametrize("epoch", [1.0, 3.0])
def test_the_best_rate_has_the_lowest_training_loss_and_the_table_its_differences(epoch):
    known = MNISTRuns(RECORDS[False])
    best = {}
    for norm in ("layer", "batch"):
        means = {rate: fmean(swept(norm, rate, "train_nll", epoch)) for rate in SWEPT}
        best[norm] = min(means, key=means.get)
        assert learning_rates.best_rate(known.rate_sweep, norm, epoch) == best[norm]
    if epoch < 3:
        return
    assert "95%" in learning_rates.rates(MNISTRuns(RECORDS[True])).caption
    table = learning_rates.rates(known)
    assert "95%" not in table.caption
    pairs = [(rate, rate) for rate in SWEPT] + [(best["layer"], best["batch"])]
    for row, (ours, theirs) in zip(table.rows, pairs, strict=True):
        for at, name in ((1, "train_nll"), (3, "test_error")):
            both = swept("layer", ours, name, 3), swept("batch", theirs, name, 3)
            d = [a - b for a, b in zip(*both, strict=True)]
            assert row[at] == outcome(Answer(d, ""))
            check_difference(row[at + 1], d, name)  # fmt: skip


@pytest.mark.parametrize("nll", ["train_nll", "test_nll"])
def test_batch_sizes_are_drawn_with_ranges_and_extremes_are_stated(nll):
    known = MNISTRuns(RECORDS[False])
    of = {"layer": (1, 2, 4, 16, 128), "batch": (2, 4, 16, 128)}

    def at(norm, size, name):
        return [value(cell(False, norm, size)[s], name, 3) for s in (1, 2, 3)]

    for name, figure in zip((nll, "test_error"), batch_sizes.draw_sizes(known, nll), strict=True):
        for norm, every in of.items():
            columns = [at(norm, size, name) for size in every]
            check_band(lines(figure)[LABELS[norm]], every, [*zip(*columns, strict=True)])
        check_inside(figure)
    wanted = [3]
    for norm, every in of.items():
        errors = {size: fmean(at(norm, size, "test_error")) for size in every}
        nlls = {size: fmean(at(norm, size, nll)) for size in every}
        for means, pick in ((errors, min), (errors, max), (nlls, min)):
            size = pick(means, key=means.get)
            wanted += [size, means[size]]
    np.testing.assert_allclose(parsed(batch_sizes.describe_sizes(known, nll)), wanted, atol=0.0051)


def test_the_error_of_a_batch_mean_is_one_over_the_root_of_the_batch_size():
    for size in batch_means.BATCH_SIZES:
        result = batch_means.errors(size)
        assert result.std() == pytest.approx(size**-0.5, rel=0.03)
        histogram, over_sizes = batch_means.draw_batch_means(size)
        assert sum(histogram.data[0].y) == pytest.approx(100, abs=0.5)
        assert max(histogram.data[0].y) < histogram.layout.yaxis.range[1]
        drawn = lines(over_sizes)
        assert drawn["batch norm"][0].y[batch_means.BATCH_SIZES.index(size)] == pytest.approx(
            result.std(), abs=1e-4
        )
        assert set(drawn["layer norm"][0].y) == {0}
        assert over_sizes.layout.shapes[0].x0 == size
        assert f"by {result.std():.2f} σ" in batch_means.describe_batch_means(size)


def test_sliders_stop_within_the_first_epoch_and_after_each_epoch():
    epochs = [*(k / 10 for k in range(11)), 2.0, 3.0]
    runs = []
    for run in RECORDS[False]:
        curves = {name: list(np.interp(epochs, EPOCHS, values))
                  for name, values in run["curves"].items()}  # fmt: skip
        runs.append(run | {"curves": curves | {"epoch": epochs}})
    assert figure_6.stops(MNISTRuns(runs)) == [0.0, 0.5, 1.0, 2.0, 3.0]
    assert learning_rates.rate_stops(MNISTRuns(runs)) == [0.5, 1.0, 2.0, 3.0]
