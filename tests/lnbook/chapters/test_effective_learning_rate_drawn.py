"""Weight scale: what is drawn, said and tabulated of recorded runs, on random records."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.effective_learning_rate import training
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import parsed
from tests.cases.protocol import Answer, ends, holm, key, outcome

EPOCHS = (0.0, 0.5, 1.0, 5.0, 10.0, 15.0, 20.0)
LABELS = {"layer": "layer norm", "batch": "batch norm", "none": "no norm"}
SCALES = {0.25: "× 0.25", 1.0: "× 1", 4.0: "× 4", 16.0: "× 16"}
RATE = {"sgd": 0.1, "adam": 0.001}


def records(seeds):
    rng, result = np.random.default_rng(5), []
    falls = np.array(EPOCHS) * (24 - np.array(EPOCHS)) / 100  # and rises: no end is the lowest
    for norm, optimizer, scale in itertools.product(LABELS, RATE, SCALES):
        for seed in seeds:
            curves = {
                "epoch": list(EPOCHS),
                "train_nll": list(rng.uniform(0.5, 2, 7) * np.exp(-falls)),
            }
            for layer in (1, 2):
                curves[f"length_{layer}"] = list(scale * rng.uniform(5, 11, 7))
                curves[f"square_{layer}"] = list(scale * rng.uniform(5, 11, 7))
                curves[f"turn_{layer}"] = [None, *rng.uniform(0.1, 5, 6)]
            settings = {"norm": norm, "optimizer": optimizer, "scale": scale,
                        "learning_rate": RATE[optimizer]}  # fmt: skip
            result.append({"settings": settings, "seed": seed, "curves": curves})
    return result  # fmt: skip


RECORDS = {3: records((2, 0, 1)), 10: records(range(10))}


def rows(name, norm, optimizer="sgd", scale=1.0, count=3):
    return [r["curves"][name] for r in sorted(RECORDS[count], key=lambda r: r["seed"])
            if (r["settings"]["norm"], r["settings"]["optimizer"], r["settings"]["scale"])
            == (norm, optimizer, scale)]  # fmt: skip


def means(values):
    return [fmean(column) for column in zip(*values, strict=True)]


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("optimizer", RATE)
def test_length_and_turn_are_means_and_the_growth_is_said(optimizer, layer):
    known = training.WeightGrowthRuns(RECORDS[3])
    lengths, turns = training.draw_training(known, optimizer, layer)
    text = training.describe_training(known, optimizer, layer)
    grown, falls = [], []
    for norm, label in LABELS.items():
        length, square = (
            means(rows(f"{n}_{layer}", norm, optimizer)) for n in ("length", "square")
        )
        line, *_ = lines(lengths)[label]
        np.testing.assert_allclose(line.y, length, rtol=1e-3)
        dots, *_ = lines(lengths)[f"{label}, Pythagoras"]
        np.testing.assert_allclose(dots.x, EPOCHS[::3])
        np.testing.assert_allclose(dots.y, square[::3], atol=6e-4)
        turned = [row[1:] for row in rows(f"turn_{layer}", norm, optimizer)]
        check_band(lines(turns)[label], EPOCHS[1:], turned, rtol=1e-3)
        grown += [length[0], length[-1], square[-1]]
        rates = [[RATE[optimizer] / v**2 for v in row]
                 for row in rows(f"length_{layer}", norm, optimizer)]  # fmt: skip
        rate = means(rates)
        falls.append(100 * rate[-1] / rate[0])
    first, second = text.split(" The ratio λ/‖W‖² falls ")
    np.testing.assert_allclose(parsed(first), [20, *grown], atol=0.0051)
    np.testing.assert_allclose(parsed(second), [*falls, 3], atol=0.51)


@pytest.mark.parametrize("norm", LABELS)
def test_four_starts_are_drawn_and_said_from_first_to_last(norm):
    known = training.WeightGrowthRuns(RECORDS[3])
    lengths, losses = training.draw_starts(known, norm)
    parts = training.describe_starts(known, norm).partition(": ")[2].split("; ")
    for (scale, label), part in zip(SCALES.items(), parts, strict=True):
        length = means(rows("length_2", norm, scale=scale))
        loss = rows("train_nll", norm, scale=scale)
        np.testing.assert_allclose(lines(lengths)[label][0].y, length, rtol=1e-3)
        check_band(lines(losses)[label], EPOCHS, loss, rtol=1e-3)
        wanted = [length[0], length[-1], means(loss)[-1]]
        reported = parsed(part.removeprefix(label).partition(" nats")[0])
        np.testing.assert_allclose(reported, wanted, rtol=0.06)


@pytest.mark.parametrize("count", [3, 10])
def test_the_loss_from_other_starts_is_a_ratio_with_its_bounds(count):
    table = training.recovered(training.WeightGrowthRuns(RECORDS[count]))
    assert ("95% interval" in table.caption) == (count == 10)
    assert ("lowest to highest" in table.caption) == (count == 3)
    assert str(count) in table.caption
    other = [(s, n) for s, n in SCALES.items() if s != 1]
    answers = {}
    for scale, _ in other:
        for norm in LABELS:
            changed, drawn = (rows("train_nll", norm, scale=s, count=count) for s in (scale, 1.0))
            lower = [math.log(b[-1] / a[-1]) for a, b in zip(changed, drawn, strict=True)]
            answers[scale, norm] = Answer(lower, "", what=f"{scale} {norm}")
    p = holm(answers.values())
    assert len(p) == (len(answers) if count >= 10 else 0)
    for (scale, label), row in zip(other, table.rows, strict=True):
        assert row[0] == label
        for norm, cell, badge in zip(LABELS, row[1::2], row[2::2], strict=True):
            answer = answers[scale, norm]
            logs = [-d for d in answer.differences]
            wanted = [math.exp(v) for v in (fmean(logs), *ends(logs))]
            np.testing.assert_allclose(parsed(cell), wanted, atol=0.0051)
            assert badge.endswith(outcome(answer, p.get(key(answer))))
