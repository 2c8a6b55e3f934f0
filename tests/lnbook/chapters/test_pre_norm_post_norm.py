"""Pre-norm and post-norm: figures, sentences and labels, for synthetic records."""

import itertools
import math
import re
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.pre_norm_post_norm import claims, first_gradients, runs, trained
from lnlab.datasets import Text, load
from lnlab.experiments.transformer import Settings
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.live import short_run
from lnlab.experiments.transformer.run import TransformerRun
from lnlab.training import train
from tests.cases import transformer
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import by_seed, parsed
from tests.cases.protocol import Answer, holm, key, outcome

SEEDS = (2, 0, 1)
DEPTHS = (2, 6, 12, 24)
EPOCHS = (0.0, 0.25, 1.0, 3.0, 6.0)
KINDS = {
    "pre": {}, "post": {"place": "post"}, "sandwich": {"place": "sandwich"},
    "none": {"norm": "none"}, "rms": {"norm": "rms"}, "tanh": {"norm": "tanh"},
    "qk": {"qk_norm": "layer"}, "no last": {"last_norm": False},
}  # fmt: skip
LABELS = {"post": "post-norm", "pre": "pre-norm", "none": "no norm"}
UNIGRAM, BIGRAM = 3.347, 2.482  # nats
STARTS = ("xavier", "normal", "pytorch")


def made(rng, initialization, kind, depth, seed, *, rate=1e-3, warm_up=0, begun=False, level=None):
    settings = transformer.RECORDED | KINDS[kind] | {
        "initialization": initialization, "depth": depth, "learning_rate": rate,
        "warm_up": warm_up, "updates_per_epoch": 1 if begun else 100,
    }  # fmt: skip
    epochs = (0.0, 1.0) if begun else EPOCHS
    level = rng.uniform(2.2, 4.0) if level is None else level
    curves = {"epoch": list(epochs),
              "val_nll": list(np.sort(level + rng.uniform(0, 0.3, len(epochs)))[::-1])}  # fmt: skip
    for k in range(depth + 1):
        curves[f"deviation_{k}"] = list(rng.uniform(0.9, 1.1, len(epochs)) * math.sqrt(k + 1))
        curves[f"mean_share_{k}"] = list(rng.uniform(0.001, 0.04, len(epochs)))
        if k:
            curves[f"gradient_{k}"] = list(rng.uniform(0.02, 1, len(epochs)))
    return {"settings": settings, "seed": seed, "curves": curves}


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    results = [
        made(rng, initialization, kind, depth, seed, begun=True)
        for initialization, kind, depth, seed in itertools.product(
            STARTS, ("pre", "post"), DEPTHS, range(10)
        )
    ]
    for initialization, kind, rate, warm_up in itertools.product(
        STARTS[:2], KINDS, (3e-4, 1e-3, 3e-3), (0, 60)
    ):
        levels = rng.choice([2.2, 2.4, 3.31, 4.5], size=3)
        if rng.random() < 0.6:  # in most groups all seeds are similar
            levels[:] = levels[0]
        results += [made(rng, initialization, kind, 12, seed, rate=rate, warm_up=warm_up,
                         level=level)
                  for seed, level in zip(SEEDS, levels, strict=True)]  # fmt: skip
    return results


@pytest.fixture(scope="module")
def known(records):
    return runs.TransformerRuns(records)


def of(records, initialization, kind, depth, *, begun=False, rate=1e-3, warm_up=0):
    """The runs of a group in the order of their seeds."""
    wanted = {"initialization": initialization, "depth": depth, "learning_rate": rate,
              "warm_up": warm_up, "updates_per_epoch": 1 if begun else 100}  # fmt: skip
    return [*by_seed(records, **transformer.RECORDED | KINDS[kind] | wanted).values()]


def blocks(cell, name, depth, first, at):
    """A measure by seed and block."""
    return [[r["curves"][f"{name}_{k}"][at] for k in range(first, depth + 1)] for r in cell]


