"""Explorers: one drawing function and its controls, alive in a notebook and in the built book.

A chapter hands over ``draw(**params)``, which returns plotly figures, and ``describe(**params)``,
which says in one sentence what they show. With a kernel the controls call both as they move
(``_live.py``). In the built book (environment variable ``LNLIB_STATIC=1``) every state is computed
once, by the same two functions (``_page.py``): no Python, no network, no second implementation.
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lnbook.show import _live, _page
from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "COLORS",
    "FAILS",
    "HOLDS",
    "OPEN",
    "Control",
    "Explorer",
    "LiveRun",
    "Picture",
    "Table",
    "choice",
    "round_numbers",
    "show",
    "slider",
]

HEIGHT = 320  # pixels, of a panel that does not say
REDRAW = 0.2  # seconds between two redraws of a running run


@dataclass(frozen=True)
class Control:
    """A control and the grid of values it runs through; :func:`slider` and :func:`choice` make it.

    Args:
        kind: ``"slider"`` or ``"choice"``.
        label: What the reader sees.
        values: What ``draw`` gets, one after the other.
        texts: What the reader sees for each.
        start: Index of the value at the start.
        play: Whether a button runs through the values.
        live: ``(low, high, step)`` of a finer slider where there is a kernel.
    """

    kind: str
    label: str
    values: tuple
    texts: tuple[str, ...]
    start: int
    play: bool = False
    live: tuple[float, float, float] | None = None


def slider(
    label: str,
    values: Iterable[float],
    start: float | None = None,
    *,
    text: str | Callable[[Any], str] = "{:g}",
    play: bool = False,
    live: tuple[float, float, float] | None = None,
) -> Control:
    """Make a slider over a grid of numbers.

    Args:
        label: What the reader sees, with the unit if there is one.
        values: The grid, in order; the built book has these and no others.
        start: One of ``values``. ``None`` means the first.
        text: A format string or a function: what the reader sees for a value.
        play: Add a button that runs through the grid.
        live: ``(low, high, step)``: with a kernel, offer this finer grid instead.

    Returns:
        The control, for :class:`Explorer` and :class:`LiveRun`.

    Raises:
        ValueError: If the grid is empty, or ``start`` is not in it or outside ``live``.

    Example:
        >>> slider("Batch size", range(1, 9), start=4).texts
        ('1', '2', '3', '4', '5', '6', '7', '8')
    """
    values = tuple(v.item() if hasattr(v, "item") else v for v in values)
    if not values:
        raise ValueError(f"slider: values of {label!r} must not be empty.")
    first = next((i for i, v in enumerate(values) if start is None or math.isclose(v, start)), None)
    if first is None:
        raise ValueError(
            f"slider: start of {label!r} must be one of its values {values}, got {start!r}."
        )
    if live and not live[0] <= values[first] <= live[1]:
        raise ValueError(
            f"slider: live of {label!r} must be (low, high, step) around its start "
            f"{values[first]!r}, got {live!r}."
        )
    write = text.format if isinstance(text, str) else text
    return Control("slider", label, values, tuple(map(write, values)), first, play, live)


def round_numbers(low: float, high: float, *also: float) -> list[float]:
    """List round numbers, ten in a decade, for a slider over factors.

    Args:
        low: Nothing below it.
        high: Nothing above it.
        *also: Numbers that the list must have, round or not.

    Returns:
        1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 and 8 times powers of ten, and ``also``, in order.

    Example:
        >>> round_numbers(0.5, 2, 0.75)
        [0.5, 0.6, 0.75, 0.8, 1.0, 1.2, 1.5, 2.0]
    """
    digits = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = {float(f"{d}e{power - 1}") for power in powers for d in digits}
    return sorted({v for v in found if low <= v <= high} | set(map(float, also)))


def choice(
    label: str, options: Iterable[Any] | Mapping[str, Any], start: str | None = None
) -> Control:
    """Make a choice among a few things.

    Args:
        label: What the reader sees.
        options: The things, or a dict from what the reader sees to the thing.
        start: What the reader sees for the thing at the start. ``None`` means the first.

    Returns:
        The control, for :class:`Explorer` and :class:`LiveRun`.

    Raises:
        ValueError: If there are no options, or ``start`` is not among them.

    Example:
        >>> choice("Norm", {"batch norm": 0, "layer norm": 1}, start="layer norm").start
        1
    """
    if not isinstance(options, Mapping):
        options = {str(option): option for option in options}
    texts = tuple(options)
    if not texts:
        raise ValueError(f"choice: options of {label!r} must not be empty.")
    if start is not None and str(start) not in texts:
        raise ValueError(
            f"choice: start of {label!r} must be one of its options {texts}, got {start!r}."
        )
    first = 0 if start is None else texts.index(str(start))
    return Control("choice", label, tuple(options.values()), texts, first)


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
        picture = _picture("Explorer", draw, describe, alt)
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
        _check_accepts("Explorer", functions, list(self.controls))

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
        return _figures("Explorer", self.title, self.draw(**params))

    def states(self) -> Iterator[dict]:
        """Compute every state, the last control running fastest, as the page will hold it."""
        count = None
        for values in itertools.product(*(c.values for c in self.controls.values())):
            params = dict(zip(self.controls, values, strict=True))
            panels = [_page.panel(figure) for figure in self.figures(**params)]
            count = len(panels) if count is None else count
            if count != len(panels):
                raise ValueError(
                    f"Explorer: draw of {self.title!r} must return the same number of figures in "
                    f"every state, got {count} and, at {params}, {len(panels)}."
                )
            yield _page.plain({"panels": panels, "text": self.describe(**params)})

    def to_html(self) -> str:
        """Write the explorer as HTML with every state inside."""
        states = list(self.states())
        columns = self.columns or _live.columns(len(states[0]["panels"]))
        return _page.page(self.title, self.alt, self.controls, states, columns)

    def widget(self) -> Any:
        """Build the live widget: controls, panels, sentence."""
        return _live.explorer_widget(self)

    def __repr__(self) -> str:
        size = f" ({self.n_states} states)" if self.controls else ""
        return _summary(self.title + size, self.controls, self.describe(**self.start))

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


class LiveRun:
    """A computation the reader can start, watch, stop and resume.

    With a kernel it runs in a thread, so the notebook stays responsive; it stops between two
    results and loses none. In the built book it has been run to its end with every choice of
    settings, and a slider with a play button runs through the results, if there are several.

    Args:
        run: ``run(**settings)``, a generator function; yields one result after the other.
        draw: A :class:`Picture`, or ``draw(results, **settings)``, from the list of results so far
            (at least one) to figures, as in :class:`Explorer`.
        controls: The settings, as in :class:`Explorer`; fixed while it runs.
        title: Heads the card.
        describe: ``describe(results, **settings)``; the one sentence. A picture brings it.
        alt: As in :class:`Explorer`. Likewise.
        progress: Label of the slider through the results.
        frames: Most positions of that slider; with 1 the end alone is shown.
        recorded: ``recorded(**settings)``, results for the built book in place of those of ``run``,
            where they depend on the machine, such as times.

    Attributes:
        state: ``"ready"``, ``"running"``, ``"stopped"``, ``"done"`` or ``"failed"``.
        results: What the run has yielded so far.
        error: What it raised, if it failed.

    Raises:
        ValueError: If a function does not take the controls' names.

    Example:
        >>> def halve(start):
        ...     while start > 1:
        ...         start //= 2
        ...         yield start
        >>> live = LiveRun(
        ...     halve,
        ...     lambda results, start: [],
        ...     {"start": choice("From", [8, 16])},
        ...     title="Halving",
        ...     describe=lambda results, start: f"{len(results)} steps from {start}.",
        ... )
        >>> live.start()
        >>> live.wait()
        >>> live.state, live.results
        ('done', [4, 2, 1])
    """

    def __init__(
        self,
        run: Callable[..., Iterator[Any]],
        draw: Picture | Callable[..., Figure | list[Figure]],
        controls: Mapping[str, Control] | None = None,
        *,
        title: str,
        describe: Callable[..., str] | None = None,
        alt: str | None = None,
        progress: str = "Results",
        frames: int = 20,
        recorded: Callable[..., Sequence[Any]] | None = None,
    ):
        self.recorded = recorded or run
        picture = _picture("LiveRun", draw, describe, alt)
        self.run, self.draw, self.describe = run, picture.draw, picture.describe
        self.controls = dict(controls or {})
        self.title, self.alt = title, picture.alt
        self.progress, self.frames = progress, frames
        names = list(self.controls)
        _check_accepts("LiveRun", {"run": run, "recorded": self.recorded}, names)
        functions = {"draw": self.draw, "describe": self.describe}
        _check_accepts("LiveRun", functions, names, "results")
        self.watch: Callable[[], None] = lambda: None  # called when there is something new
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None
        self._widget: Any = None
        self.reset()

    def reset(self) -> None:
        """Forget results and settings; a run that is going stops after its next result."""
        self.stop()
        self.wait()
        self.state, self.results, self.settings = "ready", [], {}
        self.error: Exception | None = None
        self._going: Iterator[Any] = iter(())

    def start(self, **settings: Any) -> None:
        """Begin anew.

        Args:
            **settings: Values of controls; those not named have their start value.
        """
        self.reset()
        start = {name: c.values[c.start] for name, c in self.controls.items()}
        self.settings = start | settings
        self._going = iter(self.run(**self.settings))
        self._go()

    def stop(self) -> None:
        """Ask it to stop after the next result, which is kept."""
        self._halt.set()

    @property
    def stopping(self) -> bool:
        """Whether it has been asked to stop and has not yet."""
        return self.state == "running" and self._halt.is_set()

    def resume(self) -> None:
        """Go on where it stopped, with the same settings."""
        if self.state == "stopped":
            self._go()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has stopped, ended or failed.

        Args:
            timeout: Seconds. ``None`` waits as long as it takes.
        """
        if self._thread:
            self._thread.join(timeout)

    def _go(self) -> None:
        self._halt.clear()
        self.state = "running"
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        state, drawn = "done", -math.inf
        try:
            for result in self._going:
                self.results.append(result)
                if self._halt.is_set():
                    state = "stopped"
                    break
                if time.monotonic() - drawn >= REDRAW:
                    self.watch()
                    drawn = time.monotonic()
        except Exception as error:
            state, self.error = "failed", error
        self.state = state
        self.watch()

    def figures(self) -> list[Figure]:
        """Draw the results so far; nothing before the first."""
        if not self.results:
            return []
        return _figures("LiveRun", self.title, self.draw(self.results, **self.settings))

    def replay(self) -> Explorer:
        """Run every choice of settings to its end, or take what is recorded, as an explorer.

        Raises:
            ValueError: If a run yields nothing, or nothing is recorded.
        """

        def settings(places):
            return {name: self.controls[name].values[i] for name, i in places.items()}

        # By place on the grid: a setting itself may be an array, which is no key.
        grid = {
            name: replace(c, values=tuple(range(len(c.values))), live=None)
            for name, c in self.controls.items()
        }
        runs = {}
        for places in itertools.product(*(c.values for c in grid.values())):
            runs[places] = list(self.recorded(**settings(dict(zip(grid, places, strict=True)))))
            if not runs[places]:
                raise ValueError(f"LiveRun: run of {self.title!r} must yield at least one result.")

        longest = max(map(len, runs.values()))

        def at(function):
            return lambda _shown=longest, **places: function(
                runs[tuple(places.values())][:_shown], **settings(places)
            )

        frames = min(self.frames, longest)
        shown = sorted({math.ceil(longest * i / frames) for i in range(1, frames + 1)})
        if len(shown) > 1:
            grid["_shown"] = slider(self.progress, shown, start=longest, play=True)
        return Explorer(
            at(self.draw),
            grid,
            title=self.title,
            describe=at(self.describe),
            alt=self.alt,
        )

    def to_html(self) -> str:
        """Write the replay as HTML."""
        return self.replay().to_html()

    def widget(self) -> Any:
        """Build the live widget, once: settings, buttons, panels, sentence."""
        self._widget = self._widget or _live.run_widget(self)
        return self._widget

    def __repr__(self) -> str:
        return _summary(self.title, self.controls, "A run to start, watch, stop and resume.")

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)


