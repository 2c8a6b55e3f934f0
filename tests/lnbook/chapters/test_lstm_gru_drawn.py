"""Gates: what recorded runs have learned is drawn, said and judged, on random records."""

import itertools
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.lstm_gru import learning_curves
from lnlab.comparison import UNTESTABLE
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import parsed
from tests.cases.protocol import Answer, end, holm, key, outcome, reason, to_targets

EPOCHS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
CELLS, STEPS = {"lstm": "LSTM", "gru": "GRU", "rnn": "simple RNN"}, ("row", "pixel")
SEEDS = {"layer": (*range(12)[::-1],), "none": (*range(2, 13),)}
LABELS = {"layer": "layer norm", "none": "no norm"}


def records():
    rng, result = np.random.default_rng(3), []
    kinds = [("layer", 1.0), ("none", 1.0)]
    for cell, step, (norm, gain) in [*itertools.product(CELLS, STEPS, kinds),
                                     ("lstm", "row", ("layer", 0.1))]:  # fmt: skip
        fall = 0.3 if (cell, step) == ("gru", "row") else rng.uniform(1.5, 5)
        for seed in SEEDS[norm] if step == "row" or norm == "none" else (2, 3, 4):
            curves = {"epoch": list(EPOCHS)} | {
                name: list(scale * (np.exp(-fall * np.array(EPOCHS)) + 0.1 * rng.uniform(size=6)))
                for name, scale in (("train_nll", 1), ("test_error", 0.3))
            }
            settings = {"cell": cell, "step": step, "norm": norm, "gain": gain,
                        "learning_rate": 0.01}  # fmt: skip
            result.append({"settings": settings, "seed": seed, "curves": curves})
    return result


RECORDS = records()


def runs(cell, step, norm, gain=1.0):
    wanted = {"cell": cell, "step": step, "norm": norm, "gain": gain}
    return {r["seed"]: r for r in sorted(RECORDS, key=lambda r: r["seed"])
            if wanted.items() <= r["settings"].items()}  # fmt: skip


def value(run, name, epoch):
    at = max(k for k, e in enumerate(EPOCHS) if e <= epoch)
    return (100 if name == "test_error" else 1) * run["curves"][name][at]


@pytest.mark.parametrize("epoch", [0.7, 4.0, 9.0])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("cell", CELLS)
def test_learning_is_drawn_with_its_range_and_said_at_the_cursor(cell, step, epoch):
    learned = learning_curves.SequentialDigitRuns(RECORDS)
    figures = learning_curves.draw_learned(learned, epoch, cell, step)
    wanted = [min(epoch, 4.0)]
    for name, figure in zip(("train_nll", "test_error"), figures, strict=True):
        dots = [(t.x[0], t.y[0]) for t in figure.data if t.mode == "markers"]
        means = []
        for norm, label in LABELS.items():
            of = runs(cell, step, norm)
            floor = {"train_nll": 7e-5, "test_error": 0.4}[name]  # where the axis begins
            rows = [[max(value(r, name, e), floor) for e in EPOCHS] for r in of.values()]
            check_band(lines(figure)[label], EPOCHS, rows)
            means.append(max(floor, fmean(value(r, name, epoch) for r in of.values())))
        np.testing.assert_allclose(dots, [(min(epoch, 4.0), mean) for mean in means])
    for norm in LABELS:
        of = runs(cell, step, norm).values()
        wanted += [fmean(value(r, n, epoch) for r in of) for n in ("train_nll", "test_error")]
    text = learning_curves.describe_learned(learned, epoch, cell, step)
    np.testing.assert_allclose(parsed(text), wanted, rtol=0.06, atol=0.051)


def test_updates_and_ends_have_the_labels_of_the_protocol_corrected_for_the_table():
    expected = [(cell, step, 1.0) for step in STEPS for cell in CELLS] + [("lstm", "row", 0.1)]
    results = []
    for cell, step, gain in expected:
        arms = runs(cell, step, "none"), runs(cell, step, "layer", gain)
        of = to_targets(*arms, lambda r: r["curves"]["train_nll"], lambda r: r["curves"]["epoch"])
        errors = {norm: {s: end([100 * v for v in r["curves"]["test_error"]])
                         for s, r in arm.items()}
                  for norm, arm in zip(("none", "layer"), arms, strict=True)}  # fmt: skip
        both = sorted(errors["none"].keys() & errors["layer"].keys())
        why = reason(arms, lambda r: r["curves"]["test_error"], lambda r: r["curves"]["epoch"])
        last = Answer([errors["layer"][s] - errors["none"][s] for s in both], "", untestable=why)
        means = [fmean(errors[norm][s] for s in both) for norm in ("layer", "none")]
        results.append((of, last, means))
    every = [one for of, last, _ in results for one in [*of, last]]
    for k, one in enumerate(every):
        one.what = str(k)
    p = holm(every)
    table = learning_curves.comparison(learning_curves.SequentialDigitRuns(RECORDS))
    assert parsed(table.caption) == [3, 10, len(p)]
    labels_observed = set()
    for row, (cell, step, _), (of, last, means) in zip(table.rows, expected, results, strict=True):
        assert row[0].startswith(f"{CELLS[cell]}, {step}s")
        labels = [outcome(one, p.get(key(one))) for one in of]
        labels_observed |= {*labels, outcome(last, p.get(key(last)))}
        assert row[3].endswith(outcome(last, p.get(key(last))))
        np.testing.assert_allclose(parsed(row[4]), means, atol=0.051)
        if labels[0].startswith(UNTESTABLE):
            assert (row[1], row[2]) == (labels[0], "–")
            continue
        if len(set(labels)) == 1 or "undecided" in labels:
            assert row[1].endswith(labels[0] if len(set(labels)) == 1 else "undecided")
        ratios = [100 * fmean(one.shares) + 100 for one in of]
        np.testing.assert_allclose(parsed(row[2]), ratios, atol=0.51)
    assert {"supported", "contradicted", "undecided"} < labels_observed
    assert {text for text in labels_observed if text.endswith("of 3 seeds")}
    assert {text for text in labels_observed if text.startswith(UNTESTABLE)}


def test_a_race_that_trains_now_is_drawn_and_said_as_far_as_it_is():
    rng = np.random.default_rng(0)
    results = [{norm: {"epoch": k / 2, "train_nll": rng.uniform(), "test_error": rng.uniform()}
                for norm in LABELS} for k in range(4)]  # fmt: skip
    nll, error = learning_curves.draw_side_by_side(results)
    for norm, label in LABELS.items():
        for figure, name, factor in ((nll, "train_nll", 1), (error, "test_error", 100)):
            line, *_ = lines(figure)[label]
            np.testing.assert_allclose(line.x, [0, 0.5, 1, 1.5])
            np.testing.assert_allclose(line.y, [factor * r[norm][name] for r in results])
    last = results[-1]
    wanted = [
        1.5,
        *(v for n in LABELS for v in (last[n]["train_nll"], 100 * last[n]["test_error"])),
    ]
    np.testing.assert_allclose(
        parsed(learning_curves.describe_side_by_side(results)), wanted, atol=0.051
    )
