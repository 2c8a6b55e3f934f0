"""A picture is one object: what is drawn, the sentence that says it, the text for who cannot see.

A chapter's ``figures.py`` makes it beside its functions, and a notebook's cell names it::

    STEP = Picture(draw_step, describe_step, alt="Two line plots over ...")

    Explorer(figures.STEP, {"scale": slider(...)}, title="The same step, longer weights")

What the notebook has computed or read comes first among the arguments of both functions::

    Explorer(figures.TRAINING.of(runs), {"optimizer": choice(...)}, title="Length and turn")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Picture:
    """A drawing, its sentence and its alt text.

    Args:
        draw: Called with the value of each control by its name; returns one plotly figure or a
            list of them. It sets no template and no background: the page does.
        describe: Called like ``draw``; returns the one sentence that says what is shown.
        alt: What is shown in every state, for those who do not see it.
    """

    draw: Callable[..., Figure | list[Figure]]
    describe: Callable[..., str]
    alt: str | None = None

    def of(self, *data: Any, **named: Any) -> Picture:
        """Fix what both functions get before the values of the controls.

        Args:
            *data: Their first arguments.
            **named: Arguments by name.

        Returns:
            The picture of these data.
        """
        draw, describe = (partial(f, *data, **named) for f in (self.draw, self.describe))
        return replace(self, draw=draw, describe=describe)
