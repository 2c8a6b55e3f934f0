"""Encoding of cloze questions, heuristic baselines, and training of the attentive reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lnlab import run
from lnlab.datasets.bible_cloze import BLANK, ENTITIES, Cloze, Question
from lnlab.experiments.attentive_reader import EXPERIMENT, Settings
from lnlab.experiments.attentive_reader.model import Texts, model

SPLITS = ("val", "test")
EVAL_BATCH_SIZE = 128  # maximum number of questions per batch in the evaluation
POOL = 16  # number of batches that are sorted by length together


def vocabulary(questions: Sequence[Question], min_count: int) -> dict[str, int]:
    """Return the index of entities, the blank and all words that are frequent enough.

    Index 0 is for all other words.
    """
    counts = Counter(word for q in questions for word in (*q.passage, *q.query))
    frequent = sorted(w for w, n in counts.items() if n >= min_count and w[0] != "@")
    return {word: k for k, word in enumerate((*ENTITIES, BLANK, *frequent), 1)}


class Coded(NamedTuple):
    """Questions as word indices, one per row, padded with 0.

    Attributes:
        passage: Word indices of the passages, shape ``(N, T)``.
        passage_length: Shape ``(N,)``.
        query: Word indices of the queries, shape ``(N, Q)``.
        query_length: Shape ``(N,)``.
        answer: Index of the correct entity, from 0, shape ``(N,)``.
    """

    passage: np.ndarray
    passage_length: np.ndarray
    query: np.ndarray
    query_length: np.ndarray
    answer: np.ndarray

    def take(self, rows: np.ndarray) -> Coded:
        """Return some of the questions."""
        return Coded(*(part[rows] for part in self))


def encode(questions: Sequence[Question], numbers: dict[str, int]) -> Coded:
    """Return questions as word indices."""

    def rows(texts: list[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.array([len(text) for text in texts])
        result = np.zeros((len(texts), lengths.max(initial=0)), np.int64)
        for row, text in zip(result, texts, strict=True):
            row[: len(text)] = [numbers.get(word, 0) for word in text]
        return result, lengths

    answers = np.array([ENTITIES.index(question.answer) for question in questions])
    passages, queries = ([getattr(q, name) for q in questions] for name in ("passage", "query"))
    return Coded(*rows(passages), *rows(queries), answers)


def shuffle_entities(questions: Coded, rng: np.random.Generator) -> Coded:
    """Permute the names of the entities of each question at random."""
    count, entities = len(questions.answer), len(ENTITIES)
    names = rng.permuted(np.tile(np.arange(1, 1 + entities), (count, 1)), axis=1)
    names = np.concatenate([np.zeros((count, 1), np.int64), names], 1)
    return questions._replace(
        passage=_rename_entities(questions.passage, names),
        query=_rename_entities(questions.query, names),
        answer=names[np.arange(count), 1 + questions.answer] - 1,
    )


def add_distractors(questions: Coded, rng: np.random.Generator) -> Coded:
    """Concatenate each passage with that of another question, in random order.

    The entities of the other passage get names that the question does not use. If there are not
    enough names, the remaining entities become unknown words.
    """
    count = len(questions.answer)
    distractors = questions.take((np.arange(count) + rng.integers(1, max(2, count), count)) % count)
    used = _present(questions.passage) | _present(questions.query)
    unused = np.argsort(used, axis=1, kind="stable")  # unused names come first
    to_rename = _present(distractors.passage)
    rank = to_rename.cumsum(1) - 1  # of an entity among those of the other passage
    new = np.where(
        to_rename & (rank < (~used).sum(1, keepdims=True)),
        1 + np.take_along_axis(unused, rank.clip(0), 1),
        0,
    )
    names = np.concatenate([np.zeros((count, 1), np.int64), new], 1)
    passage = _rename_entities(distractors.passage, names)
    lengths = questions.passage_length + distractors.passage_length
    result = np.zeros((count, questions.passage.shape[1] + passage.shape[1]), np.int64)
    first = rng.random(count) < 0.5
    for k in range(count):
        parts = [questions.passage[k, : questions.passage_length[k]],
                 passage[k, : distractors.passage_length[k]]]  # fmt: skip
        result[k, : lengths[k]] = np.concatenate(parts if first[k] else parts[::-1])
    return questions._replace(passage=result, passage_length=lengths)


def _present(words: np.ndarray) -> np.ndarray:
    """Return whether each entity occurs in each row, shape ``(N, E)``."""
    return (words[:, None] == np.arange(1, 1 + len(ENTITIES))[:, None]).any(2)


def _rename_entities(words: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return words in which entity k of row n, counted from 1, is replaced by ``names[n, k]``."""
    is_entity = words <= len(ENTITIES)
    return np.where(is_entity, np.take_along_axis(names, np.where(is_entity, words, 0), 1), words)


