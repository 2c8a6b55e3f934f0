"""The geometry of layer norm with three numbers: a scene that the reader can rotate.

The reader drags a point; subtracting the mean projects it along (1, 1, 1), and dividing by the
standard deviation moves it to a circle. The page computes this itself, and a test compares it with
:mod:`lnlib.norms`. The built book and a live notebook use the same files. :class:`Sphere` is a
widget without a Python part.

=============  =================================================================================
``space.js``   layer norm of three numbers, forward and backward, and the camera
``scene.js``   draws and describes the scene
``sphere.js``  the controls, dragging, the state and its address
``*.html``     the initial scene for pages without JavaScript, written by ``python
               tools/sphere.py``
=============  =================================================================================
"""

import html
import itertools
import json
from pathlib import Path
from typing import Any

from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles

WEB = WidgetFiles(Path(__file__).parent, ("../address.js", "space.js", "scene.js", "sphere.js"))
ALT = (
    "A point in three dimensions, the plane where the three numbers add up to 0, and on it the "
    "circle of radius √3. The point falls onto the plane along the line of equal numbers and "
    "then goes straight to the circle."
)
_ids = itertools.count(1)


class Sphere(Displayed):
    """The sphere, the plane and their circle of intersection, for examples of three numbers.

    Make it the last line of a cell. It is HTML, filled by the scripts of this folder, in the built
    book, and a widget in a live notebook.

    Args:
        gradient: Whether to show the incoming gradient, and what is left of it, at first.

    Example:
        >>> Sphere()
        Sphere: three numbers in space, and what layer norm leaves of them
    """

    def __init__(self, *, gradient: bool = False) -> None:
        self.options = {"cloud": cloud(), "settings": {"gradient": gradient}}

    def to_html(self) -> str:
        """Return a ``<div>`` with the initial picture, which ``sphere.js`` replaces."""
        number = next(_ids)
        name = f"sphere-{number}" if number > 1 else "sphere"
        start = "gradient" if self.options["settings"]["gradient"] else "start"
        return (
            f'<div class="ln-sphere" id="{name}" role="group"'
            ' aria-label="Layer norm maps three numbers onto a circle"'
            f' data-alt="{ALT}" data-options="{html.escape(json.dumps(self.options))}">'
            + (WEB.folder / f"{start}.html").read_text("utf-8").replace("{id}", name)
            + '<noscript><p class="ln-note">With JavaScript (but no internet connection), you can '
            "turn the picture and move its points.</p></noscript></div>"
        )

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        start = "(root.dataset.alt = data.alt, lnSphere(root, { ...data.options, live: true }))"
        return WEB.live(start, "the picture", options=self.options, alt=ALT)

    def __repr__(self) -> str:
        return "Sphere: three numbers in space, and what layer norm leaves of them"


def cloud() -> list[list[float]]:
    """Draw fifty examples of three numbers, rounded to two decimals."""
    import numpy as np

    drawn = np.random.default_rng(2).normal([0.3, -0.1, 0.4], 0.85, (50, 3))
    return drawn.clip(-2, 2).round(2).tolist()
