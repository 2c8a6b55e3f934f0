"""What is drawn and said is what was recorded."""

import numpy as np
import pytest
import torch

from lnbook.chapters.order_embeddings import claims, penalty, runs
from lnbook.widgets.replay import caption_ranking
from lnlab import records as record
from lnlab.datasets import coco_val2017_layout as coco
from lnlab.experiments.order_embeddings import results
from lnlab.experiments.order_embeddings.run import penalty as lab_penalty


@pytest.fixture(scope="module")
def book():
    """The records of the book, as files have them, and as the chapter reads them."""
    records = record.read_all("order_embeddings")
    return records, runs.Runs(records)


def made(norm="layer", rate=0.1, seed=0, r1=(0.0, 0.1, 0.3), **settings):
    """A record that need not have been: R@5 is twice R@1, R@10 is three times."""
    result = {"epoch": [0, 0.5, 2]}
    for way in ("image", "caption"):
        shift = 0.01 * (way == "caption")
        result |= {f"val_{way}_recall_{k}": [m * v + shift for v in r1]
                  for k, m in ((1, 1), (5, 2), (10, 3))}  # fmt: skip
    cases = {"train_images": 11, "train_captions": 55}
    return {"settings": {"norm": norm, "learning_rate": rate, "batch_size": 4} | settings,
            "seed": seed, "curves": result, "data": {"cases": cases}}  # fmt: skip


def few():
    return [
        made("none", 0.1, 0, (0, 0.10, 0.20)),
        made("none", 0.1, 1, (0, 0.12, 0.24)),
        made("none", 0.2, 0, (0, 0.05, 0.30)),
        made("none", 0.2, 1, (0, 0.01, 0.06)),
        made("layer", 0.1, 0, (0, 0.01, 0.02)),
        made("layer", 0.1, 1, (0, 0.01, 0.02)),
        made("layer", 0.2, 0, (0, 0.20, 0.10)),
        made("layer", 0.2, 1, (0, 0.30, 0.20)),
        made("layer", 0.2, 0, (0, 0.9, 0.9), keep=500),
    ]


def test_a_norm_is_shown_at_its_own_best_rate_without_what_was_made_to_keep():
    read = runs.Runs(few())
    assert read.rates == [0.1, 0.2]
    assert read.best("none") == ("none", 0.1)  # by the mean over seeds, not by the best of them
    assert read.best("layer") == ("layer", 0.2)  # by each run's best, not by its last
    np.testing.assert_allclose(read.score(read.best("layer"))[:, 1], [40, 60])
    assert read.updates.tolist() == [0, 5, 20]  # 5 rounds of 2 full batches an epoch


def test_the_book_is_read_as_the_tables_of_the_command_line_read_it(book):
    records, read = book
    for norm, arm in results.at_best_rates(records).items():
        assert read.best(norm).rate == arm.rate
        scores = [results.scores(run) for run in arm.runs.values()]
        np.testing.assert_allclose(3 * read.score(read.best(norm)), scores)


def test_table_2_has_the_papers_numbers_beside_ours(book):
    records, _ = book
    rows, table = results.rows(records), claims.table_2(results.rows(records), records)
    assert [row[0] for row in table.rows] == [row.name for row in rows]
    ranks = next(row for row in table.rows if row[0] == "caption retrieval, mean rank")
    (result,) = (row for row in rows if row.name == ranks[0])
    assert ranks[1:3] == [f"{result.none.mean():.1f}", f"{result.layer.mean():.1f}"]
    assert ranks[-1] == "5.2, 5.1"


# The penalty.


@pytest.fixture(scope="module")
def x():
    """Features of the images of the page, computed by the library."""
    pictures = caption_ranking.pictures()
    rows = [dict(w=w, h=h, boxes=boxes) for _, w, h, boxes, _ in pictures["pictures"]]
    return coco.features(
        coco.Layouts("", tuple(pictures["categories"]), {"test": rows}, ""), "test"
    )


def test_the_vectors_that_were_kept_are_those_that_were_measured(x):
    for saved in caption_ranking.records().values():
        for point in (1, 8):
            result = penalty.vectors(saved, x, point)
            ranked = penalty.penalty_matrix(result)
            expected = lab_penalty(torch.tensor(result.captions), torch.tensor(result.images))
            np.testing.assert_allclose(ranked, expected, atol=1e-12)
            share = np.mean((ranked <= ranked.diagonal()[:, None]).sum(1) <= 10)
            # The record has all 2,500 captions, in full precision; here are the first of each five.
            assert share == pytest.approx(saved["curves"]["test_image_recall_10"][point], abs=0.04)


def test_the_squared_violations_that_are_drawn_add_up_to_the_penalty():
    captions = np.array([[0.0, 0.7, 0.8, 0.3], [0.8, 0.0, 0.9, 0.6], [0.5, 0.5, 0.5, 0.5]])
    result = penalty.Vectors(captions, np.array([[0.1, 0.7, 0.5, 0.5]]))
    book = {("none", 3): result}
    plane, bars = penalty.draw_penalty(book, 0, 1, caption=2, point=3, norm="none")
    inside, limit, above = bars.data  # the last is stacked on the one before
    np.testing.assert_allclose((np.array(above.y) ** 2).sum(), 0.4**2, atol=1e-6)
    np.testing.assert_allclose(inside.y, 0.5)
    np.testing.assert_allclose(limit.y, [0.7, 0.5, 0.5, 0.1])  # sorted by the image
    assert [t.stackgroup for t in bars.data] == [None, "violation", "violation"]
    # Among the large coordinates of the image without a violation by its own caption, which is the
    # first one, caption 1 has its largest violation in the last.
    titles = (plane.layout.xaxis.title.text, plane.layout.yaxis.title.text)
    assert titles == ("coordinate 1", "coordinate 3")
    text = penalty.describe_penalty(book, 0, 1, caption=2, point=3, norm="none")
    assert text.startswith("The caption exceeds the image in 1 of 4 coordinates.")
    assert text.endswith("penalty of 0.16, which gives the caption rank 2 of 3.")


@pytest.mark.needs_data(coco.NAME)
def test_the_pictures_of_the_page_are_the_data_sets():
    data, pictures = coco.load(), caption_ranking.pictures()
    expected = [
        [r["id"], r["w"], r["h"], r["boxes"], r["captions"][0]] for r in data.images["test"]
    ]
    assert pictures["pictures"] == expected
    assert tuple(pictures["categories"]) == data.categories
    assert pictures["sha256"] == data.sha256
