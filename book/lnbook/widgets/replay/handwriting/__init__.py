"""A text written point by point, by several networks of section 6.5 at one update.

The data was recorded by ``lnlab.experiments.handwriting`` with ``keep``: pen and window, at several
points of training. The page computes nothing. The built book and a live notebook use the same
files. In a live notebook, readers can also type their own text: a :class:`HandwritingReplay` with
``text`` and ``write`` shows that text instead of the recorded one.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.widgets.replay import base
from lnbook.widgets.replay.draw import ARMS
from lnlab import records as recorded

TEXT = "the pen moves on"  # the text that the runs write
ARRAYS = ("strokes", "lifts", "window")  # of shape (points of training, points), or (…, 2)
PER = 64  # per character, for the numbers of the window


class HandwritingReplay(base.SideBySide):
    """Networks that write a text, one below the other, with controls for the pen and the update.

    With ``text``, it shows how the trained networks write this text; a live notebook also has a
    field for another text.

    Args:
        text: The text to write. ``None``: the recorded text is shown.
        write: ``write(record, text, bias=…)`` returns what the trained network of a record writes:
            an object with ``strokes``, ``lifts`` and ``window`` like the arrays of a record, but
            with any number of points. It raises a ``ValueError`` if the text cannot be written.

    Example:
        >>> HandwritingReplay()  # doctest: +SKIP
        HandwritingReplay: 'the pen moves on' in 450 points, at 17 of 1,500 updates, by 3 networks
    """

    WEB = base.files(Path(__file__).parent, lambda: packed(recorded.read_all("handwriting")))
    LABEL = "A line of handwriting, point by point"
    WHAT = "networks write a line of text, point by point"
    SHORT = "the handwriting"

    def __init__(self, *, text: str | None = None, write: Callable[..., Any] | None = None) -> None:
        self.text, self.write = text, write
        if text is None:
            super().__init__()
        else:
            self.records = _by_arm(recorded.read_all("handwriting"))
            self.packed, self._in_page = self.typed(text), True

    def typed(self, text: str, bias: float = 1.0) -> str:
        """Return what the trained networks write for a text, as :func:`pack` encodes it.

        Args:
            text: The text to write.
            bias: Sampling bias: the Gaussians are ``e**bias`` times narrower.

        Raises:
            ValueError: If the text cannot be written.
        """
        lines = [self.write(run, text, bias=bias) for run in self.records]
        most = max(len(line.lifts) for line in lines)
        arrays = {
            name: [[_rest(name, getattr(line, name), most)] for line in lines] for name in ARRAYS
        }
        after = base.updates(self.records[0])[-1:]
        return _pack(text, _arms(self.records, [-1]), after, arrays)

    def widget(self) -> Any:
        """Return the widget for a live notebook, with a text field if ``text`` was given."""
        shown = super().widget()
        if self.text is None:
            return shown
        import ipywidgets as widgets

        text = widgets.Text(value=self.text, description="Text", continuous_update=False)
        bias = widgets.FloatSlider(value=1, min=0, max=3, step=0.5, description="Bias")
        button = widgets.Button(description="Write", icon="pencil")
        texts, figure_box = widgets.HTML(), widgets.VBox(shown.children)

        def write(_: Any) -> None:
            button.disabled, texts.value = True, "The networks write …"
            try:
                self.packed = self.typed(text.value, bias.value)
                figure_box.children = super(HandwritingReplay, self).widget().children
                texts.value = ""
            except ValueError as error:
                texts.value = f'<p role="alert">{html.escape(str(error))}</p>'
            finally:
                button.disabled = False

        button.on_click(write)
        return widgets.VBox([widgets.HBox([text, bias, button]), texts, figure_box])

    def __repr__(self) -> str:
        header = unpacked(self.packed)[0]
        if self.text is not None:  # the number of points can depend on the processor
            return (
                f"HandwritingReplay: {self.text!r}, by {len(header['arms'])} networks after "
                f"{header['updates'][-1]:,} updates"
            )
        return (
            f"HandwritingReplay: {header['text']!r} in {header['points']} points, at "
            f"{len(header['updates'])} of {header['updates'][-1]:,} updates, "
            f"by {len(header['arms'])} networks"
        )


def _by_arm(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list(base.runs_by_arm(records, ARMS, "strokes").values())


def _rest(name: str, values: np.ndarray, most: int) -> np.ndarray:
    """Extend an array of a line that ended early to ``most`` points: the pen rests, lifted."""
    end = {"strokes": np.zeros(2), "lifts": 1, "window": values[-1]}[name]
    return np.concatenate((values, np.broadcast_to(end, (most - len(values), *values.shape[1:]))))


def _arms(records: Sequence[Mapping[str, Any]], points: Sequence[int]) -> list[dict[str, Any]]:
    arms = []
    for run in records:
        name, color, line = ARMS[run["settings"]["norm"], run["settings"]["start"]]
        losses = [run["curves"]["val_new_nll"][k] for k in points]
        arms.append({"name": name, "color": color, "line": line, "losses": losses})
    return arms


def packed(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the data for the page, in base64 of gzip: a line of JSON, then bytes.

    The bytes are strokes, int16, of shape ``(networks, points of training, points, 2)``; windows,
    int16 with ``PER`` per character, and lifts, uint8, both of shape ``(networks, points of
    training, points)``.

    Args:
        records: Records of runs with ``keep``.
    """
    records = _by_arm(records)
    after = base.updates(records[0])
    arrays = {name: [run["arrays"][name] for run in records] for name in ARRAYS}
    return _pack(TEXT, _arms(records, range(len(after))), after, arrays)


def _pack(
    text: str, arms: list[dict[str, Any]], after: list[int], arrays: Mapping[str, Sequence]
) -> str:
    strokes, lifts, window = (np.array(arrays[name]) for name in ARRAYS)
    # A window that has left the text, or is NaN, is clipped to what can be shown.
    position = np.clip(np.nan_to_num(window.astype(float)), 0, len(text) - 1)
    header = {"text": text, "arms": arms, "updates": after, "points": strokes.shape[2]}
    steps = np.rint(position * PER).astype("<i2")
    return base.pack(header, strokes.astype("<i2"), steps, lifts.astype("u1"))


def unpacked(written: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Decode the data: the header, the strokes, the windows (characters) and the lifts."""
    header, (strokes, windows, lifts) = base.unpack(written)
    return header, strokes, windows / PER, lifts


WEB = HandwritingReplay.WEB