class Batch(NamedTuple):
    """A batch of questions.

    ``present`` is whether each entity occurs in each passage, ``dropout_seed`` the seed of the
    dropout masks of this batch.
    """

    passage: Texts
    query: Texts
    present: Tensor
    answer: Tensor
    dropout_seed: int | None = None


def batch(questions: Coded, device: torch.device | str) -> Batch:
    """Return questions as a batch of tensors."""

    def texts(words: np.ndarray, lengths: np.ndarray) -> Texts:
        words = np.ascontiguousarray(words[:, : lengths.max()].T)
        return Texts(torch.from_numpy(words).to(device), torch.from_numpy(lengths).to(device))

    return Batch(
        texts(questions.passage, questions.passage_length),
        texts(questions.query, questions.query_length),
        torch.from_numpy(_present(questions.passage)).to(device),
        torch.from_numpy(questions.answer).to(device),
    )


def heuristics(questions: Coded) -> dict[str, float]:
    """Return the error rates of heuristic baselines, which choose an entity of the passage.

    ``random`` chooses any, ``frequent`` the most frequent one, ``last`` the last one,
    ``frequent_unasked`` the most frequent one that does not occur in the query. Ties are broken at
    random.
    """
    correct = dict.fromkeys(("random", "frequent", "last", "frequent_unasked"), 0.0)
    for passage, query, answer in zip(
        questions.passage, questions.query, questions.answer, strict=True
    ):
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
            correct[name] += best[answer] / best.sum()
    return {name: 1 - count / len(questions.answer) for name, count in correct.items()}


