"""The recorded runs, those with maps and those that compare the norms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Record = Mapping[str, Any]
PICTURES = {"mnist": "MNIST", "fashion_small": "Fashion-MNIST"}
CUTS = {0: "uncropped", 4: "border cropped"}
NORMS = ("none", "batch", "layer")
LAYERS = (1, 2, 3)


class Runs:
    """What has been recorded of section 6.7.

    Args:
        records: Of the experiment ``convnet``.

    Attributes:
        maps: From pictures, cut and norm to the run that kept maps.
        compared: The runs that compare the norms, with the experiment's usual settings; none
            where they are not recorded.
        digits: Three of the norms on MNIST, tested on all of its test images.

    Raises:
        ValueError: If there are no maps.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.maps = {
            (run["settings"]["data"], run["settings"]["cut"], run["settings"]["norm"]): run
            for run in records
            if run["settings"]["maps"]
        }
        if not self.maps:
            raise ValueError(
                "Runs: records must have maps, none has; record them with python -m lnlab replay "
                "convnet --maps"
            )
        defaults = {"cut": 0, "batch_size": 64, "epochs": 10, "maps": False}
        self.compared, self.digits = (
            [
                run
                for run in records
                if (defaults | {"data": data}).items() <= run["settings"].items()
            ]
            for data in ("fashion_small", "mnist")
        )

    def kinds(self) -> list[tuple[str, int]]:
        """Return pictures and cut of all maps."""
        return [
            (data, cut) for data in PICTURES for cut in CUTS if (data, cut, "none") in self.maps
        ]


def channels(
    run: Record, layer: int, name: str = "on", point: int = -1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of a statistic over the outermost ring, and over the rest, by channel.

    Args:
        run: A record with maps.
        layer: From 1.
        name: ``on`` (a share), ``mean``, ``deviation``, ``before_mean``, ``before_deviation``.
        point: Of training.

    Returns:
        Two arrays, ``(channels,)`` each.
    """
    maps = run["arrays"][f"{name}_{layer}"][point].astype(float) / (255 if name == "on" else 1)
    ring = np.ones(maps.shape[1:], bool)
    ring[1:-1, 1:-1] = False
    return maps[:, ring].mean(1), maps[:, ~ring].mean(1)


def ratio(run: Record, layer: int, name: str = "deviation", point: int = -1) -> float:
    """Return a statistic of the ring as a share of that of the rest, in the mean over channels."""
    border, rest = channels(run, layer, name, point)
    return float(border.mean() / rest.mean())
