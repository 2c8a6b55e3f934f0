"""A scene composed by the reader, and 500 captions that two recorded networks rank for it.

The networks are those of ``lnlab.experiments.order_embeddings`` without normalization and with
layer norm, each at its own best learning rate. For several points of training, the page loads the
vectors of 500 captions and the linear map from a scene to its vector, in 8 bits. The ranking is
computed in JavaScript; a test compares it with Python. The built book and a live notebook use the
same files. :class:`CaptionRanking` is a widget without a Python part.

==================  ============================================================================
``pictures.json``   test images: boxes of objects, captions, and credits
``engine.js``       what the experiment computes for a scene
``glyphs.js``       shapes for objects
``caption_ranking.js`` the canvas, the controls, and the ranked captions
==================  ============================================================================
"""

import base64
import functools
import json
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles
from lnlab import records as record

SOURCE = Path(__file__).with_name("pictures.json")
NORMS = ("none", "layer")
POINTS = 9  # of training; a test checks that the records have that many


class CaptionRanking(Displayed):
    """A canvas with objects, and captions that two networks rank for them.

    Make it the last line of a cell. It is HTML, filled by the scripts of this folder, in the built
    book, and a widget in a live notebook.

    Example:
        >>> CaptionRanking()
        CaptionRanking: objects on a canvas, and 500 captions ranked by two networks
    """

    #: Indices of the test image and of the point of training that are shown first.
    options: ClassVar = {"picture": 68, "point": POINTS - 1}

    def to_html(self) -> str:
        """Return a ``<div>``, which ``caption_ranking.js`` fills."""
        return WEB.html(
            "A scene and its captions",
            "An interactive canvas: you place objects, and two networks rank captions for them. "
            "It needs JavaScript, but no internet connection.",
            options=self.options,
        )

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        start = (
            "lnCaptionRanking(root, { ...data.options, load: async (name) => data.files[name] })"
        )
        files = {name: make() for name, make in WEB.data.items()}
        return WEB.live(start, "the scene", options=self.options | {"live": True}, files=files)

    def __repr__(self) -> str:
        return "CaptionRanking: objects on a canvas, and 500 captions ranked by two networks"


@functools.cache
def pictures() -> dict[str, Any]:
    """Return the test images of ``pictures.json`` and the recorded points of training.

    Returns:
        ``categories``; ``credit``; ``pictures``, each with its id, width, height, boxes and
        caption; ``updates``, the points of training.
    """
    source = json.loads(SOURCE.read_text("utf-8"))
    saved = records()["none"]
    cases, batch = saved["data"]["cases"], saved["settings"]["batch_size"]
    per_epoch = cases["train_captions"] // cases["train_images"] * (cases["train_images"] // batch)
    updates = [round(epoch * per_epoch) for epoch in saved["curves"]["epoch"]]
    return source | {"updates": updates}


@functools.cache
def records() -> dict[str, dict[str, Any]]:
    """Return the records that contain vectors, by norm."""
    results = [r for r in record.read_all("order_embeddings") if "keep" in r["settings"]]
    return {r["settings"]["norm"]: r for r in results}


def networks(point: int) -> dict[str, dict[str, str]]:
    """Return both networks at a point of training: levels and scales, little-endian, in base64."""

    def text(norm: str, name: str, dtype: str) -> str:
        array = records()[norm]["arrays"][name][point]
        return base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode()

    return {
        norm: {
            "captions": text(norm, "caption_levels", "u1"),
            "caption_scales": text(norm, "caption_scales", "<f4"),
            "image": text(norm, "image_levels", "i1"),
            "image_scales": text(norm, "image_scales", "<f4"),
        }
        for norm in NORMS
    }


WEB = WidgetFiles(
    Path(__file__).parent,
    ("../../address.js", "../../canvas.js", "engine.js", "glyphs.js", "caption_ranking.js"),
    wide=True,
    data={"pictures.js": pictures}
    | {f"networks-{k}.js": partial(networks, k) for k in range(POINTS)},
)
