"""Recorded runs of section 6.7: those with activation maps, and those that compare norms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Record = Mapping[str, Any]
DATASETS = {"mnist": "MNIST", "fashion_small": "Fashion-MNIST"}
CROPS = {0: "uncropped", 4: "border cropped"}
NORMS = ("none", "batch", "layer")
LAYERS = (1, 2, 3)


class ConvnetRuns:
    """The recorded runs of section 6.7.

    Args:
        records: Records of the experiment ``convnet``.

    Attributes:
        maps: Maps data set, crop and norm to the run that recorded activation maps.
        compared: The runs that compare the norms, with default settings.
        mnist: The runs that compare three of the norms on MNIST, tested on all its test images.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.maps = {
            (run["settings"]["data"], run["settings"]["crop"], run["settings"]["norm"]): run
            for run in records
            if run["settings"]["maps"]
        }
        defaults = {"crop": 0, "batch_size": 64, "epochs": 10, "maps": False}
        self.compared, self.mnist = (
            [
                run
                for run in records
                if (defaults | {"data": data}).items() <= run["settings"].items()
            ]
            for data in ("fashion_small", "mnist")
        )

    def map_keys(self) -> list[tuple[str, int]]:
        """Return the data set and the crop of all maps."""
        return [
            (data, crop) for data in DATASETS for crop in CROPS if (data, crop, "none") in self.maps
        ]


def border_and_interior(
    run: Record, layer: int, name: str = "on", point: int = -1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of a statistic over border units and over interior units, per channel.

    Args:
        run: A record with maps.
        layer: Number of the layer, from 1.
        name: ``on`` (a fraction), ``mean``, ``deviation``, ``before_mean``, ``before_deviation``.
        point: Index of the measuring point during training.

    Returns:
        Two arrays of shape ``(channels,)``.
    """
    maps = run["arrays"][f"{name}_{layer}"][point].astype(float) / (255 if name == "on" else 1)
    is_border = np.ones(maps.shape[1:], bool)
    is_border[1:-1, 1:-1] = False
    return maps[:, is_border].mean(1), maps[:, ~is_border].mean(1)


def border_ratio(run: Record, layer: int, name: str = "deviation") -> float:
    """Return the ratio of a statistic of border units to that of interior units."""
    border, interior = border_and_interior(run, layer, name)
    return float(border.mean() / interior.mean())