@pytest.mark.parametrize("initialization", STARTS)
def test_initial_gradients_are_drawn_by_block_and_by_depth(records, known, initialization):
    by_block, by_depth = first_gradients.draw_first_gradients(known, initialization, 12)
    for kind in ("post", "pre"):
        cell = of(records, initialization, kind, 12, begun=True)
        check_band(lines(by_block)[LABELS[kind]], range(1, 13), blocks(cell, "gradient", 12, 1, 0))
        lasts = [[r["curves"][f"gradient_{d}"][0] for r in
                  of(records, initialization, kind, d, begun=True)] for d in DEPTHS]  # fmt: skip
        check_band(lines(by_depth)[LABELS[kind]], DEPTHS, [*zip(*lasts, strict=True)])
    dotted, *_ = lines(by_depth)["1/√depth"]
    np.testing.assert_allclose(dotted.y, [fmean(lasts[0]) * math.sqrt(2 / d) for d in DEPTHS])


def within(values, margin):
    """Differences that are negative if the mean is within ``margin`` of 0."""
    return [math.copysign(1, fmean(values)) * v - margin for v in values]


def test_the_table_of_initial_gradients_has_measures_and_labels(records, known):
    table = claims.at_start(known)
    means, answers = [], []
    for name in STARTS:

        def at(kind, depth, block, curve="gradient", name=name):
            cell = of(records, name, kind, depth, begun=True)
            return np.array([r["curves"][f"{curve}_{block}"][0] for r in cell])

        squares = [at("pre", 12, k, "deviation") ** 2 for k in (0, 6, 12)]
        deeper = {kind: at(kind, 24, 24) / at(kind, 2, 2) for kind in ("post", "pre")}
        measures = [
            deeper["post"],
            deeper["pre"] * math.sqrt(24 / 2),
            at("post", 12, 12) / at("pre", 12, 12),
            np.log2((squares[2] - squares[0]) / (squares[1] - squares[0])),
            at("post", 12, 12) / at("post", 12, 1),
            at("pre", 12, 1) / at("pre", 12, 12),
        ]
        means.append([fmean(v) for v in measures])
        logs = [np.log(v) for v in measures]
        same, longer = {0, 1, 5}, {2, 4}
        answers += [
            Answer(
                within(logs[k], math.log(1.1)) if k in same
                else list(-logs[k]) if k in longer else within(measures[k] - 1, 0.25),
                "", what=f"{name} {k}",
            )
            for k in range(6)
        ]  # fmt: skip
    p = holm(answers)
    wanted = {one.what: outcome(one, p[key(one)]) for one in answers}
    assert {"supported", "contradicted", "undecided"} == set(wanted.values())
    assert "corrected for all 18" in table.caption
    for k, (claim, *badges) in enumerate(table.rows):
        reported = parsed(claim.rpartition("(")[2])
        np.testing.assert_allclose(reported, [column[k] for column in means], atol=0.0051)
        assert [badge[2:] for badge in badges] == [wanted[f"{name} {k}"] for name in STARTS]


def test_the_table_of_training_counts_seeds_for_each_claim(records, known):
    def ends(name, kind, rate, warm_up):
        cell = of(records, name, kind, 12, rate=rate, warm_up=warm_up)
        return [r["curves"]["val_nll"][-1] for r in cell]

    def is_stuck(loss):
        return UNIGRAM - 0.05 < loss < 4.174

    def reported(true):
        return f"{sum(true)} of {len(true)} seeds"

    table = claims.trained(known)
    assert table.columns == ["Trained", "Xavier", "N(0, 0.02²)"]
    for column, name in enumerate(STARTS[:2], 1):
        without, warm = (ends(name, "post", 1e-3, k) for k in (0, 60))
        small = ends(name, "post", 3e-4, 0)
        pre = [ends(name, "pre", 1e-3, k) for k in (0, 60)]
        high = [ends(name, kind, 3e-3, k) for kind in ("post", "pre") for k in (0, 60)]
        wanted = [
            reported([is_stuck(a) and not is_stuck(b) for a, b in zip(without, warm, strict=True)]),
            reported([not is_stuck(a) and a > b for a, b in zip(small, warm, strict=True)]),
            reported([abs(a - b) < 0.05 for a, b in zip(*pre, strict=True)]),
            reported([is_stuck(a) and is_stuck(b) and not is_stuck(c) and not is_stuck(d)
                  for a, b, c, d in zip(*high, strict=True)]),
        ]  # fmt: skip
        assert [row[column] for row in table.rows] == wanted


