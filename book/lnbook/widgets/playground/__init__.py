"""Two networks that train side by side in the page and differ in one setting.

The network, its gradient and its optimizers are written in JavaScript (``engine.js``), because a
page cannot run Python; a test compares them with PyTorch. The built book and a live notebook use
the same files. :class:`Playground` is a widget without a Python part.

================  ==============================================================================
``engine.js``     the networks, the optimizers and the data
``worker.js``     trains both in a web worker and returns what is to be drawn
``pictures.js``   draws the figures
``program.js``    writes the equivalent PyTorch program
``challenges.js`` what the reader is asked to predict
``playground.js`` the controls, the address, and the main program
================  ==============================================================================
"""

import functools
import itertools
from pathlib import Path
from typing import Any

from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles


class Playground(Displayed):
    """Two deep networks that train in the page.

    Make it the last line of a cell. It is HTML, filled by the scripts of this folder, in the built
    book, and a widget in a live notebook.

    Args:
        small: Whether to show only the figures and the choice of two norms.
        **settings: Initial settings, such as ``depth=12`` or ``a="batch"``. Names and values are
            those of ``SETTINGS`` in ``playground.js``.

    Raises:
        TypeError: If a value is neither a number nor a string.

    Example:
        >>> Playground(small=True, depth=12)
        Playground: two networks train side by side in the page
    """

    def __init__(self, *, small: bool = False, **settings: float | str) -> None:
        for name, value in settings.items():
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise TypeError(
                    f"Playground: {name} must be a number or a text, got {type(value).__name__}; "
                    'a switch is "yes" or "no"'
                )
        self.small, self.settings = small, settings

    def to_html(self) -> str:
        """Return a ``<div>``, which ``playground.js`` fills."""
        return WEB.html(
            "Two networks that train",
            "Here two networks train side by side on this page. This requires JavaScript, but "
            "no internet connection.",
            options={"small": self.small, "settings": self.settings},
        )

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        start = (
            "lnPlayground(root,"
            " { ...data.options, live: true, digits: () => Promise.resolve(data.digits) })"
        )
        options = {"small": self.small, "settings": self.settings}
        return WEB.live(start, "the playground", options=options, digits=digits())

    def __repr__(self) -> str:
        return "Playground: two networks train side by side in the page"


@functools.cache
def digits() -> dict[str, str]:
    """Export scikit-learn's digits for the page, shuffled with ``default_rng(0)``.

    Returns:
        ``pixels``: Per example 64 pixels, row by row: A to P for 1 to 16, and a lowercase letter
            for a run of 1 to 26 zeros. ``labels``: one character per example.
    """
    import numpy as np
    from sklearn.datasets import load_digits

    loaded = load_digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    pixels: list[str] = []
    for value, run in itertools.groupby(loaded.data[order].astype(int).ravel()):
        count = len(list(run))
        if value:
            pixels.append(chr(64 + value) * count)
        else:
            whole, rest = divmod(count, 26)
            pixels.append("z" * whole + (chr(96 + rest) if rest else ""))
    return {"pixels": "".join(pixels), "labels": "".join(map(str, loaded.target[order]))}


WEB = WidgetFiles(
    Path(__file__).parent,
    (
        "../address.js",
        "../background.js",
        "../canvas.js",
        "engine.js",
        "worker.js",
        "pictures.js",
        "program.js",
        "challenges.js",
        "playground.js",
    ),
    data={"digits.js": digits},
    preloaded=("digits.js",),
)
