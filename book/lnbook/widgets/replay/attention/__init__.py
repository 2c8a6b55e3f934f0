"""A passage with a missing name, its words shaded by the attention of several networks.

Attention and answers for a few passages were recorded by ``lnlab.experiments.attentive_reader``
with ``attention_examples``, at every measured point of training. The page computes nothing. The
built book and a live notebook use the same files. :class:`AttentionReplay` is a widget without a
Python part.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lnbook.widgets.replay import base
from lnlab import records as recorded

BY = ("norm", "start", "gain")
#: Maps norm, initialization and gain to the name of the network, its color and its line style.
ARMS = {
    ("none", "usual", 1.0): ("No norm", "none", "dotted"),
    ("none", "chosen", 1.0): ("No norm (tuned initialization)", "none", "dashed"),
    ("batch", "usual", 0.1): ("Batch norm in the LSTM", "batch", "solid"),
    ("batch_everywhere", "usual", 0.1): ("Batch norm everywhere", "batch", "dashed"),
    ("layer", "usual", 0.1): ("Layer norm, gain 0.1", "layer", "dashed"),
    ("layer", "usual", 1.0): ("Layer norm", "layer", "solid"),
}
#: The networks shown side by side at first, if there are records of them.
SHOWN = ("No norm", "Batch norm in the LSTM", "Layer norm")
BLANK, NAME = "@blank", re.compile(r"@e(\d+)")
BOOKS = {"songofsolomon": "Song of Solomon", "songofsongs": "Song of Songs"}
CHANCE = 10_000  # the integer that stands for a probability of 1


class Question(NamedTuple):
    """A question that a run with ``attention_examples`` saved.

    Attributes:
        passage: Its words, including names such as ``@e3``; ``...`` stands for a rare word.
        query: Its words, including ``@blank``.
        answer: The missing name.
        verse: The source of the query, such as ``1 Samuel 17:32``.
    """

    passage: list[str]
    query: list[str]
    answer: str
    verse: str

    @property
    def right(self) -> int:
        """The index of the answer among the names."""
        return int(NAME.fullmatch(self.answer)[1])


class AttentionReplay(base.SideBySide):
    """A passage shaded by the attention of several networks, and the name that each predicts.

    Example:
        >>> AttentionReplay()  # doctest: +SKIP
        AttentionReplay: 8 questions, at 14 of 4,840 updates, by 6 networks
    """

    WEB = base.files(Path(__file__).parent, lambda: packed(_book()))
    LABEL = "A passage, and the attention of several networks during training"
    WHAT = "is a passage shaded by the attention of several networks"
    SHORT = "the passages"

    def __repr__(self) -> str:
        header, _, _ = unpacked(self.packed)
        return (
            f"AttentionReplay: {len(header['questions'])} questions, at {len(header['updates'])} "
            f"of {header['updates'][-1]:,} updates, by {len(header['arms'])} networks"
        )


def _book() -> list[dict[str, Any]]:
    """Return the longest runs with recorded attention, of the first seed."""
    runs = [run for run in recorded.read_all("attentive_reader") if "attention" in run["arrays"]]
    longest = max((run["settings"]["epochs"] for run in runs), default=0)
    return [run for run in runs if run["seed"] == 0 and run["settings"]["epochs"] == longest]


def questions(run: Mapping[str, Any]) -> list[Question]:
    """Return the questions that a run with ``attention_examples`` saved."""
    results = []
    for row in run["arrays"]["text"][0]:
        passage, query, answer, verse = bytes(row).rstrip(b"\0").decode().split("\n")
        results.append(Question(passage.split(), query.split(), answer, _verse(verse)))
    return results


def _verse(reference: str) -> str:
    """Format the reference to a verse for readers.

    Example:
        >>> _verse("1samuel 17:32"), _verse("songofsolomon 3:7")
        ('1 Samuel 17:32', 'Song of Solomon 3:7')
    """
    number, book, verse = re.fullmatch(r"(\d?)(\S+) (.*)", reference).groups()
    return " ".join(part for part in (number, BOOKS.get(book, book.title()), verse) if part)


def attends(run: Mapping[str, Any]) -> np.ndarray:
    """Return the attention paid to the right name, shape ``(points, questions)``."""
    shares = []
    for k, example in enumerate(questions(run)):
        indices = [index for index, word in enumerate(example.passage) if word == example.answer]
        shares.append(run["arrays"]["attention"][:, k, indices].astype(float).sum(1))
    return np.stack(shares, 1)


def packed(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the data for the page, in base64 of gzip: a line of JSON, then bytes.

    The bytes are the probabilities of the names in 1/10,000, uint16 of shape ``(networks, points,
    questions, names)``, and then the square roots of the attention, where 255 stands for 1, uint8
    of shape ``(networks, points, questions, words)``.

    The first question shown is the one for which attention to the right name grows most from the
    first point to the last, averaged over the networks that are shown first.

    Args:
        records: Records of runs with ``attention_examples``.
    """
    arms = base.runs_by_arm(records, ARMS, "attention", BY)
    runs = list(arms.values())
    attention, chances = (np.stack([r["arrays"][name] for r in runs]).astype(float)
                          for name in ("attention", "chances"))  # fmt: skip
    examples = questions(runs[0])
    names = [ARMS[arm][0] for arm in arms]
    shown = [k for k, name in enumerate(names) if name in SHOWN] or list(range(len(names)))[:3]
    grows = np.mean([attends(runs[k])[-1] - attends(runs[k])[0] for k in shown], axis=0)
    header = {
        "arms": [
            {"name": name, "color": color, "line": line,
             "errors": np.round(run["curves"]["val_error"], 4).tolist()}
            for run, (name, color, line) in ((run, ARMS[arm]) for arm, run in arms.items())
        ],
        "shown": shown,
        "first": int(np.argmax(grows)),
        "updates": base.updates(runs[0]),
        "questions": [
            {"verse": example.verse, "right": example.right, "passage": example.passage,
             "query": example.query}
            for example in examples
        ],
        "names": chances.shape[-1],
    }  # fmt: skip
    shares = np.rint(CHANCE * chances).astype("<u2"), np.rint(255 * np.sqrt(attention)).astype("u1")
    return base.pack(header, *shares)


def unpacked(content: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Decode the result of :func:`packed`: the header, the probabilities, the attention."""
    header, (chances, attention) = base.unpack(content)
    return header, chances / CHANCE, (attention / 255.0) ** 2


WEB = AttentionReplay.WEB
