"""A table of numbers that is normalized as the reader edits it.

The same scripts serve the built book and a live notebook, where :class:`NormTable` is a widget
without a Python half. Their arithmetic is compared with :mod:`lnlib.norms` by the tests.

=================  ============================================================================
``compute.js``     normalizes the numbers
``texts.js``       parsing of pasted tables, formatting of numbers
``words.js``       templates of all sentences
``sentences.js``   fills them in
``norm_table.js``  controls and tables
=================  ============================================================================
"""

import html
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.display import Displayed
from lnbook.figures.table import Table
from lnbook.widgets.base import WidgetFiles
from lnlib.norms import layer_norm

EXAMPLES, FEATURES = 16, 8  # the most of each
SCRIPTS = (
    "../number_parsing.js",
    "compute.js",
    "texts.js",
    "words.js",
    "sentences.js",
    "norm_table.js",
)
WEB = WidgetFiles(Path(__file__).parent, SCRIPTS)


class NormTable(Displayed):
    """A table of numbers that the reader can edit, next to its normalized form.

    Args:
        values: The initial numbers, shape ``(B, F)``, at most 16 examples by 8 features.
        title: Title of the card.
        running: Running ``(mean, var)`` from training, each of shape ``(F,)``. ``None``: batch norm
            at inference is not offered.

    Raises:
        ValueError: If ``values`` has the wrong shape or contains NaN or infinity, or if ``running``
            does not fit it.

    Example:
        >>> NormTable([[1.0, 2.0, 3.0], [20.0, 10.0, 30.0]], title="Two by three")
        Two by three
        input x  F1  F2  F3  mean μ  std σ
        E1       1   2   3   2       0.8165
        E2       20  10  30  20      8.165
        The output of layer norm
        output y  F1      F2      F3
        E1        −1.225  0.000   1.225
        E2        0.000   −1.225  1.225
    """

    def __init__(self, values: Any, *, title: str, running: tuple[Any, Any] | None = None) -> None:
        x = _floats("values", values)
        if x.ndim != 2 or not (1 <= x.shape[0] <= EXAMPLES and 1 <= x.shape[1] <= FEATURES):
            raise ValueError(
                f"NormTable: values must be of shape (examples, features), 1 to {EXAMPLES} by 1 to "
                f"{FEATURES}, got {x.shape}; values[None] makes a table of one example."
            )
        if running is not None:
            mean, var = (_floats("running", statistic) for statistic in running)
            if mean.shape != x.shape[1:] or var.shape != x.shape[1:] or not (var > 0).all():
                raise ValueError(
                    "NormTable: running must be a mean and a positive variance, each of shape "
                    f"{x.shape[1:]}, got shapes {mean.shape} and {var.shape}."
                )
            running = {"mean": mean.tolist(), "var": var.tolist()}
        self.x, self.title = x, title
        texts = [[repr(v).removesuffix(".0") for v in row] for row in x.tolist()]
        self.options = {"x": texts, "title": title, "running": running}

    def _tables(self) -> tuple[Table, Table]:
        """Return input and output of layer norm, as text can show them."""
        heads = [f"F{j + 1}" for j in range(self.x.shape[1])]
        inputs = [
            [f"E{i + 1}", *(f"{v:.6g}" for v in row), f"{row.mean():.4g}", f"{row.std():.4g}"]
            for i, row in enumerate(self.x)
        ]
        outputs = [
            [f"E{i + 1}", *(f"{v:.3f}" for v in row)] for i, row in enumerate(layer_norm(self.x))
        ]
        return (
            Table(["input x", *heads, "mean μ", "std σ"], _minus(inputs), self.title),
            Table(["output y", *heads], _minus(outputs), "The output of layer norm"),
        )

    def to_html(self) -> str:
        """Return one ``<div>``; ``norm_table.js`` fills it."""
        return WEB.html(
            html.escape(self.title),
            "With JavaScript (but no internet connection), you can type over every number and "
            f"choose another norm.{''.join(table.to_html() for table in self._tables())}",
            options=self.options,
        )

    def widget(self) -> Any:
        """Return the widget of a live notebook."""
        return WEB.live("lnNormTable(root, data)", "the table", **self.options)

    def __repr__(self) -> str:
        """Return the initial numbers and the output of layer norm as aligned text."""
        return "\n".join(map(repr, self._tables()))


def _floats(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"NormTable: {name} must be numbers in rows of equal length; {error}."
        ) from None
    if not np.isfinite(array).all():
        raise ValueError(f"NormTable: {name} must not contain NaN or infinity.")
    return array


def _minus(rows: list[list[str]]) -> list[list[str]]:
    return [[text.replace("-", "−") for text in row] for row in rows]
