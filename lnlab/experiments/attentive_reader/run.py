"""Questions as numbers, batches of like length, and one run of an attentive reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab import run
from lnlab.datasets.bible_cloze import BLANK, ENTITIES, Cloze, Question
from lnlab.experiments.attentive_reader import EXPERIMENT, Settings
from lnlab.experiments.attentive_reader.model import Texts, model

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
        result = np.zeros((len(texts), lengths.max(initial=0)), np.int64)
        for row, text in zip(result, texts, strict=True):
            row[: len(text)] = [numbers.get(word, 0) for word in text]
        return result, lengths

    answers = np.array([ENTITIES.index(asked.answer) for asked in questions])
    passages, queries = ([getattr(a, of) for a in questions] for of in ("passage", "query"))
    return Coded(*rows(passages), *rows(queries), answers)


def renamed(asked: Coded, rng: np.random.Generator) -> Coded:
    """Give the entities of each question new names among themselves."""
    count, entities = len(asked.answer), len(ENTITIES)
    names = rng.permuted(np.tile(np.arange(1, 1 + entities), (count, 1)), axis=1)
    names = np.concatenate([np.zeros((count, 1), np.int64), names], 1)
    return asked._replace(
        passage=_named(asked.passage, names),
        query=_named(asked.query, names),
        answer=names[np.arange(count), 1 + asked.answer] - 1,
    )


def among_others(asked: Coded, rng: np.random.Generator) -> Coded:
    """Put each passage before or behind that of another question.

    The other's entities get names that the question does not have; where none is left, they are
    words among all others.
    """
    count = len(asked.answer)
    other = asked.take((np.arange(count) + rng.integers(1, max(2, count), count)) % count)
    used = _present(asked.passage) | _present(asked.query)
    left = np.argsort(used, axis=1, kind="stable")  # first the names that are not used
    there = _present(other.passage)
    turn = there.cumsum(1) - 1  # of the other's entities, in their order
    new = np.where(
        there & (turn < (~used).sum(1, keepdims=True)),
        1 + np.take_along_axis(left, turn.clip(0), 1),
        0,
    )
    names = np.concatenate([np.zeros((count, 1), np.int64), new], 1)
    passage = _named(other.passage, names)
    lengths = asked.passage_length + other.passage_length
    result = np.zeros((count, asked.passage.shape[1] + passage.shape[1]), np.int64)
    first = rng.random(count) < 0.5
    for k in range(count):
        parts = [asked.passage[k, : asked.passage_length[k]],
                 passage[k, : other.passage_length[k]]]  # fmt: skip
        result[k, : lengths[k]] = np.concatenate(parts if first[k] else parts[::-1])
    return asked._replace(passage=result, passage_length=lengths)


def _present(words: np.ndarray) -> np.ndarray:
    """Return which entities are among the words of each row, shape ``(N, E)``."""
    return (words[:, None] == np.arange(1, 1 + len(ENTITIES))[:, None]).any(2)


def _named(words: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return words with entity k of row n, from 1, called ``names[n, k]``."""
    are = words <= len(ENTITIES)
    return np.where(are, np.take_along_axis(names, np.where(are, words, 0), 1), words)


class Batch(NamedTuple):
    """Questions side by side; ``present`` says which entities are in each passage.

    ``dropout_seed`` is the seed of this batch's dropout.
    """

    passage: Texts
    query: Texts
    present: Tensor
    answer: Tensor
    dropout_seed: int | None = None


def batch(asked: Coded, device: torch.device | str) -> Batch:
    """Return questions as the reader takes them."""

    def texts(words: np.ndarray, lengths: np.ndarray) -> Texts:
        words = np.ascontiguousarray(words[:, : lengths.max()].T)
        return Texts(torch.from_numpy(words).to(device), torch.from_numpy(lengths).to(device))

    return Batch(
        texts(asked.passage, asked.passage_length),
        texts(asked.query, asked.query_length),
        torch.from_numpy(_present(asked.passage)).to(device),
        torch.from_numpy(asked.answer).to(device),
    )


