"""Questions as numbers, batches of like length, and one run of an attentive reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.data.bible_cloze import BLANK, ENTITIES, Cloze, Question
from lnlib.experiments.attentive_reader import EXPERIMENT, Settings
from lnlib.experiments.attentive_reader.model import Texts, model
from lnlib.runs import run

SPLITS = ("val", "test")
POOL = 16  # batches of an epoch that are sorted by length together


def vocabulary(questions: Sequence[Question], least_count: int) -> dict[str, int]:
    """Number entities and the blank, then the words that come often enough; 0 is for all others."""
    counts = Counter(w for asked in questions for w in (*asked.passage, *asked.query))
    often = sorted(w for w, n in counts.items() if n >= least_count and w[0] != "@")
    return {word: k for k, word in enumerate((*ENTITIES, BLANK, *often), 1)}


class Coded(NamedTuple):
    """Questions as numbers of words, one a row, 0 behind their ends.

    Attributes:
        passage: Shape ``(N, T)``.
        passage_length: Shape ``(N,)``.
        query: Shape ``(N, Q)``.
        query_length: Shape ``(N,)``.
        answer: Which entity from 0, shape ``(N,)``.
    """

    passage: np.ndarray
    passage_length: np.ndarray
    query: np.ndarray
    query_length: np.ndarray
    answer: np.ndarray

    def take(self, rows: np.ndarray) -> Coded:
        """Return some of the questions."""
        return Coded(*(part[rows] for part in self))


def coded(questions: Sequence[Question], numbers: dict[str, int]) -> Coded:
    """Turn questions into numbers."""

    def rows(texts: list[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.array([len(text) for text in texts])
        found = np.zeros((len(texts), lengths.max(initial=0)), np.int64)
        for row, text in zip(found, texts, strict=True):
            row[: len(text)] = [numbers.get(word, 0) for word in text]
        return found, lengths

    answers = np.array([ENTITIES.index(asked.answer) for asked in questions])
    passages, queries = ([getattr(a, of) for a in questions] for of in ("passage", "query"))
    return Coded(*rows(passages), *rows(queries), answers)


def renamed(asked: Coded, rng: np.random.Generator) -> Coded:
    """Give the entities of each question new names among themselves."""
    count, entities = len(asked.answer), len(ENTITIES)
    names = rng.permuted(np.tile(np.arange(1, 1 + entities), (count, 1)), axis=1)
    names = np.concatenate([np.zeros((count, 1), np.int64), names], 1)

    def new(words: np.ndarray) -> np.ndarray:
        are = words <= entities
        return np.where(are, np.take_along_axis(names, np.where(are, words, 0), 1), words)

    answer = names[np.arange(count), 1 + asked.answer] - 1
    return asked._replace(passage=new(asked.passage), query=new(asked.query), answer=answer)


class Batch(NamedTuple):
    """Questions side by side; ``present`` says which entities are in each passage."""

    passage: Texts
    query: Texts
    present: Tensor
    answer: Tensor


def batch(asked: Coded, device: torch.device | str) -> Batch:
    """Return questions as the reader takes them."""

    def texts(words: np.ndarray, lengths: np.ndarray) -> Texts:
        words = np.ascontiguousarray(words[:, : lengths.max()].T)
        return Texts(torch.from_numpy(words).to(device), torch.from_numpy(lengths).to(device))

    present = (asked.passage[:, None] == np.arange(1, 1 + len(ENTITIES))[:, None]).any(2)
    return Batch(
        texts(asked.passage, asked.passage_length),
        texts(asked.query, asked.query_length),
        torch.from_numpy(present).to(device),
        torch.from_numpy(asked.answer).to(device),
    )


class Run(run.Run):
    """One run: one norm, one start, one seed. Feed it to ``train``.

    Seed and epoch alone say in which order questions come and what their entities are called in it.

    Args:
        settings: What is chosen.
        data: Questions.
        seed: From 0.
        device: Where the model lives.

    Raises:
        ValueError: If there are fewer questions for training than ``batch_size``, or ``seed`` is
            negative.
    """

    experiment = EXPERIMENT

    def __init__(
        self,
        settings: Settings,
        data: Cloze,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        self.device = device
        train = _short(settings, data)
        self.numbers = vocabulary(train, settings.least_count)
        self.train = coded(train, self.numbers)
        self.splits = {split: coded(data.questions[split], self.numbers) for split in SPLITS}
        steps = self.train.passage.shape[1], self.train.query.shape[1]
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        self.model = model(
            settings, 1 + len(self.numbers), len(ENTITIES), steps, generator=generator
        ).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=settings.learning_rate,
            betas=settings.adam_betas,
            eps=settings.adam_eps,
            fused=True,
        )
        if settings.clip is not None:
            self.optimizer.register_step_pre_hook(self._clip)

    def _clip(self, *_: Any) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)

    @classmethod
    def updates(cls, settings: Settings, data: Cloze) -> int:
        """Return the number of updates in an epoch."""
        count = len(_short(settings, data))
        if count < settings.batch_size:
            raise ValueError(
                f"Run: batch_size {settings.batch_size} needs as many training questions, "
                f"{data.name} gives {count}; choose a smaller batch_size"
            )
        return count // settings.batch_size

    @property
    def cases(self) -> dict[str, int]:
        """How many words have a vector, and how many questions each split has."""
        counts = {"words": len(self.numbers), "train_questions": len(self.train.answer)}
        return counts | {f"{s}_questions": len(asked.answer) for s, asked in self.splits.items()}

    def order(self, epoch: int) -> list[np.ndarray]:
        """Return which questions each batch has: of like length, in any order."""
        rng = np.random.default_rng([self.seed, epoch])
        size = self.settings.batch_size
        mixed = rng.permutation(len(self.train.answer))[: size * self.updates_per_epoch]
        pools = (mixed[k : k + POOL * size] for k in range(0, len(mixed), POOL * size))
        length = self.train.passage_length
        batches = [b for pool in pools
                   for b in pool[np.argsort(length[pool], kind="stable")].reshape(-1, size)]  # fmt: skip
        return [batches[k] for k in rng.permutation(len(batches))]

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield questions of like length, their entities named anew."""
        rng = np.random.default_rng([self.seed, epoch, 1])
        for rows in self.order(epoch):
            yield batch(renamed(self.train.take(rows), rng), self.device)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean NLL of the answers."""
        logits, _ = self.model(*batch[:3])
        return F.cross_entropy(logits, batch.answer)

    def measure(self) -> dict[str, float]:
        """Measure error and NLL of both splits."""
        found = {}
        for split, asked in self.splits.items():
            logits = self.logits(asked)
            answers = torch.from_numpy(asked.answer).to(logits.device)
            wrong = (logits.argmax(1) != answers).double()
            found[f"{split}_error"] = float(wrong.mean())
            found[f"{split}_nll"] = float(F.cross_entropy(logits.double(), answers))
        return found

    def logits(self, asked: Coded) -> Tensor:
        """Return the entities' logits for questions, in their order."""
        order = np.argsort(asked.passage_length, kind="stable")
        found = torch.empty(len(order), len(ENTITIES), device=self.device)
        for rows in np.array_split(order, -(-len(order) // 128)):
            logits, _ = self.model(*batch(asked.take(rows), self.device)[:3])
            found[torch.from_numpy(rows)] = logits
        return found


def _short(settings: Settings, data: Cloze) -> list[Question]:
    questions = data.questions["train"]
    if settings.longest is None:
        return questions
    return [asked for asked in questions if len(asked.passage) <= settings.longest]
