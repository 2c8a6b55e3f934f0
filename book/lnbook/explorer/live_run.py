"""Live runs: computations that a reader can start, watch, stop and resume."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lnbook.display import Displayed, explained, wrapped
from lnbook.explorer import Explorer, live_widget
from lnbook.explorer.common import check_accepts, figures_of, picture_of, summary
from lnbook.explorer.control import Control, slider
from lnbook.explorer.figure_spec import Picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


REDRAW_INTERVAL_S = 0.2


class LiveRun(Displayed):
    """A computation that a reader can start, watch, stop and resume.

    With a kernel it runs in a thread, so that the notebook stays responsive. It can be stopped
    after each result. In the built book it has been run for all settings, and a slider with a
    play button shows the results, if there are several.

    Args:
        run: A generator function ``run(**settings)`` that yields the results.
        draw: A :class:`Picture`, or ``draw(results, **settings)``, which returns figures for the
            results so far (at least one), as in :class:`Explorer`.
        controls: The settings, as in :class:`Explorer`; fixed during a run.
        title: Heading of the card.
        describe: ``describe(results, **settings)``; not given with a :class:`Picture`.
        alt: See :class:`Explorer`.
        progress: Label of the slider over the results.
        frames: Maximum number of positions of that slider; with 1 only the end is shown.
        recorded: ``recorded(**settings)`` returns the results for the built book instead of
            ``run``, if they depend on the machine, such as times.

    Attributes:
        state: ``"ready"``, ``"running"``, ``"stopped"``, ``"done"`` or ``"failed"``.
        results: The results so far.
        error: The exception, if the run failed.

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
        # Called after each change of state and regularly during a run.
        self.on_update: Callable[[], None] = lambda: None
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None
        self._widget: Any = None
        self.reset()

    def reset(self) -> None:
        """Discard results and settings; stop a run after its next result."""
        self.stop()
        self.wait()
        self.state, self.results, self.settings = "ready", [], {}
        self.error: Exception | None = None
        self._iterator: Iterator[Any] = iter(())

    def start(self, **settings: Any) -> None:
        """Start from the beginning.

        Args:
            **settings: Values of controls. Default: their initial values.
        """
        self.reset()
        start = {name: c.values[c.start] for name, c in self.controls.items()}
        self.settings = start | settings
        self._iterator = iter(self.run(**self.settings))
        self._run_in_thread()

    def stop(self) -> None:
        """Stop after the next result, which is kept."""
        self._stop_event.set()

    @property
    def stopping(self) -> bool:
        """Whether the run will stop after the next result."""
        return self.state == "running" and self._stop_event.is_set()

    def resume(self) -> None:
        """Continue a stopped run with the same settings."""
        if self.state == "stopped":
            self._run_in_thread()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the run has stopped, ended or failed.

        Args:
            timeout: Timeout in seconds. ``None`` waits without limit.
        """
        if self._thread:
            self._thread.join(timeout)

    def _run_in_thread(self) -> None:
        self._stop_event.clear()
        self.state = "running"
        self._thread = threading.Thread(target=self._consume_iterator, daemon=True)
        self._thread.start()

    def _consume_iterator(self) -> None:
        state, last_redraw = "done", -math.inf
        try:
            for result in self._iterator:
                self.results.append(result)
                if self._stop_event.is_set():
                    state = "stopped"
                    break
                if time.monotonic() - last_redraw >= REDRAW_INTERVAL_S:
                    self.on_update()
                    last_redraw = time.monotonic()
        except Exception as error:
            state, self.error = "failed", error
        self.state = state
        self.on_update()

    def figures(self) -> list[Figure]:
        """Return the figures of the results so far; none before the first result."""
        if not self.results:
            return []
        return figures_of("LiveRun", self.title, self.draw(self.results, **self.settings))

    def replay(self) -> Explorer:
        """Run all settings to the end, or use recorded results, and return an explorer of them.

        Raises:
            ValueError: If a run yields nothing, or nothing is recorded.
        """

        def settings(indices):
            return {name: self.controls[name].values[i] for name, i in indices.items()}

        # By index, because a value may be an array, which is not hashable.
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

        def on_first_results(function):
            return lambda _shown=longest, **indices: function(
                runs[tuple(indices.values())][:_shown], **settings(indices)
            )

        frames = min(self.frames, longest)
        counts = sorted({math.ceil(longest * i / frames) for i in range(1, frames + 1)})
        if len(counts) > 1:
            grid["_shown"] = slider(self.progress, counts, start=longest, play=True)
        return Explorer(
            on_first_results(self.draw),
            grid,
            title=self.title,
            describe=on_first_results(self.describe),
            alt=self.alt,
        )

    def to_html(self) -> str:
        """Return the replay as HTML."""
        return self.replay().to_html()

    def widget(self) -> Any:
        """Return the widget with settings, buttons, panels and description; there is only one."""
        self._widget = self._widget or self._build_widget()
        return self._widget

    def _build_widget(self) -> Any:
        """Build the controls, the buttons and the canvas."""
        import ipywidgets as widgets

        controls, rows = live_widget.control_widgets(self.controls)

        def start():
            self.start(**{name: control.value for name, control in controls.items()})

        actions = {  # action, icon, tooltip, and states in which the button is enabled
            "Start": (start, "play", "Run with these settings", {"ready"}),
            "Stop": (self.stop, "stop", "Stop after the next result; keep everything", {"running"}),
            "Resume": (self.resume, "step-forward", "Continue where it stopped", {"stopped"}),
            "Start over": (self.reset, "undo", "Discard results", {"stopped", "done", "failed"}),
        }
        buttons = {
            name: widgets.Button(description=name, icon=icon, tooltip=tooltip)
            for name, (_, icon, tooltip, _) in actions.items()
        }
        canvas = live_widget.Canvas(
            self.title, [*rows, widgets.HBox([*buttons.values()], layout=wrapped())]
        )

        def text():
            description = self.describe(self.results, **self.settings) if self.results else ""
            note = {
                "ready": "Press Start to run it here.",
                "running": "Stopping after the next result." if self.stopping else "Running.",
                "stopped": "Stopped: Resume continues from here.",
                "done": "Done.",
                "failed": f"The run failed ({explained(self.error)}). The results so far are "
                "kept; Start over lets you choose other settings.",
            }
            return f"{description} {note[self.state]}".strip()

        lock = threading.Lock()  # the thread of the run and a click may both update the widget

        def update():
            with lock:
                for name, (_, _, _, states) in actions.items():
                    buttons[name].disabled = self.state not in states or self.stopping
                for control in controls.values():
                    control.disabled = self.state != "ready"
                canvas.show(self.figures, text)

        def press(button):
            action, _, _, states = actions[button.description]
            if self.state in states:  # a second click may arrive before the button is disabled
                action()
            update()

        for button in buttons.values():
            button.on_click(press)
        self.on_update = update
        update()
        return canvas.box

    def __repr__(self) -> str:
        return summary(self.title, self.controls, "A run to start, watch, stop, and resume.")
