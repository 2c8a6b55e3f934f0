"""Curves, rates, sentences and tables, on synthetic records and those of the book."""

import functools
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.order_embeddings import claims, curves, penalty, runs
from lnbook.widgets.replay import caption_ranking
from lnlab.comparison import WORSENS
from lnlab.datasets import coco_val2017_layout as coco
from lnlab.experiments.order_embeddings import results
from tests.cases import oracle, protocol, toy_records
from tests.cases.drawn import check_band, lines
from tests.cases.oracle import parsed

CASES = ("better", "worse", "later")
LABELS = {"none": "no norm", "layer": "layer norm"}
RATES = (toy_records.LOW, toy_records.MIDDLE, toy_records.HIGH)
PER_EPOCH = 5 * (640 // 64)  # updates


@functools.cache
def records(case):
    """The runs with default settings, without the rate that only one seed has."""
    return [run for run in toy_records.of_arms(case, "order_embeddings")
            if oracle.has_default_settings(run)
            and run["settings"]["learning_rate"] in RATES]  # fmt: skip


@functools.cache
def known(case):
    return runs.OrderEmbeddingsRuns(records(case))


def at_rate(case, norm, rate):
    result = oracle.matching(records(case), "order_embeddings", norm=norm, learning_rate=rate)
    return sorted(result, key=lambda run: run["seed"])


def best(case, norm):
    """The runs at the best rate of a norm, by their own best values."""
    means = {rate: fmean(min(oracle.score(run)) for run in at_rate(case, norm, rate))
             for rate in RATES}  # fmt: skip
    rate = min(means, key=means.get)
    return rate, at_rate(case, norm, rate)


@pytest.mark.parametrize("case", CASES)
def test_recall_is_drawn_with_its_range_and_stated_after_one_epoch_and_at_the_end(case):
    figures = curves.draw_curves(known(case), 10)
    wanted = []
    for direction, figure in zip(("image", "caption"), figures, strict=True):
        reported = []
        for norm, label in LABELS.items():
            rows = [[100 * v for v in run["curves"][f"val_{direction}_recall_10"]]
                    for run in best(case, norm)[1]]  # fmt: skip
            updates = [PER_EPOCH * e for e in toy_records.EPOCHS]
            check_band(lines(figure)[label], updates[1:], [row[1:] for row in rows])
            means = [fmean(column) for column in zip(*rows, strict=True)]
            reported.append((means[toy_records.EPOCHS.index(1.0)], means[-1]))
        wanted += [10, PER_EPOCH, *(v for pair in zip(*reported, strict=True) for v in pair)]
    text = curves.describe_curves(known(case), 10)
    np.testing.assert_allclose(parsed(text.replace("R@", "R ")), wanted, atol=0.051)


@pytest.mark.parametrize("case", CASES)
def test_table_2_has_means_differences_and_counts_of_paired_runs(case):
    table = claims.table_2(results.rows(records(case)), records(case))
    arms = {norm: {run["seed"]: run for run in best(case, norm)[1]} for norm in LABELS}
    seeds = oracle.common(*arms.values())
    why = protocol.reason(arms.values(), oracle.score, oracle.updates)
    for name, none, layer, difference, label, _ in table.rows:
        way, what = name.split(" retrieval, ")
        rank = what == "mean rank"
        curve = "mean_rank" if rank else f"recall_{what.split('@')[1].split()[0]}"
        factor = 1 if rank else 100
        values = {norm: [factor * oracle.at_best(arms[norm][s], f"test_{way}_{curve}")
                         for s in seeds] for norm in LABELS}  # fmt: skip
        d = [b - a for a, b in zip(values["none"], values["layer"], strict=True)]
        means = [fmean(values["none"]), fmean(values["layer"])]
        np.testing.assert_allclose([float(none), float(layer)], means, atol=0.051)
        np.testing.assert_allclose(parsed(difference), [fmean(d), min(d), max(d)], atol=0.051)
        better = sum(v < 0 if rank else v > 0 for v in d)
        late = why and why != WORSENS
        assert label == (f"not testable here: {why}" if late else f"{better} of {len(seeds)} seeds")


@pytest.mark.parametrize("picture", range(3))
def test_violations_are_drawn_and_described(picture):
    rng = np.random.default_rng(4)
    vectors = penalty.Vectors(rng.uniform(0, 1, (6, 9)), rng.uniform(0, 1, (3, 9)))
    given = {"caption": picture + 2, "point": 3, "norm": "none"}
    _, bars = penalty.draw_penalty({("none", 3): vectors}, picture, (picture + 1) % 3, **given)
    text = penalty.describe_penalty({("none", 3): vectors}, picture, (picture + 1) % 3, **given)
    roof, caption = vectors.images[picture], vectors.captions[picture + 2]
    out = np.maximum(0, caption - roof)
    every = (np.maximum(0, vectors.captions - roof) ** 2).sum(1)
    place = (every <= every[picture + 2]).sum()
    wanted = [(out > 0).sum(), 9, every[picture + 2], place, 6]
    np.testing.assert_allclose(parsed(text), wanted, atol=0.0051)
    order = np.argsort(-roof)
    for trace, values in zip(bars.data, (caption, roof, out), strict=True):
        np.testing.assert_allclose(trace.y, values[order], atol=6e-5)


@pytest.mark.needs_data(coco.NAME)
def test_images_of_the_page_are_from_the_data_set():
    data, pictures = coco.load(), caption_ranking.pictures()
    expected = [
        [r["id"], r["w"], r["h"], r["boxes"], r["captions"][0]] for r in data.images["test"]
    ]
    assert pictures["pictures"] == expected
    assert tuple(pictures["categories"]) == data.categories
    assert pictures["sha256"] == data.sha256


def test_recorded_vectors_reproduce_the_measured_recall():
    pictures = caption_ranking.pictures()
    rows = [dict(w=w, h=h, boxes=boxes) for _, w, h, boxes, _ in pictures["pictures"]]
    layouts = coco.Layouts("", tuple(pictures["categories"]), {"test": rows}, "")
    x = coco.features(layouts, "test")
    for saved in caption_ranking.records().values():
        for point in (1, 8):
            ranked = penalty.penalty_matrix(penalty.vectors(saved, x, point))
            share = np.mean((ranked <= ranked.diagonal()[:, None]).sum(1) <= 10)
            # The record has all captions in full precision; here, only the first of each five.
            assert share == pytest.approx(saved["curves"]["test_image_recall_10"][point], abs=0.04)
