"""Order embeddings: ranks by loops, whole runs by hand in float64, recorded vectors."""

import dataclasses
import math
import re

import numpy as np
import pytest
import torch

from lnlab import datasets
from lnlab.experiments.order_embeddings import run as orders
from lnlab.experiments.order_embeddings.run import OrderEmbeddingsRun, Settings
from lnlab.training import train
from tests.cases import by_hand
from tests.cases.by_hand import check_run, gru_start, gru_step

SMALL = {"hidden": 7, "word_size": 5, "batch_size": 6, "epochs": 1, "first_epoch_points": 2,
         "learning_rate": 0.02}  # fmt: skip


def places(penalties):
    """Ranks by sorting, in which the right item follows all equally good ones."""
    captions, images = penalties.shape
    each = captions // images
    of_image, of_caption = [], []
    for c in range(captions):
        order = sorted(range(images), key=lambda i: (penalties[c, i], i == c // each))
        of_image.append(1 + order.index(c // each))
    for i in range(images):
        order = sorted(range(captions), key=lambda c: (penalties[c, i], c // each == i))
        of_caption.append(1 + min(order.index(c) for c in range(each * i, each * i + each)))
    return of_image, of_caption


@pytest.mark.parametrize("levels", [1, 3, 1000], ids=["all equal", "many ties", "hardly a tie"])
def test_ranks_count_ties_as_worse(levels):
    penalties = torch.from_numpy(np.random.default_rng(levels).integers(0, levels, (35, 7)) / 8)
    of_image, of_caption = places(penalties.numpy())
    result = orders.ranks(penalties)
    assert result.image.tolist() == of_image
    assert result.caption.tolist() == of_caption
    if levels == 1:
        # The five captions of an image are not ranked against each other: 30 others come first.
        assert (set(of_image), set(of_caption)) == ({7}, {31})


class ByHand(by_hand.ByHand):
    """Section 6.1 from the equations."""

    loss_name = "ranking_loss"

    def setup(self, data):
        s, H = self.s, self.s.hidden
        texts = {
            split: [[re.sub(r"[^a-z0-9' ]", " ", c.lower()).split() for c in row["captions"]]
                    for row in rows]
            for split, rows in data.images.items()
        }  # fmt: skip
        all_words = [word for captions in texts["train"] for c in captions for word in c]
        often = sorted({word for word in all_words if all_words.count(word) >= s.min_count})
        self.captions = {
            split: [[[often.index(w) + 1 if w in often else 0 for w in c] for c in captions]
                    for captions in rows]
            for split, rows in texts.items()
        }  # fmt: skip
        self.images = {
            split: torch.tensor(datasets.coco_val2017_layout.features(data, split)).double()
            for split in texts
        }
        places = self.images["train"].shape[1]
        words = self.uniform(s.word_scale, len(often) + 1, s.word_size)
        W, U = self.uniform(0.1, 3 * H, s.word_size), self.orthogonal(H, 3)
        V = self.uniform(math.sqrt(6 / (places + H)), H, places)
        self.gru = [W, U, *gru_start(H, s)]
        self.params = [words, V, torch.zeros(H), *self.gru]

    def each(self):
        return 5 * (len(self.images["train"]) // self.s.batch_size)

    def caption(self, numbers):
        h = torch.zeros(self.s.hidden)
        for number in numbers:
            h = gru_step(self.gru, self.params[0][number], h, self.s)
        return (h / h.square().sum().sqrt()).abs()

    def image(self, x):
        v = self.params[1] @ x + self.params[2]
        return (v / v.square().sum().sqrt()).abs()

    def penalties(self, captions, images):
        above = [[(c - i).clamp(min=0).square().sum() for i in images] for c in captions]
        return torch.stack([torch.stack(row) for row in above])

    def loss(self, batch):
        captions = [self.caption(c) for c, _ in batch]
        images = [self.image(x) for _, x in batch]
        E, B = self.penalties(captions, images), len(images)
        wrong = [(k, j) for k in range(B) for j in range(B) if k != j]
        lacks = [self.s.margin + E[k, k] - e for k, j in wrong for e in (E[k, j], E[j, k])]
        return torch.stack(lacks).clamp(min=0).sum() / B

    def clip(self, gradients, batch):
        if self.s.clip is None:  # else it clips each gradient of the sum over the batch
            return gradients
        return [g * min(1.0, self.s.clip / (len(batch) * g.norm())) for g in gradients]

    @torch.no_grad()
    def values(self):
        results = {}
        for split in ("val", "test"):
            captions = [self.caption(c) for each in self.captions[split] for c in each]
            images = [self.image(x) for x in self.images[split]]
            both = places(self.penalties(captions, images).numpy())
            for what, ranked in zip(("image", "caption"), both, strict=True):
                for k in (1, 5, 10):
                    results[f"{split}_{what}_recall_{k}"] = np.mean([r <= k for r in ranked])
                results[f"{split}_{what}_mean_rank"] = np.mean(ranked)
        return results

    def batches(self):
        captions, images, size = self.captions["train"], self.images["train"], self.s.batch_size
        count = len(images)
        for epoch in range(self.s.epochs):
            rng = np.random.default_rng([self.seed, epoch])
            turns = rng.permuted(np.tile(np.arange(5), (count, 1)), axis=1)
            for round_ in range(5):
                order = rng.permutation(count)
                for k in range(count // size):
                    chosen = order[k * size : (k + 1) * size]
                    yield [(captions[i][turns[i, round_]], images[i]) for i in chosen]


NON_DEFAULT = [
    {"norm": "none"}, {"hidden": 4}, {"word_size": 3}, {"word_scale": 0.7}, {"min_count": 40},
    {"epochs": 2}, {"batch_size": 9}, {"learning_rate": 0.1}, {"margin": 0.4}, {"gain": -0.3},
    {"adam_betas": (0.3, 0.6)}, {"adam_eps": 0.3}, {"eps": 0.2}, {"first_epoch_points": 3},
    {"clip": 0.3},
]  # fmt: skip


@pytest.fixture(scope="module")
def few(layouts):
    """Fewer images, because the computation by hand is slow."""
    sizes = {"train": 9, "val": 2, "test": 2}
    return dataclasses.replace(
        layouts, images={split: layouts.images[split][:n] for split, n in sizes.items()}
    )


def use_double(run):
    for split, part in run.splits.items():
        run.splits[split] = part._replace(images=part.images.double())
    run.train = run.splits["train"]


@pytest.mark.parametrize("changes", NON_DEFAULT, ids=str)
def test_settings_with_non_default_values_act_as_defined(changes, few, double, monkeypatch):
    monkeypatch.setattr(orders, "EVAL_BATCH_SIZE", 4)  # of 10 captions
    check_run(OrderEmbeddingsRun, ByHand, SMALL, changes, few, use_double)


def test_recorded_vectors_rank_captions_as_the_network_does(layouts):
    made = OrderEmbeddingsRun(Settings(**SMALL, keep=7), layouts, seed=3)
    *_, last = train(made, epochs=1, first_epoch_points=2)
    assert (last["caption_levels"].dtype, last["caption_levels"].shape) == (np.uint8, (7, 7))
    assert (last["image_levels"].dtype, last["image_levels"].shape[0]) == (np.int8, 7)
    with torch.inference_mode():
        images, captions = made.splits["test"]
        # The first of each image's five captions.
        expected = made.model.captions([captions[5 * k] for k in range(7)]).numpy()
        vectors = last["caption_levels"] * last["caption_scales"][:, None]
        np.testing.assert_allclose(vectors, expected, atol=expected.max() / 509)  # half a level
        map_ = last["image_levels"] * last["image_scales"][:, None]
        mapped = images.numpy() @ map_[:, :-1].T + map_[:, -1]
        rounded = np.abs(mapped) / np.linalg.norm(mapped, axis=1, keepdims=True)
        np.testing.assert_allclose(rounded, made.model.images(images).numpy(), atol=0.01)