#: Verdicts: the words, and a sign for each, so that color is never alone.
HOLDS, FAILS = "✓ holds", "✗ does not hold"
OPEN = "≈ undecided"  # lnlib.compare.verdict says when
MARKS = {HOLDS: "holds", OPEN: "mixed", FAILS: "fails"}


class Table:
    """A small table that reads well as text and as HTML.

    Args:
        columns: Headings.
        rows: Cells, as text; the first of a row is its heading.
        caption: What the table shows, in one sentence.

    Raises:
        ValueError: If a row is not as long as ``columns``.

    Example:
        >>> Table(["norm", "means"], [["batch", "6"], ["layer", "4"]], "Means of a (4, 6) table.")
        Means of a (4, 6) table.
        norm   means
        batch  6
        layer  4
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str):
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f"Table: a row must have {len(columns)} cells, got {list(row)}")
        self.columns, self.rows, self.caption = list(columns), [list(r) for r in rows], caption

    def __repr__(self) -> str:
        """Return aligned text."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = [
            "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, *text])

    def to_html(self) -> str:
        """Write the table as HTML that scrolls inside itself."""
        return _page.table(self.columns, self.rows, self.caption, MARKS)

    def widget(self) -> Any:
        """Build the live widget: the same HTML."""
        import ipywidgets

        return ipywidgets.HTML(self.to_html())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)


