"""Maps of sentences and the nearest neighbors of each, for several networks.

``lnlab.experiments.skip_thoughts`` with ``keep`` recorded them for 500 sentences: the projections
to each network's principal directions and the nearest neighbors, at several points of training. The
page only interpolates between these points. The built book and a live notebook use the same files.
:class:`SentenceNeighbors` is a widget without a Python part.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.widgets.replay import base
from lnlab import records as recorded

#: Maps norm and initialization to the name of the network, its color and its line style.
ARMS = {
    ("none", "code"): ("No norm", "none", "dotted"),
    ("none", "scaled"): ("No norm (tuned initialization)", "none", "dashed"),
    ("layer", "code"): ("Layer norm", "layer", "solid"),
}
_THEY = {"he", "she", "him", "her", "his"}
#: Kinds of sentences: label, description, and whether the words of a sentence are of this kind.
CATEGORIES = {
    "questions": ("questions", lambda tokens: "?" in tokens),
    "“I”": ("sentences with “I”", lambda tokens: any(w.split("'")[0] == "i" for w in tokens)),
    "he, she": (
        "sentences with “he” or “she”",
        lambda tokens: bool(_THEY & {w.split("'")[0] for w in tokens}),
    ),
    "8+ words": (
        "sentences of 8 words or more",
        lambda tokens: sum(w not in "?!" for w in tokens) >= 8,
    ),
}
FRAME = 107  # the edge of the map, to which sentences farther out are clipped
EDGE, HIGH = 100, 0.8  # 99% of the sentences lie within EDGE, and within HIGH of it vertically


class SentenceNeighbors(base.SideBySide):
    """A map of sentences for each network, and the nearest neighbors of one of them.

    Example:
        >>> SentenceNeighbors()  # doctest: +SKIP
        SentenceNeighbors: 500 sentences and the 5 nearest to each, at 10 of 3,000 updates, by ...
    """

    WEB = base.files(Path(__file__).parent, lambda: packed(recorded.read_all("skip_thoughts")))
    LABEL = "Maps of sentences and their nearest neighbors during training"
    WHAT = "are maps of sentences and their nearest neighbors"
    SHORT = "the maps of sentences"

    def __repr__(self) -> str:
        header, _, nearest = unpacked(self.packed)
        return (
            f"SentenceNeighbors: {len(header['texts'])} sentences and the "
            f"{nearest.shape[-1]} nearest to each, at {len(header['updates'])} of "
            f"{header['updates'][-1]:,} updates, by {len(header['arms'])} networks"
        )


def sentences(run: Mapping[str, Any]) -> list[str]:
    """Return the sentences that a run with ``keep`` saved, without enclosing quotation marks."""
    decoded = (bytes(row).rstrip(b"\0").decode() for row in run["arrays"]["texts"][0])
    return [_tidy(text) for text in decoded]


def _tidy(text: str) -> str:
    """Remove quotation marks around the whole text, and replace pairs within it by ‘ and ’.

    Example:
        >>> _tidy('"There is no hurry.'), _tidy('"Come in!" said Holmes.')
        ('There is no hurry.', '‘Come in!’ said Holmes.')
    """
    inside = text.strip('"_ ')
    if inside.count('"') % 2:
        inside = f'"{inside}' if text.startswith('"') else f'{inside}"'
    parts = " ".join(inside.replace("--", " – ").split()).split('"')
    return "".join(f"‘{part}’" if k % 2 else part for k, part in enumerate(parts))


def agreement(run: Mapping[str, Any], category: str) -> tuple[np.ndarray, float]:
    """Return the fraction of the neighbors of a category's sentences that also belong to it.

    Args:
        run: A record with ``keep``.
        category: A key of :data:`CATEGORIES`.

    Returns:
        The fraction at each measured point, shape ``(points,)``, and its chance level; 0 if no
        sentence belongs to the category.
    """
    belongs = np.array(_belongs(sentences(run), category))
    nearest = run["arrays"]["neighbors"]
    if not belongs.any():
        return np.zeros(len(nearest)), 0.0
    chance = float((belongs.sum() - 1) / (len(belongs) - 1))
    return belongs[nearest[:, belongs]].mean((1, 2)), chance


def _belongs(texts: Sequence[str], category: str) -> list[bool]:
    return [CATEGORIES[category][1](words(text)) for text in texts]


def words(text: str) -> list[str]:
    """Split a sentence into words, ``?`` and ``!``, as the networks read it."""
    return re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)*|[?!]", text.lower())


def packed(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the data for the page, in base64 of gzip: a line of JSON, then bytes.

    The bytes are positions, int8 of shape ``(networks, points, sentences, 2)``, and then the
    neighbors, nearest first, uint16 of shape ``(networks, points, sentences, nearest)``.

    A map shows the two directions in which the vectors of that network differ most at that point.
    As its orientation is arbitrary, each map is rotated or reflected to match that of the next
    point, and the last map to match that of layer norm.

    Args:
        records: Records of runs with ``keep``.
    """
    arms = base.runs_by_arm(records, ARMS, "map")
    runs = list(arms.values())
    updates = base.updates(runs[0])
    chosen = base.points(updates)
    result = sentences(runs[0])
    last = runs[-1]["arrays"]["map"][chosen[-1], :, :2].astype(float)
    positions = np.stack([_map_positions(run["arrays"]["map"][chosen], last) for run in runs])
    nearest = np.stack([run["arrays"]["neighbors"][chosen] for run in runs]).astype("<u2")
    header = {
        "arms": [_arm_header(run, arm, chosen) for arm, run in arms.items()],
        "updates": [updates[k] for k in chosen],
        "size": runs[0]["settings"]["hidden"],
        "texts": result,
        "count": nearest.shape[-1],
        "categories": [
            {"name": category, "description": description,
             "chance": round(agreement(runs[0], category)[1], 4),
             "members": np.flatnonzero(_belongs(result, category)).tolist()}
            for category, (description, _) in CATEGORIES.items()
        ],
    }  # fmt: skip
    return base.pack(header, positions, nearest)


def _arm_header(run: Mapping[str, Any], arm: tuple[str, str], chosen: list[int]) -> dict[str, Any]:
    name, color, line = ARMS[arm]
    explained = run["arrays"]["explained"][chosen, :2].astype(float).sum(1)
    return {
        "name": name,
        "color": color,
        "line": line,
        "losses": [run["curves"]["val_nll"][k] for k in chosen],
        "explained": [round(share, 3) for share in explained.tolist()],
        "agreement": [agreement(run, category)[0][chosen].round(4).tolist()
                      for category in CATEGORIES],
    }  # fmt: skip


def _map_positions(maps: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Align each map with the next one, and scale it to the frame."""
    result, like = [], last
    for now in maps[::-1, :, :2].astype(float):
        left, _, right = np.linalg.svd(now.T @ like)
        like = now @ left @ right
        result.append(like)
    turned = np.stack(result[::-1])
    reach = np.quantile(np.abs(turned / [1, HIGH]).max(-1), 0.99, axis=1)[:, None, None]
    frame = FRAME * np.array([1, HIGH])
    return np.rint(np.clip(turned / reach.clip(1e-12) * EDGE, -frame, frame)).astype("i1")


def unpacked(content: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Decode the result of :func:`packed`: the header, the positions and the neighbors."""
    header, (positions, nearest) = base.unpack(content)
    return header, positions, nearest


WEB = SentenceNeighbors.WEB
