"""A transformer that reads the reader's sentence in the page, with a switch for each norm.

The color of each character shows its surprise, next to that of the same model with all norms on.

The model was trained by ``lnlab.experiments.transformer`` and has two blocks and 64 features; its
weights are stored in 8 bits. It runs in JavaScript (``engine.js``), because a page cannot run
Python; a test compares it with PyTorch. The built book and a live notebook use the same files.
:class:`TransformerWidget` is a widget without a Python part.

==================  ============================================================================
``engine.js``       the model: its inputs, its outputs, and the inputs of its norms
``worker.js``       runs the model in a web worker
``pictures.js``     draws the residual stream before and after a norm
``challenges.js``   what the reader is asked to predict
``transformer.js``  the controls, the address, and the main program
==================  ============================================================================
"""

import base64
import functools
import html
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles
from lnlab import records

SEEDS = range(3)
SENTENCE = "To be, or not to be: that is the "  # Hamlet is not in the training text
LEVELS = (1, 2, 4)  # bits, as in transformer.js; the last level begins above a uniform guess
NORMS = {"l": "on", "r": "rms", "f": "frozen", "o": "off"}
# Maps a setting, one letter per norm, to the measure of a record that contains its loss.
MEASURES = {
    "lllll": "val_nll",
    "rrrrr": "nll_rms",
    "fffff": "nll_frozen",
    "ffffl": "nll_frozen_but_last",
    "ooooo": "nll_removed",
    "ooool": "nll_but_last",
    "llllo": "nll_last",
}


class TransformerWidget(Displayed):
    """A small transformer that reads a sentence, with a switch for each norm.

    Make it the last line of a cell. It is HTML, filled by the scripts of this folder, in the built
    book, and a widget in a live notebook.

    Args:
        text: The initial sentence.
        norms: A letter for each norm, in the order of the residual stream: ``l`` on, ``r`` RMS
            norm, ``f`` frozen, ``o`` off.
        record: The record of another run, with its weights. ``None``: the book's model.

    Raises:
        ValueError: If ``norms`` is not made of five such letters, or if the record has no weights
            or the wrong number of norms.

    Example:
        >>> TransformerWidget("To be, or not to be", norms="llllo")
        TransformerWidget: a small transformer reads a sentence, with a switch on each norm
    """

    def __init__(
        self,
        text: str = SENTENCE,
        *,
        norms: str = "ooooo",
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = {"norms": norms, "text": text}
        self.options: dict[str, Any] = {"settings": self.settings}
        self.record = record
        if record is not None:
            self.options["weights"] = packed(record)
            count = len(self.options["weights"]["deviations"])
            if count != 5:
                raise ValueError(
                    f"TransformerWidget: record must be of a model with 5 norms, got {count}; "
                    "train one of depth 2"
                )
        if len(norms) != 5 or not set(norms) <= NORMS.keys():
            raise ValueError(
                f"TransformerWidget: norms must be five letters of l, r, f, and o, got {norms!r}"
            )

    def to_html(self) -> str:
        """Return a ``<div>``, which ``transformer.js`` fills."""
        colored = still(self.record or _read(0), **self.settings)
        return WEB.html(
            "A transformer on your sentence",
            "Here a small transformer in the page reads what you type. It needs "
            f"JavaScript, but no internet connection.{colored}",
            options=self.options,
        )

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        start = "lnTransformer(root, { ...data, live: true })"
        return WEB.live(start, "the transformer", **({"weights": weights()} | self.options))

    def __repr__(self) -> str:
        return "TransformerWidget: a small transformer reads a sentence, with a switch on each norm"


def still(record: Mapping[str, Any], norms: str, text: str) -> str:
    """Return the sentence as HTML, twice, each character colored by its surprise.

    This is what a page without JavaScript shows.

    Args:
        record: The record of a model with its weights.
        norms: A letter for each norm, for the second copy; in the first copy all norms are on.
        text: The sentence. Characters that the model does not know are dropped.
    """
    from lnlab.experiments.transformer.trained_transformer import (
        TrainedTransformer,
    )  # it needs PyTorch

    reader = TrainedTransformer.of(record)
    text = "".join(c for c in text if c in reader.characters)[-reader.model.length :]
    if len(text) < 2:
        return ""
    uniform = np.log2(len(reader.characters))
    lines = []
    switched = f"All norms {NORMS[norms[0]]}" if len(set(norms)) == 1 else "As switched"
    for name, letters in (("All norms on", "l" * 5), (switched, norms)):
        bits = reader.switch(*(NORMS[letter] for letter in letters)).surprise(text).numpy()
        levels = np.digitize(bits, [*LEVELS, uniform])
        pairs = zip(levels, text[1:], strict=True)  # the first character is not predicted
        colored = "".join(
            f'<span data-level="{level}">{html.escape("".join(c for _, c in run))}</span>'
            for level, run in itertools.groupby(pairs, lambda pair: pair[0])
        )
        first = html.escape(text[0])
        lines.append(f"<br>{name}, {bits.mean():.3g} bits per character: {first}{colored}")
    return (
        " The stronger the color, the larger the surprise of the model, −log<sub>2</sub> p. "
        f"Underlined characters were less probable than under a uniform guess ({uniform:.2f} bits)."
        + "".join(lines)
    )


def packed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of a record in the format of the page.

    Args:
        record: A record with ``settings``, and ``arrays`` for all points of training. The last
            point is used.

    Returns:
        ``matrices`` (int8), ``scales`` and ``vectors`` (float32, little-endian) in base64;
        ``deviations``, the standard deviations of frozen norms; ``characters``; ``settings``.

    Raises:
        ValueError: If the record has no weights.
    """
    if "matrices" not in record["arrays"]:
        raise ValueError(
            "TransformerWidget: record must be of a run with ablate; this one has no weights"
        )
    last = {name: array[-1] for name, array in record["arrays"].items()}

    def text(name: str, dtype: str) -> str:
        return base64.b64encode(np.ascontiguousarray(last[name], dtype).tobytes()).decode()

    return {
        "matrices": text("matrices", "i1"),
        "scales": text("scales", "<f4"),
        "vectors": text("vectors", "<f4"),
        "deviations": last["norm_deviations"].astype(float).tolist(),
        "characters": "".join(map(chr, last["characters"])),
        "settings": {
            k: record["settings"][k] for k in ("depth", "width", "heads", "length", "eps")
        },
    }


@functools.cache
def _read(seed: int) -> dict[str, Any]:
    """Return the book's record of the model that the page runs."""
    (path,) = (records.installed() / "transformer").glob(f"*-ablate-True-*-seed{seed}.json")
    return records.read(path)


def weights() -> dict[str, Any]:
    """Return the book's model (seed 0), and the losses of three seeds with changed norms."""
    return packed(_read(0)) | {"recorded": recorded()}


def recorded() -> dict[str, list[float]]:
    """Map each setting to the recorded validation losses in nats, one per seed."""
    return {
        letters: [round(_read(seed)["curves"][name][-1], 4) for seed in SEEDS]
        for letters, name in MEASURES.items()
    }


WEB = WidgetFiles(
    Path(__file__).parent,
    (
        "../address.js",
        "../background.js",
        "../canvas.js",
        "engine.js",
        "worker.js",
        "pictures.js",
        "challenges.js",
        "transformer.js",
    ),
    wide=True,
    data={"weights.js": weights},
    preloaded=("weights.js",),
)
