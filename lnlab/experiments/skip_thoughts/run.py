"""Training of skip-thoughts (section 6.3): batches of sentences, and evaluation of the vectors."""

import functools
import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lnlab import run
from lnlab.experiments.skip_thoughts import EXPERIMENT, TASKS, Settings, SkipThoughtsData
from lnlab.experiments.skip_thoughts.model import END, UNKNOWN, model
from lnlab.experiments.skip_thoughts.tasks import cross_validate, pair_features

EVAL_BATCH_SIZE = 100  # sentences per batch in the evaluation of the loss
HELD_OUT = 20  # every 20th chapter is held out
SHOWN, NEAREST = 500, 5  # number of sentences of the map, and of neighbors of each
DIRECTIONS = 4  # number of principal directions of the map
LETTERS = 60  # maximum length of a sentence of the map, in bytes

Batch = tuple[int, list[Tensor], list[Tensor], list[Tensor]]


def words(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case, and its ``?`` and ``!``.

    Example:
        >>> words("'Don't!' said Mr. Hyde.")
        ["don't", '!', 'said', 'mr', 'hyde']
    """
    return re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)*|[?!]", sentence.lower())


def vocabulary(counts: Counter[str], size: int) -> dict[str, int]:
    """Return the indices of the most frequent words, from 2; ties are in alphabetical order.

    Index 0 is for the end of a sentence and 1 for all other words.
    """
    frequent = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: k for k, word in enumerate(frequent[: size - 2], 2)}


@dataclass(frozen=True, eq=False)
class Sentences:
    """Consecutive sentences of several chapters.

    Attributes:
        numbers: Word indices of all sentences, with :data:`END` after each.
        ends: Where each sentence ends in ``numbers``.
        middle: Indices of the sentences that have neighbors on both sides in their chapter.
    """

    numbers: Tensor
    ends: np.ndarray
    middle: np.ndarray

    def __getitem__(self, k: int) -> Tensor:
        """Return the word indices of a sentence, with its end."""
        return self.numbers[self.ends[k - 1] if k else 0 : self.ends[k]]

    def around(self, chosen: Sequence[int]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Return sentences, the sentences after them and the sentences before them."""
        here, after, before = ([self[k + offset] for k in chosen] for offset in (0, 1, -1))
        return here, after, before


@functools.lru_cache(maxsize=2)
def corpus(
    data: SkipThoughtsData, size: int, length: int, device: str
) -> tuple[dict[str, int], Sentences, Sentences, tuple[str, ...]]:
    """Return the vocabulary, training sentences, held-out sentences and their texts.

    The result is cached, because all runs of a grid read the same books.
    """
    chapters = [chapter for book in data.prose.books for chapter in book.chapters]
    held_out = chapters[HELD_OUT - 1 :: HELD_OUT]
    del chapters[HELD_OUT - 1 :: HELD_OUT]
    split = [
        [[words(text) for text in chapter] for chapter in part] for part in (chapters, held_out)
    ]
    counts = Counter(word for chapter in split[0] for sentence in chapter for word in sentence)
    numbers = vocabulary(counts, size)
    splits = []
    for part in split:
        rows = [[*word_indices(s, numbers)[:length], END] for chapter in part for s in chapter]
        starts = np.cumsum([0, *map(len, part)])
        middle = [np.arange(a + 1, b - 1) for a, b in itertools.pairwise(starts)]
        flat = torch.tensor([n for row in rows for n in row], device=device)
        splits.append(Sentences(flat, np.cumsum([*map(len, rows)]), np.concatenate(middle)))
    return numbers, splits[0], splits[1], tuple(text for chapter in held_out for text in chapter)


def word_indices(sentence: Sequence[str], numbers: dict[str, int]) -> list[int]:
    """Return the indices of the words of a sentence."""
    return [numbers.get(word, UNKNOWN) for word in sentence]


class SkipThoughtsRun(run.Run):
    """Training of skip-thoughts, with one seed.

    The order of the sentences in each pass over the books depends only on the seed and the pass; a
    last, smaller batch of a pass is dropped.

    Args: as :class:`lnlab.run.Run`.

    Raises:
        ValueError: If the novels have too few sentences for ``batch_size``, or for ``keep``, or
            ``seed`` is negative.
    """

    experiment = EXPERIMENT
    optional_measures = ("update_ms", *(f"{kind}{task}" for kind in ("", "bag_") for task in TASKS))

    def setup(self, data: SkipThoughtsData) -> None:
        """Encode the sentences, and build the model and its optimizer."""
        settings = self.settings
        sentences = corpus(data, settings.words, settings.length, str(self.device))
        self.numbers, self.train, self.val, self.texts = sentences
        self.probes = _evenly(self.val.middle, settings.val_sentences)
        if settings.keep and (count := len(shown(self.texts, self.numbers))) <= NEAREST:
            raise ValueError(
                f"Run: keep needs more than {NEAREST} short held-out sentences of known words, "
                f"{data.name} has {count} with {settings.words} words; choose more words"
            )
        self.tasks = {name: getattr(data.tasks, name) for name in TASKS}
        network = model(settings, 2 + len(self.numbers), generator=self.generator())
        self.model = network.to(self.device)
        self.optimizer = self.adam()
        self.done, self.seconds, self.timed = 0, 0.0, 0

    @classmethod
    def updates(cls, settings: Settings, data: SkipThoughtsData) -> int:
        """Return the number of updates per epoch, which is a setting.

        Raises:
            ValueError: If the novels have too few sentences for ``batch_size``.
        """
        chapters = [chapter for book in data.prose.books for chapter in book.chapters]
        held_out = [max(0, len(chapter) - 2) for chapter in chapters[HELD_OUT - 1 :: HELD_OUT]]
        count = sum(max(0, len(chapter) - 2) for chapter in chapters) - sum(held_out)
        if count < settings.batch_size or not sum(held_out):
            raise ValueError(
                f"Run: batch_size {settings.batch_size} needs as many training sentences between "
                f"two others, and one for validation, but {data.name} has {count} and "
                f"{sum(held_out)}; choose a smaller batch_size, or more books"
            )
        return settings.updates_per_epoch

    @property
    def cases(self) -> dict[str, int]:
        """Number of words, of sentences, and of examples of each task and of its larger class."""
        counts = {"words": len(self.numbers), "train": len(self.train.middle)}
        counts["val"] = len(self.probes)
        for name, rows in self.tasks.items():
            positives = sum(row[0] for row in rows)
            counts |= {name: len(rows), f"{name}_most": max(positives, len(rows) - positives)}
        return counts

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield the update's number from 0, sentences, those after them and those before them."""
        size, num_updates = self.settings.batch_size, self.settings.updates_per_epoch
        batches_per_pass = len(self.train.middle) // size
        current_pass, order = -1, np.empty(0, int)
        for update in range(epoch * num_updates, (epoch + 1) * num_updates):
            number, k = divmod(update, batches_per_pass)
            if number != current_pass:
                current_pass = number
                order = np.random.default_rng([self.seed, number]).permutation(self.train.middle)
            yield update, *self.train.around(order[k * size : (k + 1) * size])

    def update(self, batch: Batch) -> Tensor:
        """Take one step of the optimizer and measure its time."""
        begin = time.perf_counter()
        loss = super().update(batch)
        self.done, self.timed = batch[0] + 1, self.timed + 1
        self.seconds += time.perf_counter() - begin
        return loss

    def clip(self, batch: Batch) -> None:
        """Clip the gradient as in the public code, whose loss is a sum over words."""
        if self.settings.clip is not None:
            count = sum(len(sentence) for sentences in batch[2:] for sentence in sentences)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip / count)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss per word of the neighboring sentences, in nats."""
        return self.model(*batch[1:])

    def state(self) -> dict[str, Tensor]:
        """Return the number of updates, and number and time of those since the last measurement."""
        return {
            "counts": torch.tensor([self.done, self.timed]),
            "seconds": torch.tensor(self.seconds, dtype=torch.float64),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that :meth:`state` returned."""
        if state:
            self.done, self.timed = state["counts"].tolist()
            self.seconds = float(state["seconds"])

    def measure(self) -> dict[str, Any]:
        """Measure the loss and, at some points, the accuracy of the vectors on tasks.

        - ``val_nll``: mean loss per word of the neighbors of held-out sentences;
        - ``update_ms``: mean time of an update since the last point;
        - ``mr``, ``cr``, ``subj``: accuracy; ``caption_pairs``: area under the ROC curve. Before
          the first update, these are the values of an untrained encoder;
        - ``bag_…``: the same for the mean of the word vectors;
        - with ``keep``, for 500 short, distinct held-out sentences of known words: ``texts`` in
          UTF-8, padded with 0; ``map``, the vectors in their first 4 principal directions, with
          signs that make the largest component positive; ``explained``, the fractions of the
          variance of these directions; ``neighbors``, the 5 sentences with the largest cosine of
          the centered vectors, nearest first.
        """
        ms = 1e3 * self.seconds / self.timed if self.timed else math.nan
        self.seconds, self.timed = 0.0, 0
        results: dict[str, Any] = {"val_nll": self.val_nll(), "update_ms": ms}
        if interval := self.settings.evaluate_every:
            due = self.done % (interval * self.settings.updates_per_epoch) == 0
            results |= self.judge() if due else dict.fromkeys(self.optional_measures[1:], math.nan)
        if self.settings.keep:
            results |= self.map()
        return results

    def val_nll(self) -> float:
        """Return the mean loss per word of the neighbors of held-out sentences, in nats."""
        total = count = 0
        for part in np.array_split(self.probes, -(-len(self.probes) // EVAL_BATCH_SIZE)):
            around = self.val.around(part)
            size = sum(len(sentence) for sentences in around[1:] for sentence in sentences)
            total += float(self.model(*around)) * size
            count += size
        return total / count

    def vectors(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors of sentences ``(N, H)`` and the means of word vectors ``(N, E)``.

        Sentences are not truncated.
        """
        device = self.train.numbers.device
        rows = [torch.tensor([*word_indices(words(t), self.numbers), END]) for t in texts]
        order = sorted(range(len(rows)), key=lambda k: len(rows[k]))
        states = np.empty((len(rows), self.settings.hidden), np.float32)
        bags = np.empty((len(rows), self.settings.word_size), np.float32)
        for k in range(0, len(order), 200):
            part = order[k : k + 200]
            chosen = [rows[i].to(device) for i in part]
            states[part] = self.model.encode(chosen).cpu().numpy()
            bags[part] = torch.stack([self.model.words(row).mean(0) for row in chosen]).cpu()
        return states, bags

    def judge(self) -> dict[str, float]:
        """Evaluate the sentence vectors, and the means of word vectors, on each task."""
        results = {}
        for name, rows in self.tasks.items():
            labels = np.array([row[0] for row in rows])
            sides = [self.vectors(texts) for texts in list(zip(*rows, strict=True))[1:]]
            for kind, features in zip(("", "bag_"), zip(*sides, strict=True), strict=True):
                x = features[0] if len(features) == 1 else pair_features(*features)
                results[f"{kind}{name}"] = cross_validate(x, labels, auc=len(features) == 2)
        return results

    def map(self) -> dict[str, np.ndarray]:
        """Return principal components and nearest neighbors of some short held-out sentences."""
        texts = shown(self.texts, self.numbers)
        states, _ = self.vectors(texts)
        x = states - states.mean(0)
        _, singular_values, directions = np.linalg.svd(x, full_matrices=False)
        projected = x @ directions[:DIRECTIONS].T
        largest = np.abs(projected).argmax(0)
        projected *= np.sign(projected[largest, np.arange(projected.shape[1])])
        variances = singular_values**2
        unit = x / np.linalg.norm(x, axis=1, keepdims=True).clip(1e-12)
        cosine = unit @ unit.T
        np.fill_diagonal(cosine, -np.inf)
        encoded = [np.frombuffer(t.encode().ljust(LETTERS, b"\0"), np.uint8) for t in texts]
        return {
            "map": projected.astype(np.float16),
            "explained": (variances / variances.sum())[:DIRECTIONS].astype(np.float16),
            "neighbors": np.argsort(-cosine, 1, kind="stable")[:, :NEAREST].astype(np.uint16),
            "texts": np.stack(encoded),
        }


def shown(texts: Sequence[str], numbers: Mapping[str, int]) -> list[str]:
    """Return the sentences of the map: short, of known words, no two with the same words."""
    results: dict[tuple[str, ...], str] = {}
    for text in texts:
        key = tuple(words(text))
        if len(text.encode()) <= LETTERS and 4 <= len(key) <= 10 and numbers.keys() >= {*key}:
            results.setdefault(key, text)
    return _evenly(np.array(list(results.values())), SHOWN).tolist()


def _evenly(rows: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` evenly spaced rows, or all rows if there are fewer."""
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]
