"""A live run: a computation that the reader starts, watches, stops and resumes."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lnbook.display import bundle, explained, wrapped
from lnbook.explorer import Explorer, live
from lnbook.explorer.control import Control, slider
from lnbook.explorer.figure_spec import Picture
from lnbook.explorer.parts import check_accepts, figures_of, picture_of, summary

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["LiveRun"]

REDRAW = 0.2  # seconds between two redraws of a running run


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
        >>> from lnbook.show import choice
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
        picture = picture_of("LiveRun", draw, describe, alt)
        self.run, self.draw, self.describe = run, picture.draw, picture.describe
        self.controls = dict(controls or {})
        self.title, self.alt = title, picture.alt
        self.progress, self.frames = progress, frames
        names = list(self.controls)
        check_accepts("LiveRun", {"run": run, "recorded": self.recorded}, names)
        functions = {"draw": self.draw, "describe": self.describe}
        check_accepts("LiveRun", functions, names, "results")
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
        return figures_of("LiveRun", self.title, self.draw(self.results, **self.settings))

    def replay(self) -> Explorer:
        """Run every choice of settings to its end, or take what is recorded, as an explorer.

        Raises:
            ValueError: If a run yields nothing, or nothing is recorded.
        """

        def settings(indices):
            return {name: self.controls[name].values[i] for name, i in indices.items()}

        # By place on the grid: a setting itself may be an array, which is no key.
        grid = {
            name: replace(c, values=tuple(range(len(c.values))), live=None)
            for name, c in self.controls.items()
        }
        runs = {}
        for indices in itertools.product(*(c.values for c in grid.values())):
            runs[indices] = list(self.recorded(**settings(dict(zip(grid, indices, strict=True)))))
            if not runs[indices]:
                raise ValueError(f"LiveRun: run of {self.title!r} must yield at least one result.")

        longest = max(map(len, runs.values()))

        def shown_until(function):
            return lambda _shown=longest, **indices: function(
                runs[tuple(indices.values())][:_shown], **settings(indices)
            )

        frames = min(self.frames, longest)
        shown = sorted({math.ceil(longest * i / frames) for i in range(1, frames + 1)})
        if len(shown) > 1:
            grid["_shown"] = slider(self.progress, shown, start=longest, play=True)
        return Explorer(
            shown_until(self.draw),
            grid,
            title=self.title,
            describe=shown_until(self.describe),
            alt=self.alt,
        )

    def to_html(self) -> str:
        """Write the replay as HTML."""
        return self.replay().to_html()

    def widget(self) -> Any:
        """Build the live widget, once: settings, buttons, panels, sentence."""
        self._widget = self._widget or self._card()
        return self._widget

    def _card(self) -> Any:
        """Build the controls, the buttons, which can be pressed when, and the canvas."""
        import ipywidgets as widgets

        controls, rows = live.control_widgets(self.controls)

        def start():
            self.start(**{name: control.value for name, control in controls.items()})

        actions = {  # what the button does, its icon, what it says, and the states it works in
            "Start": (start, "play", "Run with these settings", {"ready"}),
            "Stop": (self.stop, "stop", "Stop after the next result; keep everything", {"running"}),
            "Resume": (self.resume, "step-forward", "Go on where it stopped", {"stopped"}),
            "Start over": (self.reset, "undo", "Forget the results", {"stopped", "done", "failed"}),
        }
        buttons = {
            name: widgets.Button(description=name, icon=icon, tooltip=tooltip)
            for name, (_, icon, tooltip, _) in actions.items()
        }
        canvas = live.Canvas(
            self.title, [*rows, widgets.HBox([*buttons.values()], layout=wrapped())]
        )

        def text():
            sentence = self.describe(self.results, **self.settings) if self.results else ""
            note = {
                "ready": "Press Start to run it here.",
                "running": "Stopping after the next result." if self.stopping else "Running.",
                "stopped": "Stopped: Resume goes on from here.",
                "done": "Done.",
                "failed": f"The run failed ({explained(self.error)}). What it had computed stays; "
                "Start over lets you choose other settings.",
            }
            return f"{sentence} {note[self.state]}".strip()

        lock = threading.Lock()  # the run and a click may both have news

        def watch():
            with lock:
                for name, (_, _, _, states) in actions.items():
                    buttons[name].disabled = self.state not in states or self.stopping
                for control in controls.values():
                    control.disabled = self.state != "ready"
                canvas.show(self.figures, text)

        def press(button):
            action, _, _, states = actions[button.description]
            if self.state in states:  # a second press may come before the page hears of the first
                action()
            watch()

        for button in buttons.values():
            button.on_click(press)
        self.watch = watch
        watch()
        return canvas.box

    def __repr__(self) -> str:
        return summary(self.title, self.controls, "A run to start, watch, stop, and resume.")

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)
