"""Explorers: one drawing function and its controls, alive in a notebook and in the built book.

A chapter hands over a picture: ``draw(**params)``, which returns plotly figures, and
``describe(**params)``, which says in one sentence what they show. With a kernel the controls call
both as they move (``live.py``). In the built book (environment variable ``LNLIB_STATIC=1``) every
state is computed once, by the same two functions (``page.py``), and ``explorer.js`` shows the one
that is asked for: no Python, no network, no second implementation. ``still.py`` draws what stands
there until then, ``grip.js`` lets a line be dragged, ``run.py`` has what takes its time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnbook.display import bundle
from lnbook.explorer import live, page
from lnbook.explorer.control import Control
from lnbook.explorer.figure_spec import Picture
from lnbook.explorer.parts import check_accepts, figures_of, no_template, picture_of, summary
from lnbook.widgets.base import WidgetFiles

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["WEB", "Explorer", "show"]

WEB = WidgetFiles(
    Path(__file__).parent, ("../widgets/address.js", "resize_handle.js", "explorer.js")
)


class Explorer:
    """A figure with controls, the same in a notebook and in the built book.

    Make it the last line of a cell. With a kernel it is a widget; under ``LNLIB_STATIC=1`` it is
    HTML that holds every state; as text it is the title, the grid and the sentence at the start.

    Args:
        draw: A :class:`Picture`; or, with ``describe`` and ``alt``, its drawing alone, called with
            the value of each control by its name, which returns one plotly figure or a list of
            them (panels side by side, stacked on a phone). It sets no template and no
            background: the page does, for light and dark. Its colors are those of :data:`COLORS`;
            a dark page draws others in their place. ``layout.title`` is set as plain text above the
            panel, which is ``layout.height`` pixels high (320 if unset).
        controls: From parameter name to :func:`slider` or :func:`choice`. Empty for a figure.
        title: Heads the card.
        describe: Called like ``draw``; returns the one sentence that says what the figure shows. A
            picture brings it.
        alt: What the figure shows in every state, for those who do not see it. Likewise.
        columns: Panels side by side on a wide page. ``None`` chooses: up to 3, 2 for four.
        limit: Most states the built book may hold.

    Raises:
        ValueError: If the states are too many, or ``draw`` or ``describe`` does not take the
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
        columns: int | None = None,
        limit: int = 5000,
    ):
        picture = picture_of("Explorer", draw, describe, alt)
        self.draw, self.describe, self.alt = picture.draw, picture.describe, picture.alt
        self.controls = dict(controls or {})
        self.title, self.columns = title, columns
        self.n_states = math.prod(len(c.values) for c in self.controls.values())
        if self.n_states > limit:
            raise ValueError(
                f"Explorer: controls of {title!r} make {self.n_states} states, limit is {limit}; "
                "use coarser grids (a slider with live= stays fine where there is a kernel)."
            )
        functions = {"draw": self.draw, "describe": self.describe}
        check_accepts("Explorer", functions, list(self.controls))

    @property
    def start(self) -> dict[str, Any]:
        """The value of every control at the start."""
        return {name: c.values[c.start] for name, c in self.controls.items()}

    def figures(self, **params: Any) -> list[Figure]:
        """Draw one state.

        Args:
            **params: A value for every control.

        Returns:
            The panels, each with a height.

        Raises:
            ValueError: If ``draw`` returned something else than figures.
        """
        return figures_of("Explorer", self.title, self.draw(**params))

    def states(self) -> Iterator[dict]:
        """Compute every state, the last control running fastest, as the page will hold it."""
        count = None
        for values in itertools.product(*(c.values for c in self.controls.values())):
            params = dict(zip(self.controls, values, strict=True))
            panels = [page.panel(figure) for figure in self.figures(**params)]
            count = len(panels) if count is None else count
            if count != len(panels):
                raise ValueError(
                    f"Explorer: draw of {self.title!r} must return the same number of figures in "
                    f"every state, got {count} and, at {params}, {len(panels)}."
                )
            yield page.plain({"panels": panels, "text": self.describe(**params)})

    def to_html(self) -> str:
        """Write the explorer as HTML with every state inside."""
        with no_template():
            states = page.make_alt_texts_unique(list(self.states()), self.controls)
        columns = self.columns or live.columns(len(states[0]["panels"]))
        return page.page(self.title, self.alt, self.controls, states, columns)

    def widget(self) -> Any:
        """Build the live widget: controls, panels, sentence."""
        controls, rows = live.control_widgets(self.controls)
        canvas = live.Canvas(self.title, rows, self.columns)

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

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)


def show(
    figures: Figure | list[Figure],
    *,
    title: str,
    describe: str,
    alt: str | None = None,
    columns: int | None = None,
) -> Explorer:
    """Show figures that have no controls; in the book every figure goes through here.

    Args:
        figures: One plotly figure, or a list of panels.
        title: Heads the card.
        describe: The one sentence that says what they show.
        alt: For those who do not see them.
        columns: As in :class:`Explorer`.

    Returns:
        An explorer with one state.
    """
    return Explorer(
        lambda: figures, title=title, describe=lambda: describe, alt=alt, columns=columns
    )