class AttentiveReaderRun(run.Run):
    """Training of an attentive reader, with one seed.

    The order of the questions and the names of their entities depend only on the seed and the
    epoch.

    Args: as :class:`lnlab.run.Run`.

    Raises:
        ValueError: If there are fewer questions for training than ``batch_size``, or ``seed`` is
            negative.
    """

    experiment = EXPERIMENT

    def setup(self, data: Cloze) -> None:
        """Encode the questions, and build the model and its optimizer."""
        settings = self.settings
        train = _training_questions(settings, data)
        self.numbers = vocabulary(train, settings.min_count)
        self.train = encode(train, self.numbers)
        self.splits = {split: encode(data.questions[split], self.numbers) for split in SPLITS}
        self.verses = [question.verse for question in data.questions["val"]]
        self.longest = settings.passages * self.train.passage.shape[1]  # in training
        steps = self.longest, self.train.query.shape[1]
        for k, split in enumerate(SPLITS):
            self.splits[split] = self._with_distractors(
                self.splits[split], np.random.default_rng(k)
            )
        self.heuristic_errors = {
            f"{split}_{name}_error": error
            for split, questions in self.splits.items()
            for name, error in heuristics(questions).items()
        }
        sizes = 1 + len(self.numbers), len(ENTITIES), steps
        self.model = model(settings, *sizes, generator=self.generator()).to(self.device)
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Cloze) -> int:
        """Return the number of updates per epoch; a last, smaller batch is dropped."""
        count = len(_training_questions(settings, data))
        cls.check_enough(settings, "batch_size", count, "training questions", data)
        return count // settings.batch_size

    @property
    def cases(self) -> dict[str, int]:
        """Number of words in the vocabulary, and of questions of each split."""
        counts = {"words": len(self.numbers), "train_questions": len(self.train.answer)}
        return counts | {
            f"{s}_questions": len(questions.answer) for s, questions in self.splits.items()
        }

    def order(self, epoch: int) -> list[np.ndarray]:
        """Return the question indices of each batch; passages of a batch have similar lengths."""
        rng = np.random.default_rng([self.seed, epoch])
        size = self.settings.batch_size
        shuffled = rng.permutation(len(self.train.answer))[: size * self.updates_per_epoch]
        pools = (shuffled[k : k + POOL * size] for k in range(0, len(shuffled), POOL * size))
        length = self.train.passage_length
        batches: list[np.ndarray] = []
        for pool in pools:
            batches += [*pool[np.argsort(length[pool], kind="stable")].reshape(-1, size)]
        return [batches[k] for k in rng.permutation(len(batches))]

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield batches of questions of similar length, with entities renamed at random."""
        rng = np.random.default_rng([self.seed, epoch, 1])
        seeds = np.random.default_rng([self.seed, epoch, 2])
        for rows in self.order(epoch):
            questions = self._with_distractors(self.train.take(rows), rng)
            tensors = batch(shuffle_entities(questions, rng), self.device)
            yield tensors._replace(dropout_seed=int(seeds.integers(2**63)))

    def _with_distractors(self, questions: Coded, rng: np.random.Generator) -> Coded:
        """Return questions whose passages are concatenated with ``passages - 1`` others."""
        for _ in range(self.settings.passages - 1):
            questions = add_distractors(questions, rng)
        return questions

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log likelihood of the answers, in nats."""
        generator = None
        if self.settings.dropout:
            generator = torch.Generator(self.device).manual_seed(batch.dropout_seed)
        logits, _ = self.model(*batch[:3], generator)
        return F.cross_entropy(logits, batch.answer)

    def measure(self) -> dict[str, float | np.ndarray]:
        """Measure the error and the NLL of both splits, and the attention for a few questions.

        The results also have the errors of the heuristic baselines, which are constant.
        """
        results = dict(self.heuristic_errors)
        for split, questions in self.splits.items():
            logits = self.logits(questions)
            answers = torch.from_numpy(questions.answer).to(logits.device)
            errors = (logits.argmax(1) != answers).double()
            results[f"{split}_error"] = float(errors.mean())
            results[f"{split}_nll"] = float(F.cross_entropy(logits.double(), answers))
            longer = torch.from_numpy(questions.passage_length > self.longest).to(errors.device)
            if longer.any():
                results[f"{split}_longer_error"] = float(errors[longer].mean())
        return results | self._attention_of_examples()

    def _attention_of_examples(self) -> dict[str, np.ndarray]:
        """Return attention, answer probabilities and text of a few validation questions."""
        questions = self.splits["val"]
        if self.settings.attention_examples == 0:
            return {}
        rows = np.linspace(
            0, len(questions.answer), self.settings.attention_examples, endpoint=False
        ).astype(int)
        questions = questions.take(rows)
        logits, attention = self.model(*batch(questions, self.device)[:3])
        padded = np.zeros(questions.passage.shape, np.float16)
        padded[:, : len(attention)] = attention.T.cpu().numpy()
        words = ["...", *self.numbers]
        texts = [
            "\n".join((
                " ".join(words[w] for w in questions.passage[k, : questions.passage_length[k]]),
                " ".join(words[w] for w in questions.query[k, : questions.query_length[k]]),
                ENTITIES[questions.answer[k]],
                self.verses[row],
            )).encode()
            for k, row in enumerate(rows)
        ]  # fmt: skip
        text = np.zeros((len(rows), max(map(len, texts))), np.uint8)
        for row, content in zip(text, texts, strict=True):
            row[: len(content)] = np.frombuffer(content, np.uint8)
        probabilities = logits.softmax(1).cpu().numpy().astype(np.float16)
        return {"attention": padded, "chances": probabilities, "text": text}

    def logits(self, questions: Coded) -> Tensor:
        """Return the logits of the entities for all questions, shape ``(N, E)``."""
        order = np.argsort(questions.passage_length, kind="stable")
        result = torch.empty(len(order), len(ENTITIES), device=self.device)
        for rows in np.array_split(order, -(-len(order) // EVAL_BATCH_SIZE)):
            logits, _ = self.model(*batch(questions.take(rows), self.device)[:3])
            result[torch.from_numpy(rows)] = logits
        return result


def _training_questions(settings: Settings, data: Cloze) -> list[Question]:
    questions = data.questions["train"]
    if settings.max_length is None:
        return questions
    return [question for question in questions if len(question.passage) <= settings.max_length]
