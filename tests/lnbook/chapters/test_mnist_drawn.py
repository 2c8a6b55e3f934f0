"""Figures, sentences and tables on MNIST, for synthetic records, compared with loops."""

import itertools
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.mnist import differences, figure_6, learning_rates
from lnbook.chapters.mnist.runs import MNISTRuns
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import by_seed, parsed
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
    return results


RECORDS = {many: book(many) for many in (False, True)}


def cell(many, norm, size, rate=RATE):
    """The runs of a group by seed."""
    return by_seed(RECORDS[many], norm=norm, batch_size=size, learning_rate=rate)


def value(run, name, epoch):
    """The value of a curve at the last point that is not after an epoch."""
    at = max(k for k, e in enumerate(EPOCHS) if e <= epoch)
    return (100 if name == "test_error" else 1) * run["curves"][name][at]


def check_difference(text, d, name):
    reported = parsed(text)
    np.testing.assert_allclose(reported, [fmean(d), *ends(d)], atol=0.51 * 10 ** -DIGITS[name])


@pytest.mark.parametrize("epoch", [0.0, 0.5])
def test_figure_6_shows_mean_and_range_and_is_described_at_the_cursor(epoch):
    known, norms = MNISTRuns(RECORDS[False]), ["layer", "batch", "none"]
    panels = figure_6.draw(known, epoch, norms, 3.0)
    shown = itertools.product(("train_nll", "test_error"), (128, 4))
    means = {}
    for (name, size), panel in zip(shown, panels, strict=True):
        for norm in norms:
            runs = cell(False, norm, size).values()
            rows = [[value(r, name, e) for e in EPOCHS] for r in runs]
            check_band(lines(panel)[LABELS[norm]], EPOCHS, rows)
            means[size, norm, name] = fmean(value(r, name, epoch) for r in runs)
        dots = [(t.x[0], t.y[0]) for t in panel.data if t.mode == "markers"]
        np.testing.assert_allclose(dots, [(epoch, means[size, norm, name]) for norm in norms])
    wanted = [epoch]
    for size in (128, 4):
        wanted.append(size)
        wanted += [means[size, n, name] for n in norms for name in ("train_nll", "test_error")]
    text = figure_6.describe(known, epoch, norms, 3.0)
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
    for many in (False, True):
        wanted = {k: label for k, (_, label) in at_the_end(many).items()}
        result = differences.at_the_end(MNISTRuns(RECORDS[many]))
        assert {k: str(label) for k, (_, label) in result.items()} == wanted
    assert {"undecided", "supported"} < {*wanted.values()}
    alone = [outcome(one) for one, _ in at_the_end(True).values()]
    assert alone != [*wanted.values()]  # corrected


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
