"""Tables of order embeddings: which runs count, where, and who was there first."""

import numpy as np
import pytest

from lnlab import records
from lnlab.experiments import order_embeddings
from lnlab.experiments.order_embeddings import results

EPOCHS = [0.0, 0.5, 1.0, 2.0, 3.0]
MEASURES = [name for name in order_embeddings.EXPERIMENT.measures if "#" not in name] + [
    f"{split}_{way}_recall_{k}"
    for split in ("val", "test")
    for way in ("image", "caption")
    for k in (1, 5, 10)
]


def made(norm, rate, seed, scores, **tests):
    """A record with these sums of recalls on validation; test measures at all points."""
    curves = {name: [0.0] * len(EPOCHS) for name in MEASURES}
    curves |= {"epoch": EPOCHS, "wall_s": EPOCHS} | tests
    # Neither alone nor with mean rank is the best point the best of any one of them.
    for k, share in ((1, 0.5), (5, 0.3), (10, 0.2)):
        curves[f"val_image_recall_{k}"] = [share * score / 100 for score in scores]
    curves["val_image_recall_1"] = [v + d for v, d in zip(curves["val_image_recall_1"],
                                    (0, 0, 0, 0.2, 0), strict=True)]  # fmt: skip
    curves["val_image_recall_5"] = [v - d for v, d in zip(curves["val_image_recall_5"],
                                    (0, 0, 0, 0.2, 0), strict=True)]  # fmt: skip
    return {
        "settings": {"norm": norm, "learning_rate": rate, "batch_size": 4, "gain": 1.0},
        "seed": seed,
        "data": {"cases": {"train_images": 11}},
        "curves": curves,
    }


def book(seeds=(0, 1, 2)):
    """Both norms at two rates: with layer norm the higher is better, without the lower."""
    runs = []
    for s in seeds:
        tests = {"test_image_recall_5": [0.9, 0.1, 0.2, 0.3 + s / 100, 0.9],
                 "test_caption_mean_rank": [1.0, 9.0, 8.0, 7.0 + s, 1.0]}  # fmt: skip
        runs += [
            made("none", 0.1, s, [1, 2, 3, 50 + s, 4], **tests),
            made("none", 0.2, s, [1, 60 * (s == 0), 3, 40, 4]),
            made("layer", 0.1, s, [1, 90 * (s == 0), 3, 30, 4]),
        ]
        tests = {"test_image_recall_5": [0.9, 0.9, 0.5 + s / 50, 0.9, 0.9],
                 "test_caption_mean_rank": [9.0, 9.0, 7.5 + s, 1.0, 1.0]}  # fmt: skip
        runs.append(made("layer", 0.2, s, [1, 51, 80, 70, 79], **tests))
    return runs


def test_the_rate_of_a_norm_is_the_one_with_the_best_mean_on_validation():
    found = results.at_best_rates(book())
    assert found["none"].rates == pytest.approx({0.1: -51, 0.2: -(60 + 40 + 40) / 3})
    assert found["layer"].rates == pytest.approx({0.1: -(90 + 30 + 30) / 3, 0.2: -80})
    assert {norm: arm.rate for norm, arm in found.items()} == {"none": 0.1, "layer": 0.2}
    assert list(found["none"].runs) == list(found["layer"].runs) == [0, 1, 2]


def test_a_run_counts_on_the_test_images_where_it_was_best_on_validation():
    rows = {row.name: row for row in results.rows(book())}
    assert len(rows) == 8
    recall = rows["image retrieval, R@5 (%)"]
    np.testing.assert_allclose(recall.none, [30, 31, 32])
    np.testing.assert_allclose(recall.layer, [50, 52, 54])
    np.testing.assert_allclose(recall.difference, [20, 21, 22])
    rank = rows["caption retrieval, mean rank"]
    np.testing.assert_allclose(rank.difference, [0.5, 0.5, 0.5])
    assert (recall.better, rank.better) == (1, -1)  # more places are worse


def test_a_run_that_was_made_to_keep_vectors_is_no_run_of_the_comparison():
    kept = made("none", 0.1, 0, [1, 2, 3, 99, 4])
    kept["settings"]["keep"] = 500
    assert results.TASK.text([*book(), kept]) == results.TASK.text(book())


def test_the_tables_say_what_was_found():
    said = results.TASK.text(book())
    assert "  none                   0.1: 51*  0.2: 46.67" in said
    assert "  layer                  0.1: 50  0.2: 80*" in said
    (row,) = (line for line in said.splitlines() if "image retrieval, R@5" in line)
    assert row.split()[4:] == [
        "31.00", "52.00", "+21.00", "(+20.00", "to", "+22.00)",
    ]  # fmt: skip
    assert "3 seeds" in said
    assert "(lowest to highest)" in said


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (book()[:1], "records must have a seed for both norms, got 1 of them without; record more"),
        (book() + book(), "records must differ in arm, rate or seed, got none, 0.1 twice"),
    ],
)
def test_records_that_cannot_be_compared_are_refused(runs, says):
    with pytest.raises(ValueError, match=says):
        results.rows(runs)


def test_the_rates_of_the_book_are_the_best_of_its_sweep_and_not_at_its_edge():
    kept = records.read_all("order_embeddings")
    found = results.at_best_rates(kept)
    assert {norm: arm.rate for norm, arm in found.items()} == order_embeddings.TUNED
    assert len(found["layer"].runs) == 5
    for arm in found.values():
        assert tuple(arm.rates) == order_embeddings.RATES
        assert not arm.at_edge
    assert "and their difference (lowest to highest):" in results.TASK.text(kept)
