"""One run of section 6.3: which sentences it reads, and what is measured of its vectors."""

from __future__ import annotations

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
from lnlab.experiments.skip_thoughts import EXPERIMENT, TASKS, Material, Settings
from lnlab.experiments.skip_thoughts.model import END, UNKNOWN, model
from lnlab.experiments.skip_thoughts.tasks import judged, of_pairs

HELD_OUT = 20  # every so many chapters one is held out
SHOWN, NEAREST = 500, 5  # sentences of the map; neighbors of each
DIRECTIONS = 4  # principal ones, of the map
LETTERS = 60  # most of a shown sentence

Batch = tuple[int, list[Tensor], list[Tensor], list[Tensor]]


def words(sentence: str) -> list[str]:
    """Return the words of a sentence in small letters, and its ``?`` and ``!``.

    Example:
        >>> words("'Don't!' said Mr. Hyde.")
        ["don't", '!', 'said', 'mr', 'hyde']
    """
    return re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)*|[?!]", sentence.lower())


def vocabulary(counts: Counter[str], size: int) -> dict[str, int]:
    """Number the words that come most often, by the alphabet those that come as often, from 2.

    0 is left for the end of a sentence and 1 for all other words.
    """
    often = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: k for k, word in enumerate(often[: size - 2], 2)}


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences of several chapters, one behind the other.

    Attributes:
        numbers: Of their words and, behind each sentence, of its end.
        ends: Where each ends in ``numbers``.
        middle: Which of them have a sentence before and one after in their chapter.
    """

    numbers: Tensor
    ends: np.ndarray
    middle: np.ndarray

    def __getitem__(self, k: int) -> Tensor:
        """Return the numbers of a sentence and of its end."""
        return self.numbers[self.ends[k - 1] if k else 0 : self.ends[k]]

    def around(self, chosen: Sequence[int]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Return sentences, those after them, and those before them."""
        here, after, before = ([self[k + far] for k in chosen] for far in (0, 1, -1))
        return here, after, before


@functools.lru_cache(maxsize=2)
def corpus(
    data: Material, size: int, length: int, device: str
) -> tuple[dict[str, int], Sentences, Sentences, tuple[str, ...]]:
    """Return the vocabulary, sentences to learn from, held-out ones and these as texts.

    The runs of a grid read the same books: they share what is made of them.
    """
    chapters = [chapter for book in data.prose.books for chapter in book.chapters]
    held = chapters[HELD_OUT - 1 :: HELD_OUT]
    del chapters[HELD_OUT - 1 :: HELD_OUT]
    split = [[[words(text) for text in chapter] for chapter in part] for part in (chapters, held)]
    counts = Counter(word for chapter in split[0] for sentence in chapter for word in sentence)
    numbers = vocabulary(counts, size)
    made = []
    for part in split:
        rows = [[*numbered(s, numbers)[:length], END] for chapter in part for s in chapter]
        starts = np.cumsum([0, *map(len, part)])
        middle = [np.arange(a + 1, b - 1) for a, b in itertools.pairwise(starts)]
        flat = torch.tensor([n for row in rows for n in row], device=device)
        made.append(Sentences(flat, np.cumsum([*map(len, rows)]), np.concatenate(middle)))
    return numbers, made[0], made[1], tuple(text for chapter in held for text in chapter)


def numbered(sentence: Sequence[str], numbers: dict[str, int]) -> list[int]:
    """Return the numbers of a sentence's words."""
    return [numbers.get(word, UNKNOWN) for word in sentence]


