"""What is drawn and said is what was recorded."""

import numpy as np
import pytest
import torch

from lnbook.chapters.order_embeddings import penalty, runs
from lnbook.widgets.replay import caption_ranking
from lnlab import records as record
from lnlab.datasets import coco_val2017_layout as coco
from lnlab.experiments.order_embeddings import results
from lnlab.experiments.order_embeddings.run import penalty as lab_penalty


def test_the_book_is_read_as_the_tables_of_the_command_line_read_it():
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


def test_the_axes_are_a_large_coordinate_and_the_one_of_the_largest_violation():
    captions = np.array([[0.0, 0.7, 0.8, 0.3], [0.8, 0.0, 0.9, 0.6], [0.5, 0.5, 0.5, 0.5]])
    result = penalty.Vectors(captions, np.array([[0.1, 0.7, 0.5, 0.5]]))
    plane, _ = penalty.draw_penalty({("none", 3): result}, 0, 1, caption=2, point=3, norm="none")
    # Among the large coordinates of the image without a violation by its own caption, which is the
    # first one, caption 1 has its largest violation in the last.
    titles = (plane.layout.xaxis.title.text, plane.layout.yaxis.title.text)
    assert titles == ("coordinate 1", "coordinate 3")


@pytest.mark.needs_data(coco.NAME)
def test_the_pictures_of_the_page_are_the_data_sets():
    data, pictures = coco.load(), caption_ranking.pictures()
    expected = [
        [r["id"], r["w"], r["h"], r["boxes"], r["captions"][0]] for r in data.images["test"]
    ]
    assert pictures["pictures"] == expected
    assert tuple(pictures["categories"]) == data.categories
    assert pictures["sha256"] == data.sha256
