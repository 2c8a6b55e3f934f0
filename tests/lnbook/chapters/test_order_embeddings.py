"""Curves, rates, sentences and tables, on synthetic records and those of the book."""

import functools
from statistics import fmean

import numpy as np
import pytest
import torch

from lnbook.chapters.order_embeddings import claims, curves, penalty, runs
from lnbook.widgets.replay import caption_ranking
from lnlab import records as record
from lnlab.comparison import WORSENS
from lnlab.datasets import coco_val2017_layout as coco
from lnlab.experiments.order_embeddings import results
from lnlab.experiments.order_embeddings.run import penalty as lab_penalty
from tests.cases import oracle, protocol, toy_records
from tests.cases.drawn import check_band, check_inside, lines
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


@pytest.mark.parametrize("cut", [1, 10])
@pytest.mark.parametrize("case", CASES)
def test_recall_is_drawn_with_its_range_and_stated_after_one_epoch_and_at_the_end(case, cut):
    figures = curves.draw_curves(known(case), cut)
    text = curves.describe_curves(known(case), cut)
    wanted = []
    for direction, figure in zip(("image", "caption"), figures, strict=True):
        reported = {}
        for norm, label in LABELS.items():
            rows = [[100 * v for v in run["curves"][f"val_{direction}_recall_{cut}"]]
                    for run in best(case, norm)[1]]  # fmt: skip
            updates = [PER_EPOCH * e for e in toy_records.EPOCHS]
            check_band(lines(figure)[label], updates[1:], [row[1:] for row in rows])
            means = [fmean(column) for column in zip(*rows, strict=True)]
            reported[norm] = (means[toy_records.EPOCHS.index(1.0)], means[-1])
        wanted += [cut, PER_EPOCH, reported["none"][0], reported["layer"][0], reported["none"][1],
                   reported["layer"][1]]  # fmt: skip
    np.testing.assert_allclose(parsed(text.replace("R@", "R ")), wanted, atol=0.051)


@pytest.mark.parametrize("point", [1, 5])
@pytest.mark.parametrize("case", CASES)
def test_rates_are_drawn_with_their_range_and_the_best_is_marked(case, point):
    (figure,) = curves.draw_rates(known(case), point)
    text = curves.describe_rates(known(case), point)
    stars = [(t.x[0], t.y[0]) for t in figure.data if t.mode == "markers"]
    wanted, marked = [PER_EPOCH * toy_records.EPOCHS[point], 4], []
    for norm, label in LABELS.items():
        columns = {rate: [-oracle.score(run)[point] / 3 for run in at_rate(case, norm, rate)]
                   for rate in RATES}  # fmt: skip
        check_band(lines(figure)[label], RATES, [*zip(*columns.values(), strict=True)])
        for rate in RATES:
            wanted += [fmean(columns[rate]), rate]
        rate = best(case, norm)[0]
        marked.append((rate, fmean(columns[rate])))
    np.testing.assert_allclose(stars, marked)
    np.testing.assert_allclose(parsed(text), wanted, atol=0.51)
    check_inside(figure)


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


@pytest.mark.parametrize("case", ["better", "later"])
def test_updates_to_the_targets_are_counted_at_the_best_rates_and_at_one_rate(case):
    runs = records(case)
    same = [results.at_best_rates([r for r in runs if r["settings"]["learning_rate"] == rate])
            for rate in RATES]  # fmt: skip
    table = claims.updates(results.TASK, results.at_best_rates(runs), same)
    rates = {norm: best(case, norm)[0] for norm in LABELS}
    others = [(norm, rate) for rate in RATES for norm in LABELS if rate != rates[norm]]
    assert [tuple(row[:2]) for row in table.rows] == [
        (LABELS[norm], f"{rate:g}") for norm, rate in [*rates.items(), *others]
    ]
    mean = protocol.mean_curve(best(case, "none")[1], oracle.score)
    targets = [mean[0] + part * (protocol.end(mean) - mean[0]) for part in (0.5, 0.75, 0.9)]
    for (norm, rate), row in zip([*rates.items(), *others], table.rows, strict=True):
        of = at_rate(case, norm, rate)
        for target, cell in zip(targets, row[2:5], strict=True):
            steps = [protocol.steps(oracle.updates(run), oracle.score(run), target) for run in of]
            if never := sum(map(np.isinf, steps)):
                assert cell == f"never in {never} of {len(steps)} seeds"
            else:
                wanted = [fmean(steps), min(steps), max(steps)]
                np.testing.assert_allclose(parsed(cell), wanted, atol=0.51)
        score = fmean(-min(oracle.score(run)) / 3 for run in of)
        assert float(row[5]) == pytest.approx(score, abs=0.051)


