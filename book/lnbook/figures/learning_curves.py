"""Learning curves of several networks, their differences, and the best value by learning rate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.control import Control, choice
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import band, label_ends, spread, suffix
from lnbook.figures.run_groups import LAYER, MAIN, Runs


@dataclass(frozen=True)
class LearningCurves:
    """Figures of an experiment's learning curves, with the sentences that describe them.

    Args:
        word: Name of the measure, such as ``bound``; lower is better.
        of: Data on which the curves are measured, such as ``test images``.
        chosen_by: Data on which learning rates are chosen.
        unit: Unit of the measure in sentences.
        axis: Label of the vertical axis, with the unit.
        top: Upper end of the vertical axis, unless a curve stays above it. It cuts off the first
            updates, in which all networks improve fast.
        digits: Number of digits after the decimal point.
        pad: Space between the curves and the ends of the vertical axis, in the unit.
        difference_unit: The unit of a difference; ``None``: that of the curves.
        lines: Description of the networks' line styles.
        levels: Maps the runs and the name of a group to values of baselines that are not trained,
            by the baselines' names.
    """

    word: str
    of: str
    chosen_by: str
    unit: str
    axis: str
    top: float
    digits: int = 1
    pad: float = 4.0
    difference_unit: str | None = None
    lines: str = "no norm dotted, no norm with tuned initialization dashed, layer norm solid"
    levels: Callable[[Runs, str], Mapping[str, float]] | None = None

    @property
    def shown(self) -> dict[str, str]:
        """The quantities that can be drawn, by their labels."""
        return {self.word: "loss", f"difference in {self.word}": "lead",
                "relative number of updates": "share"}  # fmt: skip

    def controls(self, runs: Runs) -> dict[str, Control]:
        """Return the controls: quantity, and the group of runs if there is more than one."""
        kinds = runs.recorded()
        several = {"kind": choice("Runs", kinds)} if len(kinds) > 1 else {}
        return several | {"shown": choice("Quantity", self.shown)}

    @property
    def curves(self) -> Picture:
        """The curves during training, their differences, or the ratio of the updates."""
        alt = (
            f"Curves of the {self.word} on {self.of} in {self.unit} over updates: {self.lines}, "
            f"with a band from the lowest seed to the highest; or the {self.word} with layer norm "
            "minus that of each other network, with a line at zero; or the updates that layer norm "
            f"needs to reach the {self.word} of another network, in percent of that network's own, "
            "with lines at 100 and 50 percent."
        )
        return Picture(self.draw_curves, self.describe_curves, alt)

    def draw_curves(self, runs: Runs, shown: str, kind: str = MAIN) -> list[go.Figure]:
        """Draw the curves, the differences or the ratios over updates.

        The time in seconds is not drawn: other jobs were running on the machine during the runs.

        Args:
            runs: The recorded runs.
            shown: ``loss``, ``lead`` (the difference) or ``share`` (relative updates).
            kind: The name of a group of the runs.
        """
        figure = go.Figure()
        draw = {"loss": self._losses, "lead": self._differences, "share": self._relative_times}[
            shown
        ]
        end = draw(figure, runs, kind)
        figure.update_layout(
            title={
                "loss": f"{self.word.capitalize()} on {self.of}",
                "lead": f"{self.word.capitalize()} with layer norm, minus the other network's",
                "share": f"Updates that layer norm needs for the same {self.word}",
            }[shown],
            height=400,
            xaxis={"title": "updates" + " of the other network" * (shown == "share"),
                   "range": [0, end], "zeroline": False, "tickformat": ",d"},
            yaxis={"zeroline": False},
        )  # fmt: skip
        return [label_ends(figure)]

    def _losses(self, figure: go.Figure, runs: Runs, kind: str) -> float:
        lowest, where = [], np.zeros(1)
        for arm in runs.groups[kind]:
            where, values = runs.curves(kind, arm)
            hover = f"after %{{x:,.0f}} updates: %{{y:.{self.digits}f}}{suffix(self.unit)}"
            band(figure, where, spread(values), runs.STYLES[arm], hover)
            lowest.append(np.nanmin(values))
        for name, value in self._levels(runs, kind).items():
            _level(figure, value, where[-1], "longdashdot", name)
            lowest.append(value)
        ends = [min(lowest) - self.pad, max(self.top, max(lowest) + self.pad)]
        figure.update_layout(yaxis={"title": self.axis, "range": ends})
        return float(where[-1])

    def _differences(self, figure: go.Figure, runs: Runs, kind: str) -> float:
        ends, where = [0.0], np.zeros(1)
        for other in runs.others(kind):
            where, values = runs.difference(kind, other)
            value = f"%{{y:+.{self.digits}f}}{suffix(self._difference_unit)}"
            hover = f"after %{{x:,.0f}} updates: {value}"
            band(figure, where, spread(values), _against(runs, other), hover)
            ends += [np.nanmin(values), np.nanmax(values)]
        _level(figure, 0, where[-1])
        figure.update_layout(
            yaxis={"title": f"{self._difference_unit}; below 0: layer norm is better",
                   "range": [min(ends) - 0.75 * self.pad, max(ends) + 0.75 * self.pad]},
        )  # fmt: skip
        return float(where[-1])

    def _relative_times(self, figure: go.Figure, runs: Runs, kind: str) -> float:
        most, end = 110.0, 0.0
        for other in runs.others(kind):
            where, values = runs.relative_training_time(kind, other)
            hover = f"to its {self.word} after %{{x:,.0f}} updates: %{{y:.0f}}%"
            band(figure, where, spread(100 * values), _against(runs, other), hover)
            most = max(most, 100 * np.nanmax(values, initial=1) + 5)
            end = float(where[-1])
        _level(figure, 100, end)
        _level(figure, 50, end, "dot")
        figure.update_layout(
            yaxis={"title": "% of the other's updates (50%: twice as fast)", "range": [0, most]}
        )
        return end

    def describe_curves(self, runs: Runs, shown: str, kind: str = MAIN) -> str:
        """Describe the final values, or the difference or the ratio at two points.

        The difference is described where it is most favorable to layer norm and at the end; the
        ratio, for the lowest loss in a quarter and in all of the other network's updates.
        """
        arms = runs.groups[kind]
        fewest, most = (of(len(arm.runs) for arm in arms.values()) for of in (min, max))
        several = f"{fewest} to {most}" if fewest < most else f"{most}"
        count = f"mean of {several} seeds" if most > 1 else "one seed"
        if shown == "loss":
            lasts = {arm: runs.curves(kind, arm)[1][:, -1].mean() for arm in arms}
            ends = [f"{runs.STYLES[arm][0]} {self._number(last)}" for arm, last in lasts.items()]
            where = runs.curves(kind, LAYER)[0][-1]
            text = f"After {where:,.0f} updates, {count}, in {self.unit}: {', '.join(ends)}."
            levels = [f"{name} {self._number(v)}" for name, v in self._levels(runs, kind).items()]
            return f"{text} Without training: {'; '.join(levels)}." if levels else text
        texts = []
        compare = {"lead": runs.difference, "share": runs.relative_training_time}[shown]
        for other in runs.others(kind):
            where, values = compare(kind, other)
            means, label = values.mean(0), runs.STYLES[other][0]
            if shown == "lead":
                best = int(np.nanargmin(means))
                texts.append(
                    f"compared with {label}, {self._ahead(means[best])} after {where[best]:,.0f} "
                    f"updates and {self._ahead(means[-1])} at the end"
                )
            else:
                quarter = len(where) // 4
                texts.append(
                    f"{label[0].upper()}{label[1:]}: "
                    f"{self._part(means[quarter], f'its first {where[quarter]:,.0f} updates')}; "
                    f"{self._part(means[-1], f'all {where[-1]:,.0f} updates')}"
                )
        if shown == "share":
            first = f"Updates that layer norm needs to match the lowest {self.word} of "
            return f"{first}the other network. {'. '.join(texts)} ({count})."
        unit = self._difference_unit
        first = f"Layer norm, at the point most favorable to it and at the end, in {unit}"
        return f"{first}: {'; '.join(texts)} ({count})."

    def _number(self, value: float) -> str:
        return f"{value:.{self.digits}f}".replace("-", "−")

    def _ahead(self, value: float) -> str:
        return f"{abs(value):.{self.digits}f} {'ahead' if value < 0 else 'behind'}"

    @property
    def _difference_unit(self) -> str:
        return self.difference_unit or self.unit

    def _part(self, share: float, updates: str) -> str:
        if np.isnan(share):
            return f"its lowest {self.word} in {updates} is not reached in every seed"
        return f"{100 * share:.0f}% of {updates}"

    def _levels(self, runs: Runs, kind: str) -> Mapping[str, float]:
        return self.levels(runs, kind) if self.levels else {}

    @property
    def rates(self) -> Picture:
        """The lowest value of each network at each learning rate."""
        alt = (
            f"Lines of the lowest {self.word} on {self.chosen_by} over learning rates: "
            f"{self.lines}; a ring marks the best rate of each network."
        )
        return Picture(self.draw_rates, self.describe_rates, alt)

    def draw_rates(self, runs: Runs) -> list[go.Figure]:
        """Draw the lowest validation value over the learning rate, and mark each arm's best."""
        figure = go.Figure()
        for name, arm in runs.sweep.items():
            label, color, dash = runs.STYLES[name]
            lows = {rate: runs.task.factor * value for rate, value in arm.rates.items()}
            loss = f"%{{y:.{self.digits}f}}{suffix(self.unit)}"
            hover = f"rate %{{x:g}}: {loss}<extra>{label}</extra>"
            figure.add_scatter(
                x=list(lows), y=list(lows.values()), name=label, mode="lines+markers",
                hovertemplate=hover, line={"color": color, "dash": dash, "width": 2.5},
                marker={"size": 7},
            )  # fmt: skip
            figure.add_scatter(
                x=[arm.rate], y=[lows[arm.rate]], mode="markers", showlegend=False,
                hoverinfo="skip", marker={"color": color, "size": 15, "symbol": "circle-open",
                                          "line": {"width": 2.5}},
            )  # fmt: skip
        ticks = sorted({rate for arm in runs.sweep.values() for rate in arm.rates})
        figure.update_layout(
            title=f"Lowest {self.word} on {self.chosen_by}",
            height=360,
            xaxis={"title": "learning rate", "type": "log", "tickvals": ticks,
                   "ticktext": [f"{rate:g}" for rate in ticks]},
            yaxis={"title": self.axis, "zeroline": False, "range": self._ends(runs)},
        )  # fmt: skip
        # Where lines end at several rates, a name at the end of one would cover others.
        several = len({max(arm.rates) for arm in runs.sweep.values()}) > 1
        return [figure if several else label_ends(figure)]

    def _ends(self, runs: Runs) -> list[float]:
        lows = [value for arm in runs.sweep.values() for value in arm.rates.values()]
        values = [runs.task.factor * value for value in lows]
        return [min(values) - self.pad, min(max(values), self.top) + self.pad]

    def describe_rates(self, runs: Runs) -> str:
        """Describe the best rate of each arm, with its value there and at the worst rate."""
        texts = []
        for name, arm in runs.sweep.items():
            edge = ", the edge of the grid" if arm.at_edge else ""
            lows = (runs.task.factor * extreme(arm.rates.values()) for extreme in (min, max))
            low, high = map(self._number, lows)
            values = f"({low}{suffix(self.unit)}, {high} at the worst rate)"
            texts.append(f"{runs.STYLES[name][0]} at {arm.rate:g}{edge} {values}")
        return f"Best learning rate of each network: {'; '.join(texts)}."


def _against(runs: Runs, other: str) -> tuple[str, str, str]:
    label, color, dash = runs.STYLES[other]
    return f"compared with {label}", color, dash


def _level(
    figure: go.Figure, y: float, end: float, dash: str = "solid", name: str | None = None
) -> None:
    figure.add_scatter(
        x=[0, end], y=[y, y], mode="lines", name=name, showlegend=bool(name), hoverinfo="skip",
        line={"color": COLORS["gray"], "width": 1.5, "dash": dash},
    )  # fmt: skip