def heuristics(asked: Coded) -> dict[str, float]:
    """Return the error of those who do not read: each takes one of the entities in the passage.

    ``random`` takes any, ``frequent`` the one that comes most often, ``last`` the one that comes
    last, ``frequent_unasked`` the one that comes most often of those that the query does not name.
    Of equals each takes any.
    """
    right = dict.fromkeys(("random", "frequent", "last", "frequent_unasked"), 0.0)
    for passage, query, answer in zip(asked.passage, asked.query, asked.answer, strict=True):
        counts = np.bincount(passage, minlength=1 + len(ENTITIES))[1 : 1 + len(ENTITIES)]
        unasked = counts.copy()
        unasked[[k - 1 for k in set(query.tolist()) if 0 < k <= len(ENTITIES)]] = 0
        names = passage[(passage > 0) & (passage <= len(ENTITIES))]
        for name, votes in (
            ("random", counts > 0),
            ("frequent", counts),
            ("last", np.arange(len(counts)) == names[-1] - 1),
            ("frequent_unasked", unasked),
        ):
            best = votes == votes.max()
            right[name] += best[answer] / best.sum()
    return {name: 1 - share / len(asked.answer) for name, share in right.items()}


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
        self.verses = [asked.verse for asked in data.questions["val"]]
        self.longest = settings.passages * self.train.passage.shape[1]  # in training
        steps = self.longest, self.train.query.shape[1]
        for k, split in enumerate(SPLITS):
            self.splits[split] = self._joined(self.splits[split], np.random.default_rng(k))
        self.unread = {
            f"{split}_{name}_error": error
            for split, asked in self.splits.items()
            for name, error in heuristics(asked).items()
        }
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        self.model = model(
            settings, 1 + len(self.numbers), len(ENTITIES), steps, generator=generator
        ).to(device)
        self.optimizer = self.adam()
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
        batches: list[np.ndarray] = []
        for pool in pools:
            batches += [*pool[np.argsort(length[pool], kind="stable")].reshape(-1, size)]
        return [batches[k] for k in rng.permutation(len(batches))]

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield questions of like length, their entities named anew."""
        rng = np.random.default_rng([self.seed, epoch, 1])
        seeds = np.random.default_rng([self.seed, epoch, 2])
        for rows in self.order(epoch):
            asked = self._joined(self.train.take(rows), rng)
            made = batch(renamed(asked, rng), self.device)
            yield made._replace(dropout_seed=int(seeds.integers(2**63)))

    def _joined(self, asked: Coded, rng: np.random.Generator) -> Coded:
        """Return questions whose passages stand among as many others as the settings say."""
        for _ in range(self.settings.passages - 1):
            asked = among_others(asked, rng)
        return asked

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean NLL of the answers."""
        generator = None
        if self.settings.dropout:
            generator = torch.Generator(self.device).manual_seed(batch.dropout_seed)
        logits, _ = self.model(*batch[:3], generator)
        return F.cross_entropy(logits, batch.answer)

    def measure(self) -> dict[str, float | np.ndarray]:
        """Measure error and NLL of both splits; keep the attention of a few questions.

        Beside them stand the errors of those who do not read; they never change.
        """
        results = dict(self.unread)
        for split, asked in self.splits.items():
            logits = self.logits(asked)
            answers = torch.from_numpy(asked.answer).to(logits.device)
            wrong = (logits.argmax(1) != answers).double()
            results[f"{split}_error"] = float(wrong.mean())
            results[f"{split}_nll"] = float(F.cross_entropy(logits.double(), answers))
            longer = torch.from_numpy(asked.passage_length > self.longest).to(wrong.device)
            if longer.any():
                results[f"{split}_longer_error"] = float(wrong[longer].mean())
        return results | self._pictures()

    def _pictures(self) -> dict[str, np.ndarray]:
        """Return attention and answers for a few questions on validation, and what they say."""
        asked = self.splits["val"]
        if self.settings.pictures == 0:
            return {}
        rows = np.linspace(0, len(asked.answer), self.settings.pictures, endpoint=False).astype(int)
        asked = asked.take(rows)
        logits, attention = self.model(*batch(asked, self.device)[:3])
        kept = np.zeros(asked.passage.shape, np.float16)
        kept[:, : len(attention)] = attention.T.cpu().numpy()
        words = ["...", *self.numbers]
        texts = [
            "\n".join((
                " ".join(words[w] for w in asked.passage[k, : asked.passage_length[k]]),
                " ".join(words[w] for w in asked.query[k, : asked.query_length[k]]),
                ENTITIES[asked.answer[k]],
                self.verses[row],
            )).encode()
            for k, row in enumerate(rows)
        ]  # fmt: skip
        text = np.zeros((len(rows), max(map(len, texts))), np.uint8)
        for row, one in zip(text, texts, strict=True):
            row[: len(one)] = np.frombuffer(one, np.uint8)
        chances = logits.softmax(1).cpu().numpy().astype(np.float16)
        return {"attention": kept, "chances": chances, "text": text}

    def logits(self, asked: Coded) -> Tensor:
        """Return the entities' logits for questions, in their order."""
        order = np.argsort(asked.passage_length, kind="stable")
        result = torch.empty(len(order), len(ENTITIES), device=self.device)
        for rows in np.array_split(order, -(-len(order) // 128)):
            logits, _ = self.model(*batch(asked.take(rows), self.device)[:3])
            result[torch.from_numpy(rows)] = logits
        return result


def _short(settings: Settings, data: Cloze) -> list[Question]:
    questions = data.questions["train"]
    if settings.longest is None:
        return questions
    return [asked for asked in questions if len(asked.passage) <= settings.longest]