@pytest.mark.parametrize("caption", range(6))
@pytest.mark.parametrize("picture", range(3))
def test_violations_are_drawn_and_described(picture, caption):
    rng = np.random.default_rng(4)
    vectors = penalty.Vectors(rng.uniform(0, 1, (6, 9)), rng.uniform(0, 1, (3, 9)))
    given = {"caption": caption, "point": 3, "norm": "none"}
    plane, bars = penalty.draw_penalty({("none", 3): vectors}, picture, (picture + 1) % 3, **given)
    text = penalty.describe_penalty({("none", 3): vectors}, picture, (picture + 1) % 3, **given)
    roof = vectors.images[picture]

    def above(k):
        return [max(0.0, inside - top) for inside, top in zip(vectors.captions[k], roof,
                                                              strict=True)]  # fmt: skip

    out, every = above(caption), [sum(v * v for v in above(k)) for k in range(6)]
    place = sum(one <= every[caption] for one in every)
    wanted = [sum(v > 0 for v in out), 9, every[caption], place, 6]
    np.testing.assert_allclose(parsed(text), wanted, atol=0.0051)
    order = sorted(range(9), key=lambda k: -roof[k])
    inside, line, red = bars.data
    np.testing.assert_allclose(inside.y, [vectors.captions[caption][k] for k in order], atol=6e-5)
    np.testing.assert_allclose(line.y, [roof[k] for k in order], atol=6e-5)
    np.testing.assert_allclose(red.y, [out[k] for k in order], atol=6e-5)
    assert list(line.x) == list(range(1, 10))
    first, second = (int(a.title.text.split()[1]) for a in (plane.layout.xaxis, plane.layout.yaxis))
    points = {t.text[0]: t for t in plane.data if t.text}
    for name, of in (("image", roof), ("caption", vectors.captions[caption])):
        assert (points[name].x[0], points[name].y[0]) == (of[first], of[second])
    under = all(vectors.captions[caption][k] <= roof[k] for k in (first, second))
    assert points["caption"].marker.color == (penalty.CAPTION if under else penalty.VIOLATION)


def test_page_and_command_line_read_the_same_runs():
    records = record.read_all("order_embeddings")
    read = runs.OrderEmbeddingsRuns(records)
    for norm, arm in results.at_best_rates(records).items():
        assert read.best(norm).rate == arm.rate
        scores = [results.scores(run) for run in arm.runs.values()]
        np.testing.assert_allclose(3 * read.score(read.best(norm)), scores)


@pytest.fixture(scope="module")
def x():
    """Features of the images of the page, computed by the library."""
    pictures = caption_ranking.pictures()
    rows = [dict(w=w, h=h, boxes=boxes) for _, w, h, boxes, _ in pictures["pictures"]]
    return coco.features(
        coco.Layouts("", tuple(pictures["categories"]), {"test": rows}, ""), "test"
    )


def test_recorded_vectors_reproduce_the_measured_recall(x):
    for saved in caption_ranking.records().values():
        for point in (1, 8):
            result = penalty.vectors(saved, x, point)
            ranked = penalty.penalty_matrix(result)
            expected = lab_penalty(torch.tensor(result.captions), torch.tensor(result.images))
            np.testing.assert_allclose(ranked, expected, atol=1e-12)
            share = np.mean((ranked <= ranked.diagonal()[:, None]).sum(1) <= 10)
            # The record has all 2,500 captions in full precision; here, only the first of each
            # five.
            assert share == pytest.approx(saved["curves"]["test_image_recall_10"][point], abs=0.04)


def test_the_axes_are_a_large_coordinate_and_that_of_the_largest_violation():
    captions = np.array([[0.0, 0.7, 0.8, 0.3], [0.8, 0.0, 0.9, 0.6], [0.5, 0.5, 0.5, 0.5]])
    result = penalty.Vectors(captions, np.array([[0.1, 0.7, 0.5, 0.5]]))
    plane, _ = penalty.draw_penalty({("none", 3): result}, 0, 1, caption=2, point=3, norm="none")
    # Among the large coordinates of the image without a violation by its own (first) caption,
    # caption 1 has its largest violation in the last one.
    titles = (plane.layout.xaxis.title.text, plane.layout.yaxis.title.text)
    assert titles == ("coordinate 1", "coordinate 3")


@pytest.mark.needs_data(coco.NAME)
def test_images_of_the_page_are_from_the_data_set():
    data, pictures = coco.load(), caption_ranking.pictures()
    expected = [
        [r["id"], r["w"], r["h"], r["boxes"], r["captions"][0]] for r in data.images["test"]
    ]
    assert pictures["pictures"] == expected
    assert tuple(pictures["categories"]) == data.categories
    assert pictures["sha256"] == data.sha256