def test_each_placement_is_shown_at_its_best_common_rate():
    ends = {
        ("pre", 1e-3): 2.4, ("pre", 3e-3): 2.6, ("post", 1e-3): 3.34, ("post", 3e-3): 3.35,
        ("none", 1e-3): 9.0, ("none", 3e-3): 2.5,
        ("pre", 3e-4): 2.0,  # no other placement was trained at this rate
    }  # fmt: skip
    how = {"pre": {}, "post": {"place": "post"}, "none": {"norm": "none"}}
    few = [transformer.trained(loss, learning_rate=rate, **how[kind])
           for (kind, rate), loss in ends.items()]  # fmt: skip
    few += [transformer.trained(2.2, depth=6, warm_up=60), transformer.trained(np.nan, depth=24)]
    few += [transformer.trained(2.3, depth=24, place="post")]
    few += [transformer.trained(2.0, depth=2, updates_per_epoch=1)]
    table = trained.at_best(runs.TransformerRuns([*itertools.chain(*few)]))
    columns = ["Initialization", "blocks", "settings", "post-norm", "pre-norm", "no norm"]
    assert table.columns == columns
    assert table.rows == [
        ["Xavier", "6", "1", "not recorded", "2.20 at 0.001 with warm-up", "not recorded"],
        ["Xavier", "12", "2", "stuck at every rate", "2.40 at 0.001", "2.50 at 0.003"],
        ["Xavier", "24", "1", "2.30 at 0.001", "diverged at every rate", "not recorded"],
    ]


def test_short_runs_end_like_those_of_the_experiment():
    text = Text.split("python_topics", "to be or not to be that is the question " * 40)
    small = {"depth": 1, "width": 8, "heads": 2, "length": 8, "windows": 4, "batch_size": 2}
    points = list(short_run(text, "post", 2, **small, epochs=2, updates_per_epoch=4))
    assert [p["updates"] for p in points][-2:] == [4, 8]
    chosen = Settings(place="post", warm_up=2, data="python_topics", **small, updates_per_epoch=4)
    *_, last = train(TransformerRun(chosen, text), epochs=2)
    assert points[-1]["loss"] == last["val_nll"]
    assert points[0]["unigram"] > points[0]["bigram"] > 0


@pytest.mark.needs_data("tiny_shakespeare")
def test_both_reference_lines_are_entropies_of_tiny_shakespeare():
    lines = baselines(load("tiny_shakespeare"))
    assert round(lines["unigram"], 3) == runs.UNIGRAM
    assert round(lines["bigram"], 3) == runs.BIGRAM


def test_the_sentence_on_the_map_states_the_lowest_loss_and_failed_runs(known):
    text = trained.describe_losses(known, "xavier", 12)
    maps = [figure.data[0] for figure in trained.draw_losses(known, "xavier", 12)]
    cells = [(name, cell) for heat in maps
             for name, row in zip(heat.y, heat.text, strict=True) for cell in row]  # fmt: skip
    lowest = min(float(cell) for _, cell in cells if re.fullmatch(r"[\d.]+", cell))
    assert f"the lowest loss is {lowest:.2f} nats" in text
    for head, word in (("Stuck in some seeds", "stuck"), ("Diverged", "diverged")):
        listed = re.search(rf"{head}: (.*?)\.( |$)", text)[1]
        names = {part.partition(" at ")[0] for part in listed.split("; ")}
        assert names == {name for name, cell in cells if word in cell}


@pytest.mark.parametrize("initialization", STARTS[:2])
def test_the_map_shows_means_and_marks_stuck_and_diverged_runs(records, known, initialization):
    names = {trained.short(kind): kind for kind in KINDS}
    for warm_up, figure in zip((0, 60), trained.draw_losses(known, initialization, 12),
                               strict=True):  # fmt: skip
        heat = figure.data[0]
        for name, z, texts in zip(heat.y, heat.z, heat.text, strict=True):
            for k, rate in enumerate((3e-4, 1e-3, 3e-3)):
                cell = of(records, initialization, names[name], 12, rate=rate, warm_up=warm_up)
                ends = [r["curves"]["val_nll"][-1] for r in cell]
                count = sum(v > UNIGRAM - 0.05 for v in ends)
                if max(ends) >= 4.174:
                    assert (texts[k], z[k]) == ("diverged", 0.4)
                    continue
                assert z[k] == pytest.approx(fmean(ends) - BIGRAM)
                if 0 < count < 3:
                    assert texts[k] == f"{count} of 3<br>stuck"
                else:
                    assert float(texts[k]) == pytest.approx(fmean(ends), abs=0.0051)
