"""Networks side by side at one update: their records, points of training, and how one sees them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lnbook.display import bundle
from lnbook.widgets.base import WidgetFiles

Record = Mapping[str, Any]
Arm = tuple[Any, ...]  # what its runs' settings are, such as norm and start
POINTS = 12  # of training, at most


def side_by_side(
    widget: str,
    records: Sequence[Record],
    arms: Sequence[Arm],
    array: str,
    again: str,
    *,
    by: Sequence[str] = ("norm", "start"),
    setting: str = "keep",
) -> dict[Arm, Record]:
    """Return the record of each arm that there is, in the order of the arms.

    Args:
        widget: Who says what is wrong.
        records: Of runs with arrays, one for each arm.
        arms: The settings of each that ``by`` names.
        array: The array that is needed.
        again: The end of the command that records them.
        by: The settings that tell arms apart.
        setting: The setting that makes runs save it.

    Raises:
        ValueError: If there are none, or two of one arm, or they differ in more.
    """
    named = f"{', '.join(by[:-1])} and {by[-1]}"
    results: dict[Arm, Record] = {}
    for run in records:
        arm = tuple(run["settings"][name] for name in by)
        if arm in results:
            raise ValueError(
                f"{widget}: records must be one of each {named}, got two of {arm}; read those of "
                "one seed and of one kind of setting"
            )
        if array not in run["arrays"]:
            raise ValueError(
                f"{widget}: records must be of runs with {setting}, this one kept no {array}; "
                f"record it with python -m lnlab replay {again}"
            )
        results[arm] = run
    runs = {arm: results[arm] for arm in arms if arm in results}
    if not runs:
        raise ValueError(
            f"{widget}: records must be one at least, got none; record them with python -m lnlab "
            f"replay {again} --seeds 0"
        )
    shapes = {run["arrays"][array].shape for run in runs.values()}
    if len(shapes) > 1 or len({tuple(updates(run)) for run in runs.values()}) > 1:
        raise ValueError(
            f"{widget}: records must have one number of updates and one shape of {array}, got "
            f"shapes {sorted(shapes)}; read those of one kind of setting"
        )
    return runs


def select_runs(
    records: Sequence[Record], arms: Mapping[str, Mapping[str, Any]], array: str
) -> dict[str, Record]:
    """Return the first run of each arm that has an array, in the order of the arms.

    Args:
        records: Of any settings.
        arms: From an arm's name to settings that its runs have.
        array: Its name.
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
    """Return after how many updates a run was measured."""
    settings = run["settings"]
    updates_per_epoch = settings.get("updates_an_epoch")
    if updates_per_epoch is None:  # an epoch is the whole set
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
    """Return what a page draws, in base64 of gzip: a line of JSON, and then the arrays' bytes."""
    content = json.dumps(header).encode() + b"\n" + b"".join(array.tobytes() for array in arrays)
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def unpack(packed: str) -> tuple[dict[str, Any], bytes]:
    """Return the line of JSON, read, and the bytes after it.

    Example:
        >>> unpack(pack({"points": 2}, np.array([80, 49], "u1")))
        ({'points': 2}, b'P1')
    """
    header, _, content = gzip.decompress(base64.b64decode(packed)).partition(b"\n")
    return json.loads(header), content


def files(folder: Path, packed: Callable[[], str]) -> WidgetFiles:
    """Return what a widget of recorded networks brings: ``canvas.js``, its script, its records.

    Args:
        folder: The widget's.
        packed: What the book's records come to, computed when the book is built.
    """

    def data() -> str:
        return f'lnPacked["{widget_files.selector}"]("{packed()}");\n'

    scripts = ("../../canvas.js", f"{folder.name}.js")
    widget_files = WidgetFiles(folder, scripts, wide=True, data={"packed.js": data})
    return widget_files


class SideBySide:
    """A widget that shows what networks left while they trained; it has no Python half.

    Make it the last line of a cell. In the built book it is HTML, which the files of its folder
    bring to life; with a kernel it is a widget that runs them.

    Attributes:
        WEB: Its files.
        LABEL: What it is, for a screen reader.
        WHAT: What is there, in words that follow "Here" and precede "as recorded".
        SHORT: Likewise, that follow "For".
        packed: What the page draws, as :func:`pack` returns it.
        own: Whether that lies in the page; else a file of the book has it.
    """

    WEB: ClassVar[WidgetFiles]
    LABEL: ClassVar[str]
    WHAT: ClassVar[str]
    SHORT: ClassVar[str]

    def __init__(self, packed: str, *, own: bool) -> None:
        self.packed, self.own = packed, own

    def to_html(self) -> str:
        """Return one ``<div>``, which the widget's script fills."""
        without = f"Here {self.WHAT}, as recorded. It needs JavaScript, but no internet connection."
        return self.WEB.html(self.LABEL, without, data=self.packed if self.own else "")

    def widget(self) -> Any:
        """Return the widget of a live notebook."""
        start = f"{self.WEB.js_name}(root, async () => data.packed)"
        return self.WEB.live(start, self.SHORT, packed=self.packed)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict:
        return bundle(self)
