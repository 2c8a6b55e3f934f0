"""Base of the widgets that compare recorded networks at a point of training."""

import base64
import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles

Record = Mapping[str, Any]
Arm = tuple[Any, ...]  # the values of the settings that identify it, such as norm and start
POINTS = 12  # the maximum number of recorded points to show


def runs_by_arm(
    records: Sequence[Record],
    arms: Iterable[Arm],
    array: str,
    by: Sequence[str] = ("norm", "start"),
) -> dict[Arm, Record]:
    """Return the run of each arm that saved an array, in the order of ``arms``.

    Args:
        records: Records with any settings.
        arms: For each arm, its values of the settings in ``by``.
        array: The name of the array.
        by: The settings that identify an arm.
    """
    saved = {
        tuple(run["settings"][name] for name in by): run
        for run in records
        if array in run["arrays"]
    }
    return {arm: saved[arm] for arm in arms if arm in saved}


def select_runs(
    records: Sequence[Record], arms: Mapping[str, Mapping[str, Any]], array: str
) -> dict[str, Record]:
    """Return the first run of each arm that has an array, in the order of the arms.

    Args:
        records: Records of runs with any settings.
        arms: Maps the name of an arm to the settings of its runs.
        array: The name of the array.
    """
    results = {
        name: [
            run
            for run in records
            if array in run.get("arrays", {}) and required.items() <= run["settings"].items()
        ]
        for name, required in arms.items()
    }
    return {name: runs[0] for name, runs in results.items() if runs}


def updates(run: Record) -> list[int]:
    """Return the numbers of updates after which a run was measured."""
    settings = run["settings"]
    updates_per_epoch = settings.get("updates_per_epoch")
    if updates_per_epoch is None:  # an epoch is a pass over the training set
        updates_per_epoch = run["data"]["cases"]["train_questions"] // settings["batch_size"]
    return [round(epoch * updates_per_epoch) for epoch in run["curves"]["epoch"]]


def points(updates: Sequence[float]) -> list[int]:
    """Choose points of training, evenly spaced in the logarithm of their updates.

    Example:
        >>> points([0, 50, *range(100, 1100, 100)])
        [0, 1, 2, 3, 4, 5, 7, 8, 11]
    """
    last = np.array(updates[1:], float)
    aims = np.geomspace(last[0], last[-1], POINTS - 1)
    near = np.abs(np.log(last[:, None] / aims)).argmin(0)
    return [0, *(int(k) + 1 for k in np.unique(near))]


def pack(header: Mapping[str, Any], *arrays: np.ndarray) -> str:
    """Return the data for a page, in base64 of gzip: a line of JSON, then the arrays' bytes.

    The JSON is the header, with the dtype and the shape of each array under ``arrays``.
    """
    kinds = [[array.dtype.str, array.shape] for array in arrays]
    line = json.dumps({**header, "arrays": kinds})
    content = line.encode() + b"\n" + b"".join(array.tobytes() for array in arrays)
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def unpack(packed: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the header and the arrays given to :func:`pack`.

    Example:
        >>> header, (shares,) = unpack(pack({"points": 2}, np.array([[80, 49]], "u1")))
        >>> header["points"], shares
        (2, array([[80, 49]], dtype=uint8))
    """
    line, _, content = gzip.decompress(base64.b64decode(packed)).partition(b"\n")
    header, arrays, offset = json.loads(line), [], 0
    for dtype, shape in header["arrays"]:
        array = np.frombuffer(content, dtype, math.prod(shape), offset).reshape(shape)
        arrays.append(array)
        offset += array.nbytes
    return header, arrays


def files(folder: Path, packed: Callable[[], str]) -> WidgetFiles:
    """Return the files of such a widget: ``canvas.js``, its own script, and its data.

    Args:
        folder: The folder of the widget.
        packed: Returns the book's records as text; called when the book is built.
    """
    scripts = ("../../canvas.js", f"{folder.name}.js")
    return WidgetFiles(folder, scripts, wide=True, data={"packed.js": packed})


class SideBySide(Displayed):
    """Base class of the widgets that show recorded networks; such a widget has no Python part.

    Make it the last line of a cell. It is HTML, filled by the scripts of its folder, in the built
    book, and a widget in a live notebook.

    Attributes:
        WEB: The widget's files.
        LABEL: Its ARIA label.
        WHAT: What it shows, in words between "Here" and "as recorded".
        SHORT: What it shows, in words after "For".
        packed: The data, as returned by :func:`pack`.
    """

    WEB: ClassVar[WidgetFiles]
    LABEL: ClassVar[str]
    WHAT: ClassVar[str]
    SHORT: ClassVar[str]

    _in_page = False  # whether the page itself contains the data; else, a file of the book does

    def __init__(self) -> None:
        self.packed = self.WEB.data["packed.js"]()

    def to_html(self) -> str:
        """Return a ``<div>``, which the widget's script fills."""
        fallback = (
            f"Here {self.WHAT}, as recorded. It needs JavaScript, but no internet connection."
        )
        return self.WEB.html(self.LABEL, fallback, data=self.packed if self._in_page else "")

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        start = f"{self.WEB.js_name}(root, async () => data.packed)"
        return self.WEB.live(start, self.SHORT, packed=self.packed)
