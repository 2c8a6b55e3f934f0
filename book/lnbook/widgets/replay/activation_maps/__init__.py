"""Maps of the statistics of every unit of a convolutional network, for several norms.

The data was recorded by ``lnlab.experiments.convnet`` with ``maps``: how often each unit is active,
and the mean and standard deviation of its summed input, before and after the norm, at several
points of training. The page loads one file per kind of image when it is needed. The built book and
a live notebook use the same files. :class:`ActivationMaps` is a widget without a Python part.
"""

import functools
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles
from lnbook.widgets.replay import base
from lnlab import comparison
from lnlab import records as recorded

#: The name and color of each norm, in the order of the panels.
NORMS = {
    "none": ("No norm", "none"),
    "batch": ("Batch norm", "batch"),
    "layer": ("Layer norm", "layer"),
}
PICTURES = {"fashion_small": "Fashion-MNIST", "mnist": "MNIST"}
CROPS = (0, 4)  # pixels cropped from each side
LAYERS = (1, 2, 3)
STATISTICS = ("on", "mean", "deviation", "before_mean", "before_deviation")
LEVELS = 60  # positive levels, and as many negative ones, to which a map is rounded


class ActivationMaps(Displayed):
    """Maps of units' statistics over the image, without normalization and with two norms.

    Make it the last line of a cell. It is HTML, filled by the scripts of this folder, in the built
    book, and a widget in a live notebook.

    Example:
        >>> ActivationMaps()  # doctest: +SKIP
        ActivationMaps: units of 3 layers by position, with 3 norms, on 4 kinds of images
    """

    def to_html(self) -> str:
        """Return a ``<div>``, which ``activation_maps.js`` fills."""
        return WEB.html(
            "Statistics of units by position in the image",
            "Here are recorded maps of the units' activity at each position of the image. They "
            "need JavaScript, but no internet connection.",
        )

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        start = "lnActivationMaps(root, async (name) => data[name])"
        return WEB.live(start, "the maps", **{name: make() for name, make in WEB.data.items()})

    def __repr__(self) -> str:
        return (
            f"ActivationMaps: units of {len(LAYERS)} layers by position, with {len(NORMS)} "
            f"norms, on {len(FILES)} kinds of images"
        )


def border_and_interior(maps: np.ndarray) -> np.ndarray:
    """Return the means of border and interior units, and an interval for their difference.

    Args:
        maps: A statistic of each unit, shape ``(..., channels, S, S)``.

    Returns:
        Shape ``(..., 4)``: the mean of the outermost ring, the mean of the other units, and the
        ends of the 95% interval of their difference over the channels, computed for all maps at
        once as :func:`lnlab.comparison.interval` does.
    """
    inner = maps[..., 1:-1, 1:-1]
    rest = inner.mean((-2, -1))
    ring = maps.shape[-1] ** 2 - inner.shape[-1] ** 2
    border = (maps.sum((-2, -1)) - inner.sum((-2, -1))) / ring
    means = np.sort(border - rest) @ _shares(maps.shape[-3]).T
    level = 0.95  # written as in comparison.interval: 0.025 is a different floating-point number
    quantiles = [(1 - level) / 2, (1 + level) / 2]
    ends = np.quantile(means, quantiles, axis=-1, method="inverted_cdf")
    return np.stack([border.mean(-1), rest.mean(-1), *ends], -1)


@functools.cache
def _shares(n: int) -> np.ndarray:
    # The weight of each channel in each resample, drawn as in comparison.interval.
    drawn = np.random.default_rng(0).integers(n, size=(comparison.NUM_RESAMPLES, n))
    return (drawn[..., None] == np.arange(n)).mean(1)


def packed(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the data of one kind of image, in base64 of gzip: a line of JSON, then bytes.

    The bytes are ``ink``, how often a pixel is not empty, shape ``(S, S)``, from 0 to 255; then,
    for each norm, layer and statistic, a map in integer steps, shape ``(points, channels, S, S)``.
    Each value is stored as the difference from its left neighbor, modulo 256. The JSON contains the
    size of a step at each point.

    Args:
        records: Records of runs with ``maps``, one per norm.
    """
    arms, parts = [], []
    for norm, (name, color) in NORMS.items():
        (run,) = (run for run in records if run["settings"]["norm"] == norm)
        header, content = _arm(run)
        arms.append({"name": name, "color": color, "layers": header})
        parts.extend(content)
    first_record = records[0]
    settings = first_record["settings"]
    header = {
        "pictures": PICTURES[settings["data"]],
        "crop": settings["crop"],
        "passes": first_record["curves"]["epoch"],
        "arms": arms,
    }
    ink = first_record["arrays"]["ink"][0]
    return base.pack(header, ink, *parts)


def _arm(run: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    layers, parts = [], []
    for layer in LAYERS:
        results = {}
        for name in STATISTICS:
            if f"{name}_{layer}" not in run["arrays"]:
                continue  # without a norm there is nothing before it
            maps = run["arrays"][f"{name}_{layer}"].astype(float)
            maps = maps / 255 if name == "on" else maps
            step = np.maximum(np.abs(maps).max((1, 2, 3)), 1e-6) / LEVELS
            whole = np.rint(maps / step[:, None, None, None]).astype("i1")
            parts.append(np.diff(whole, axis=-1, prepend=np.int8(0)).astype("i1"))
            results[name] = {
                "step": [float(f"{s:.4g}") for s in step],
                "border": [[float(f"{v:.4g}") for v in row] for row in border_and_interior(maps)],
            }
        channels, side = maps.shape[1:3]
        layers.append({"channels": channels, "side": side, "statistics": results})
    return layers, parts


def unpacked(content: str) -> tuple[dict[str, Any], np.ndarray, list]:
    """Decode the result of :func:`packed`: the header, the ink, and the maps."""
    header, (ink, *parts) = base.unpack(content)
    steps, arms = iter(parts), []
    for arm in header["arms"]:
        layers = []
        for layer in arm["layers"]:
            maps = {}
            for name, statistic in layer["statistics"].items():
                whole = np.cumsum(next(steps), -1, dtype="i1")
                maps[name] = whole * np.array(statistic["step"])[:, None, None, None]
            layers.append(maps)
        arms.append(layers)
    return header, ink, arms


def of_book(pictures: str, crop: int) -> str:
    """Encode the book's records for one kind of image."""
    return packed(recorded.read_all("convnet", maps=True, data=pictures, crop=crop))


FILES = {f"{data}-{crop}": (data, crop) for data in PICTURES for crop in CROPS}


WEB = WidgetFiles(
    Path(__file__).parent,
    ("../../canvas.js", "activation_maps.js"),
    wide=True,
    data={f"{name}.js": partial(of_book, *kind) for name, kind in FILES.items()},
)
