"""Explorers: interactive figures that work in a notebook and in the built book.

A chapter defines ``draw(**params)``, which returns plotly figures, and ``describe(**params)``,
which returns their description. With a kernel, widgets call both functions (``live_widget.py``). In
the built book (environment variable ``LNLIB_STATIC=1``), all states are precomputed with the same
functions (``static_html.py``), and ``explorer.js`` shows the selected one without Python and
without a network. ``static_svg.py`` renders the initial state for the time before plotly.js is
loaded, ``resize_handle.js`` makes vertical lines draggable, and ``live_run.py`` is for computations
that take some time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnbook.display import Displayed
from lnbook.explorer import live_widget, static_html
from lnbook.explorer.common import check_accepts, figures_of, no_template, picture_of, summary
from lnbook.explorer.control import Control
from lnbook.explorer.figure_spec import Picture
from lnbook.widgets.base import WidgetFiles

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


WEB = WidgetFiles(
    Path(__file__).parent, ("../widgets/address.js", "resize_handle.js", "explorer.js")
)


class Explorer(Displayed):
    """A figure with controls for notebooks and for the built book.

    It is displayed as the last expression of a cell: with a kernel as a widget, with
    ``LNLIB_STATIC=1`` as HTML with all states, and otherwise as text.

    Args:
        draw: A :class:`Picture`, or a function that is called with the value of each control as
            keyword arguments and returns one plotly figure or a list of them (panels side by
            side, stacked on a phone). It sets no template and no background, which the page does
            for the light and the dark theme. It uses :data:`COLORS`, which a dark page replaces.
            ``layout.title`` is shown as text above the panel, and ``layout.height`` is the height
            in pixels (default: 320).
        controls: Maps parameter names to :func:`slider` or :func:`choice`. Empty for a static
            figure.
        title: Heading of the card.
        describe: Called like ``draw``; returns a description of the state in one sentence. Not
            given with a :class:`Picture`, which contains it.
        alt: Alt text for all states. Not given with a :class:`Picture`.
        limit: Maximum number of states in the built book.

    Raises:
        ValueError: If there are too many states, or ``draw`` or ``describe`` does not take the
            controls' names.
    """

    def __init__(
        self,
        draw: Picture | Callable[..., Figure | list[Figure]],
        controls: Mapping[str, Control] | None = None,
        *,
        title: str,
        describe: Callable[..., str] | None = None,
        alt: str | None = None,
        limit: int = 5000,
    ):
        picture = picture_of("Explorer", draw, describe, alt)
        self.draw, self.describe, self.alt = picture.draw, picture.describe, picture.alt
        self.controls = dict(controls or {})
        self.title = title
        self.n_states = math.prod(len(c.values) for c in self.controls.values())
        if self.n_states > limit:
            raise ValueError(
                f"Explorer: controls of {title!r} make {self.n_states} states, limit is {limit}; "
                "use coarser grids (a slider with live= still has a fine one in a live notebook)."
            )
        functions = {"draw": self.draw, "describe": self.describe}
        check_accepts("Explorer", functions, list(self.controls))

    @property
    def start(self) -> dict[str, Any]:
        """The initial value of each control."""
        return {name: c.values[c.start] for name, c in self.controls.items()}

    def figures(self, **params: Any) -> list[Figure]:
        """Return the figures of one state.

        Args:
            **params: A value for each control.

        Raises:
            ValueError: If ``draw`` does not return figures.
        """
        return figures_of("Explorer", self.title, self.draw(**params))

    def states(self) -> Iterator[dict]:
        """Yield all states as JSON values, in the order of :func:`itertools.product`."""
        count = None
        for values in itertools.product(*(c.values for c in self.controls.values())):
            params = dict(zip(self.controls, values, strict=True))
            panels = [static_html.panel_spec(figure) for figure in self.figures(**params)]
            count = len(panels) if count is None else count
            if count != len(panels):
                raise ValueError(
                    f"Explorer: draw of {self.title!r} must return the same number of figures in "
                    f"every state, got {count} and, at {params}, {len(panels)}."
                )
            yield static_html.to_json_value({"panels": panels, "text": self.describe(**params)})

    def to_html(self) -> str:
        """Return the explorer as HTML that contains all states."""
        with no_template():
            states = static_html.make_alt_texts_unique(list(self.states()), self.controls)
        columns = live_widget.num_columns(len(states[0]["panels"]))
        return static_html.explorer_html(self.title, self.alt, self.controls, states, columns)

    def widget(self) -> Any:
        """Return a widget with controls, panels and description."""
        controls, rows = live_widget.control_widgets(self.controls)
        canvas = live_widget.Canvas(self.title, rows)

        def update(_=None):
            params = {name: control.value for name, control in controls.items()}
            canvas.show(lambda: self.figures(**params), lambda: self.describe(**params))

        for control in controls.values():
            control.observe(update, "value")
        update()
        return canvas.box

    def __repr__(self) -> str:
        size = f" ({self.n_states} states)" if self.controls else ""
        return summary(self.title + size, self.controls, self.describe(**self.start))