class Run(run.Run):
    """One run: one norm and start, one seed. Feed it to ``train``.

    Sentences come in passes over the books, each in an order of its own, which seed and pass alone
    decide; a last, smaller batch of a pass is left out.

    Args:
        settings: What is chosen.
        data: Novels and tasks.
        seed: From 0.
        device: Where model and novels live.

    Raises:
        ValueError: If the novels have too few sentences for ``batch_size``, or for ``keep``, or
            ``seed`` is negative.
    """

    experiment = EXPERIMENT
    optional_measures = ("update_ms", *(f"{kind}{task}" for kind in ("", "bag_") for task in TASKS))

    def __init__(
        self,
        settings: Settings,
        data: Material,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        read = corpus(data, settings.words, settings.length, str(device))
        self.numbers, self.train, self.val, self.texts = read
        self.probes = _evenly(self.val.middle, settings.val_sentences)
        if settings.keep and (count := len(shown(self.texts, self.numbers))) <= NEAREST:
            raise ValueError(
                f"Run: keep needs more than {NEAREST} short held-out sentences of known words, "
                f"{data.name} gives {count} with {settings.words} words; choose more words"
            )
        self.tasks = {name: getattr(data.tasks, name) for name in TASKS}
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        self.model = model(settings, 2 + len(self.numbers), generator=generator).to(device)
        self.optimizer = self.adam()
        self.done, self.seconds, self.timed = 0, 0.0, 0

    @classmethod
    def updates(cls, settings: Settings, data: Material) -> int:
        """Return the number of updates in an epoch, which is a setting.

        Raises:
            ValueError: If the novels have too few sentences for ``batch_size``.
        """
        chapters = [chapter for book in data.prose.books for chapter in book.chapters]
        held = [max(0, len(chapter) - 2) for chapter in chapters[HELD_OUT - 1 :: HELD_OUT]]
        count = sum(max(0, len(chapter) - 2) for chapter in chapters) - sum(held)
        if count < settings.batch_size or not sum(held):
            raise ValueError(
                f"Run: batch_size {settings.batch_size} needs as many training sentences between "
                f"two others, and one to validate on, {data.name} gives {count} and {sum(held)}; "
                "choose a smaller batch_size, or more books"
            )
        return settings.updates_an_epoch

    @property
    def cases(self) -> dict[str, int]:
        """How many words and sentences there are, cases of each task, and of its larger class."""
        counts = {"words": len(self.numbers), "train": len(self.train.middle)}
        counts["val"] = len(self.probes)
        for name, rows in self.tasks.items():
            ones = sum(row[0] for row in rows)
            counts |= {name: len(rows), f"{name}_most": max(ones, len(rows) - ones)}
        return counts

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield the number of the update, from 0, sentences, those after and those before them."""
        size, each = self.settings.batch_size, self.settings.updates_an_epoch
        a_pass, order, of = len(self.train.middle) // size, np.empty(0, int), -1
        for update in range(epoch * each, (epoch + 1) * each):
            if of != update // a_pass:
                of = update // a_pass
                order = np.random.default_rng([self.seed, of]).permutation(self.train.middle)
            k = update % a_pass * size
            yield update, *self.train.around(order[k : k + size])

    def update(self, batch: Batch) -> Tensor:
        """Take one step of the optimizer, and its time."""
        begin = time.perf_counter()
        loss = super().update(batch) if self.settings.clip is None else self._clipped(batch)
        self.done, self.timed = batch[0] + 1, self.timed + 1
        self.seconds += time.perf_counter() - begin
        return loss

    def _clipped(self, batch: Batch) -> Tensor:
        """Take one step of Adam; clip the gradient as in the code, whose loss is a sum of words."""
        loss = self.loss(batch)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        count = sum(len(sentence) for sentences in batch[2:] for sentence in sentences)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip / count)
        self.optimizer.step()
        return loss.detach()

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of a word of the sentences around."""
        return self.model(*batch[1:])

    def state(self) -> dict[str, Tensor]:
        """Return the number of updates, and how many took how long since the last measurement."""
        return {
            "counts": torch.tensor([self.done, self.timed]),
            "seconds": torch.tensor(self.seconds, dtype=torch.float64),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore them."""
        if state:
            self.done, self.timed = state["counts"].tolist()
            self.seconds = float(state["seconds"])

    def measure(self) -> dict[str, Any]:
        """Measure the loss and, at some points, what the vectors are good for.

        - ``val_nll``: mean loss of a word of the sentences around held-out ones;
        - ``update_ms``: of an update since the last point, without what is measured;
        - ``mr``, ``cr``, ``subj``: accuracy, ``caption_pairs``: area under the ROC curve; before
          the first update they are those of an untrained encoder;
        - ``bag_…``: the same of the mean of the words' vectors alone;
        - with ``keep``, of 500 short held-out sentences, of words that all are in the vocabulary
          and no two of the same: ``texts``, in UTF-8, each filled with 0; ``map``, the vectors in
          their first 4 principal directions, each with the sign that makes its largest number
          positive; ``explained``, those directions' shares of the variance; ``neighbors``, of each
          the 5 with the largest cosine of the vectors less their mean, nearest first.
        """
        ms = 1e3 * self.seconds / self.timed if self.timed else math.nan
        self.seconds, self.timed = 0.0, 0
        results: dict[str, Any] = {"val_nll": self.val_nll(), "update_ms": ms}
        if every := self.settings.judge_every:
            now = self.done % (every * self.settings.updates_an_epoch) == 0
            results |= self.judge() if now else dict.fromkeys(self.optional_measures[1:], math.nan)
        if self.settings.keep:
            results |= self.map()
        return results

    def val_nll(self) -> float:
        """Return the mean loss of a word of the sentences around held-out ones, in nats."""
        total = count = 0
        for part in np.array_split(self.probes, -(-len(self.probes) // 100)):
            around = self.val.around(part)
            size = sum(len(sentence) for sentences in around[1:] for sentence in sentences)
            total += float(self.model(*around)) * size
            count += size
        return total / count

    def vectors(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return sentences' vectors ``(N, H)``, and the means of their words' vectors ``(N, E)``.

        They are read to their ends, however long.
        """
        device = self.train.numbers.device
        rows = [torch.tensor([*numbered(words(t), self.numbers), END]) for t in texts]
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
        """Judge the vectors, and the means of the words' vectors, on each task."""
        results = {}
        for name, rows in self.tasks.items():
            labels = np.array([row[0] for row in rows])
            sides = [self.vectors(texts) for texts in list(zip(*rows, strict=True))[1:]]
            for kind, features in zip(("", "bag_"), zip(*sides, strict=True), strict=True):
                x = features[0] if len(features) == 1 else of_pairs(*features)
                results[f"{kind}{name}"] = judged(x, labels, auc=len(features) == 2)
        return results

    def map(self) -> dict[str, np.ndarray]:
        """Return where some short held-out sentences lie, and next to which others."""
        texts = shown(self.texts, self.numbers)
        states, _ = self.vectors(texts)
        x = states - states.mean(0)
        _, lengths, directions = np.linalg.svd(x, full_matrices=False)
        placed = x @ directions[:DIRECTIONS].T
        placed *= np.sign(placed[np.abs(placed).argmax(0), np.arange(placed.shape[1])])
        unit = x / np.linalg.norm(x, axis=1, keepdims=True).clip(1e-12)
        cosine = unit @ unit.T
        np.fill_diagonal(cosine, -np.inf)
        told = [np.frombuffer(t.encode().ljust(LETTERS, b"\0"), np.uint8) for t in texts]
        return {
            "map": placed.astype(np.float16),
            "explained": (lengths**2 / (lengths**2).sum())[:DIRECTIONS].astype(np.float16),
            "neighbors": np.argsort(-cosine, 1, kind="stable")[:, :NEAREST].astype(np.uint16),
            "texts": np.stack(told),
        }


def shown(texts: Sequence[str], numbers: Mapping[str, int]) -> list[str]:
    """Return which sentences the map has: short ones of known words, no two of the same words."""
    results: dict[tuple[str, ...], str] = {}
    for text in texts:
        read = tuple(words(text))
        if len(text.encode()) <= LETTERS and 4 <= len(read) <= 10 and numbers.keys() >= {*read}:
            results.setdefault(read, text)
    return _evenly(np.array(list(results.values())), SHOWN).tolist()


def _evenly(rows: np.ndarray, count: int) -> np.ndarray:
    """Return as many of the rows, evenly spaced, or all if there are no more."""
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]