def _check_accepts(owner: str, functions: dict[str, Callable], names: list[str], *args: str):
    for role, function in functions.items():
        try:
            inspect.signature(function).bind(*args, **dict.fromkeys(names))
        except TypeError as error:
            raise ValueError(
                f"{owner}: {role} must accept ({', '.join([*args, *names])}), the names of the "
                f"controls; {error}."
            ) from None


def _picture(
    owner: str, draw: Any, describe: Callable[..., str] | None, alt: str | None
) -> Picture:
    """Check that a drawing has its sentence, once."""
    if isinstance(draw, Picture) and describe is alt is None:
        return draw
    if isinstance(draw, Picture) or describe is None:
        raise ValueError(
            f"{owner}: draw must be a Picture, which has its sentence and its alt text, or a "
            "function with describe= beside it; got "
            + ("a Picture and another sentence or alt text." if describe or alt else "no sentence.")
        )
    return Picture(draw, describe, alt)


def _figures(owner: str, title: str, drawn: Any) -> list[Figure]:
    """Check what ``draw`` returned, and fill in what it left open."""
    from plotly.basedatatypes import BaseFigure

    figures = list(drawn) if isinstance(drawn, list | tuple) else [drawn]
    for i, figure in enumerate(figures):
        if not isinstance(figure, BaseFigure):
            where = f" at place {i}" if len(figures) > 1 else ""
            raise ValueError(
                f"{owner}: draw of {title!r} must return a plotly figure or a list of them, "
                f"got {type(figure).__name__}{where}."
            )
        figure.layout.template = None
        figure.layout.height = figure.layout.height or HEIGHT
    return figures


def _summary(head: str, controls: Mapping[str, Control], sentence: str) -> str:
    lines = [head]
    for c in controls.values():
        texts = c.texts if len(c.texts) <= 10 else (*c.texts[:3], "…", c.texts[-1])
        lines.append(f"  {c.label}: {' | '.join(texts)} (start: {c.texts[c.start]})")
    return "\n".join([*lines, sentence])


def bundle(
    thing: Any,
    missing: str = "\n(For the figure and its controls: pip install ipywidgets anywidget)",
) -> dict:
    """Return what Jupyter displays of a thing with ``to_html`` and ``widget``.

    Args:
        thing: What is displayed; its ``repr`` stands in where nothing else can.
        missing: Follows the text where ipywidgets is missing.

    Returns:
        From MIME type to content: HTML while a book is built, else the widget.
    """
    out = {"text/plain": repr(thing)}
    if os.environ.get("LNLIB_STATIC") == "1":
        return out | {"text/html": thing.to_html()}
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        out["text/plain"] += missing
        return out
    return thing.widget()._repr_mimebundle_() | out
