"""Sentences about a state: the normalization set of a cell, its output, and warnings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lnbook.widgets import number_parsing
from lnbook.widgets.norm_table.compute import Result, all_equal
from lnbook.widgets.norm_table.state import TEST_TIME, State, typed
from lnbook.widgets.norm_table.texts import figure, shown, signed
from lnbook.widgets.norm_table.words import MESSAGES, counted, upper


class Sentences:
    """The sentences about a state.

    Args:
        state: The reader's input.
        result: The numbers computed from it.
        feature: Returns the name of a feature, counted from 0.
        known: The number of features that have running statistics.
    """

    def __init__(
        self, state: State, result: Result, feature: Callable[[int], str], known: int
    ) -> None:
        self.state, self.result, self.feature, self.known = state, result, feature, known
        self.sets = state.sets()

    def shares(self) -> str:
        """Describe what the selected cell shares, and with which others."""
        state, r, (i, j), name = self.state, self.result, self.state.cell, self.state.norm
        size = int((self.sets == self.sets[i, j]).sum())
        means = {TEST_TIME: state.shape[1], "none": 0}.get(name, int(self.sets.max()) + 1)
        key = name
        if size == 1 and name not in (TEST_TIME, "none"):
            key = "alone RMS" if name == "RMS norm" else "alone"
        others = MESSAGES["others"]["example" if name == "batch norm" else "feature"]
        return MESSAGES["shares"][key].format(
            Cell=upper(MESSAGES["cell"]["x"].format(i=i + 1, feature=self.feature(j))),
            mean=figure(r.mean[i, j]),
            std=figure(r.std[i, j]),
            x=figure(r.x[i, j], 6),
            i=i + 1,
            g=state.group(j) + 1,
            others=counted(others, size - 1),
            means=counted(MESSAGES["means"].get(name, MESSAGES["means"]["mean"]), means),
        )

    def work(self) -> str:
        """Return the formula for the output of the selected cell, or "" if a number is missing."""
        r, (i, j) = self.result, self.state.cell
        if r.note[i, j] == "?":
            return ""
        formula = MESSAGES["work"].get(self.state.norm, MESSAGES["work"]["norm"])
        return formula.format(
            x=signed(r.x[i, j]),
            first=figure(r.x[i, j], 6),
            gain=signed(r.gain[j]),
            bias=signed(r.bias[j]),
            mean=signed(r.mean[i, j]),
            std=figure(r.std[i, j], 6),
            y=r.note[i, j] or shown(r.y[i, j]),
        )

    def warning(self) -> str:
        """Return all warnings about the state."""
        notes = [
            MESSAGES["degenerate"][k] for k in ("too big", "too small") if k in self.result.note
        ]
        return " ".join([*self._bad(), *self._few(), *self._equal(), *notes, *self._no_running()])

    def _bad(self) -> list[str]:
        """Report the first cell that does not contain a number, and count the others."""
        state = self.state
        cells = [
            (text, MESSAGES["cell"]["x"].format(i=i + 1, feature=self.feature(j)))
            for i, row in enumerate(state.x)
            for j, text in enumerate(row)
        ] + [
            (text, MESSAGES["cell"][which].format(feature=self.feature(j)))
            for which, row in (("gain", state.gain), ("bias", state.bias))
            if which == "gain" or state.norm != "RMS norm"
            for j, text in enumerate(row)
        ]
        bad = [(text, cell) for text, cell in cells if math.isnan(typed(text))]
        if not bad:
            return []
        text, cell = bad[0]
        forms = number_parsing.forms(text)
        kind = "text" if text.strip(number_parsing.EDGE) else "empty"
        if len(number_parsing.readings(text)) == 2:
            kind = "two"
        elif any(math.isinf(number_parsing.value(form)) for form in forms):
            kind = "huge"
        first, second = forms if kind == "two" else ("", "")
        values = {"text": text.strip(number_parsing.EDGE), "first": first, "second": second}
        texts = [MESSAGES["bad"][kind].format(Cell=upper(cell), **values)]
        if len(bad) > 1:
            texts.append(counted(MESSAGES["bad"]["more"], len(bad) - 1))
        return [*texts, MESSAGES["bad"]["then"]]

    def _few(self) -> list[str]:
        """Explain the output if only one or two numbers are normalized together."""
        size, few = int((self.sets == 0).sum()), MESSAGES["few"].get(self.state.norm)
        if few and size == 1:
            key = "one" if self.state.eps else "one, eps 0"
            if self.state.norm == "RMS norm":
                key = "one RMS"
            return [MESSAGES["degenerate"][key].format(Why=few[0])]
        if few and size == 2 and few[1]:
            return [MESSAGES["degenerate"]["two"].format(Why=few[1])]
        return []

    def _equal(self) -> list[str]:
        """Report the first normalization set of equal numbers, and count the others."""
        name, eps = self.state.norm, self.state.eps
        size, rms = int((self.sets == 0).sum()), name == "RMS norm"
        if name not in MESSAGES["few"] or (eps if rms else size == 1):
            return []
        x = self.result.x
        equal = [k for k in range(self.sets.max() + 1) if all_equal(name, x[self.sets == k])]
        if not equal:
            return []
        i, j = np.argwhere(self.sets == equal[0])[0]
        values = {"i": i + 1, "g": self.state.group(j) + 1, "feature": self.feature(j)}
        named = MESSAGES["set"][name].format(**values)
        if len(equal) > 1:
            named = counted(MESSAGES["set"]["and"], len(equal) - 1, set=named)
        key = "equal RMS" if rms else "equal" if eps else "equal, eps 0"
        return [MESSAGES["degenerate"][key].format(set=named)]

    def _no_running(self) -> list[str]:
        """List the features that have no running statistics."""
        missing = self.state.shape[1] - self.known
        if self.state.norm != TEST_TIME or missing <= 0:
            return []
        first = upper(self.feature(self.known))
        features = counted(MESSAGES["set"]["has"], missing, feature=first)
        return [MESSAGES["degenerate"]["no running"].format(features=features)]
