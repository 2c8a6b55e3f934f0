"""Digits drawn glimpse by glimpse, by several networks of section 6.4 at one update.

The data was recorded by ``lnlab.experiments.draw`` with ``keep``: canvases and windows, for test
digits and for samples, at several points of training. The page gets a dozen of these points and
only interpolates between them. The built book and a live notebook use the same files.
:class:`DrawReplay` is a widget without a Python part.

``digits.json`` contains the digits to be drawn: test images of binarized MNIST by their number
(after MNIST by Yann LeCun and Corinna Cortes, under CC BY-SA 3.0). A record does not contain them.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.widgets.replay import base
from lnlab import records as recorded

SIDE = 28
STEPS = 64  # per pixel, for the numbers of a window
#: Maps norm and initialization to the name of the network, its color and its line style.
ARMS = {
    ("none", "usual"): ("No norm", "none", "dotted"),
    ("none", "chosen"): ("No norm (tuned initialization)", "none", "dashed"),
    ("layer", "usual"): ("Layer norm", "layer", "solid"),
}


class DrawReplay(base.SideBySide):
    """Networks that draw digits, side by side, with controls for the glimpse and the update.

    Example:
        >>> DrawReplay()  # doctest: +SKIP
        DrawReplay: 6 digits and 6 samples in 8 glimpses, at 12 of 8,000 updates, by 3 networks
    """

    WEB = base.files(Path(__file__).parent, lambda: packed(recorded.read_all("draw")))
    LABEL = "Digits, drawn glimpse by glimpse"
    WHAT = "networks draw digits, glimpse by glimpse"
    SHORT = "the drawn digits"

    def __repr__(self) -> str:
        header = unpacked(self.packed)[0]
        count = len(header["digits"])
        return (
            f"DrawReplay: {count} digits and {count} samples in {header['glimpses']} glimpses, at "
            f"{len(header['updates'])} of {header['updates'][-1]:,} updates, by "
            f"{len(header['arms'])} networks"
        )


@functools.cache
def digits() -> dict[int, tuple[int, str]]:
    """Return the test images shown, by their number: their digit, and their bits in base64."""
    result = json.loads(Path(__file__).with_name("digits.json").read_text("utf-8"))
    return {int(number): (entry["digit"], entry["bits"]) for number, entry in result.items()}


def packed(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the data for the page, in base64 of gzip: a line of JSON, then bytes.

    The bytes are shades from 0 to 15, of shape ``(networks, points, 2, images, glimpses, S, S)``,
    for reconstructed digits and for samples; each shade is stored as the difference from the
    previous glimpse, modulo 16. Then follow windows, int16 with ``STEPS`` per pixel, of shape
    ``(networks, points, 3, images, glimpses, 4)``: reading a digit, writing a digit, writing a
    sample; center x and y, stride and standard deviation.

    Args:
        records: Records of runs with ``keep``.
    """
    runs = list(base.runs_by_arm(records, ARMS, "canvas").values())
    updates = base.updates(runs[0])
    chosen = base.points(updates)
    shades = np.stack([_both(run, "canvas", "dream_canvas", chosen) for run in runs])
    before = np.concatenate([np.zeros_like(shades[..., :1, :, :]), shades[..., :-1, :, :]], -3)
    windows = np.stack(
        [_both(run, "read_window", "write_window", "dream_window", chosen) for run in runs]
    )[..., :4]
    steps = np.clip(np.rint(windows.astype(float) * STEPS), -32768, 32767).astype("<i2")
    header = _header(runs, [updates[k] for k in chosen], chosen)
    return base.pack(header, (shades - before) % 16, steps)


def _both(run: Mapping[str, Any], *names_and_points: Any) -> np.ndarray:
    *names, chosen = names_and_points
    return np.stack([run["arrays"][name][chosen] for name in names], 1)


def _header(runs: Sequence[Mapping[str, Any]], updates: list[int], chosen: list[int]) -> dict:
    settings, images = runs[0]["settings"], runs[0]["arrays"]["canvas"].shape[1]
    count = runs[0]["data"]["cases"]["test"]
    numbers = [(2 * k + 1) * count // (2 * images) for k in range(images)]  # as a run chooses them
    arms = []
    for run in runs:
        name, color, line = ARMS[run["settings"]["norm"], run["settings"]["start"]]
        bounds = [run["curves"]["test_bound"][k] for k in chosen]
        arms.append({"name": name, "color": color, "line": line, "bounds": bounds})
    return {
        "arms": arms,
        "updates": updates,
        "glimpses": settings["glimpses"],
        "sizes": [settings["read_size"], settings["write_size"]],
        "steps": STEPS,
        "images": images,
        "digits": [digits().get(number, (None, ""))[0] for number in numbers],
        "bits": [digits().get(number, (None, ""))[1] for number in numbers],
    }


def unpacked(painted: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Decode the result of :func:`packed`: the header, the shades and the windows (pixels)."""
    header, (shades, windows) = base.unpack(painted)
    return header, np.cumsum(shades, -3) % 16, windows / header["steps"]


WEB = DrawReplay.WEB
