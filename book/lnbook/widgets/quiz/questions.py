"""The three kinds of questions: how each is displayed and checked."""

import hashlib
import html
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lnbook.widgets import number_parsing
from lnbook.widgets.quiz.texts import NOT_YET, RIGHT, format_number, markup, plain_text

ARROW = " → "


@dataclass(frozen=True)
class Choose:
    """A multiple-choice question, made by :func:`choose`.

    Args:
        text: The question.
        options: Pairs of option and explanation.
        answer: Index of the right option.
    """

    text: str
    options: tuple[tuple[str, str], ...]
    answer: int
    kind = "choose"
    nothing = "Choose an option first."

    @property
    def identity(self) -> tuple:
        """What identifies a stored answer: everything except the explanations."""
        return self.text, [option for option, _ in self.options], self.answer

    def judge(self, answer: int | None) -> tuple[bool, str] | None:
        """Return whether the option at this index is right, and why; ``None`` if none is chosen."""
        return None if answer is None else (answer == self.answer, self.options[answer][1])

    def html(self) -> str:
        """Return the options as HTML that unfolds."""
        return "".join(
            f'<details class="ln-answer"><summary>{markup(option)}</summary><p>'
            f"<b>{RIGHT if i == self.answer else NOT_YET}</b>"
            f" <span{' data-correct' * (i == self.answer)}>{markup(why)}</span></p></details>"
            for i, (option, why) in enumerate(self.options)
        )

    def choices(self) -> list[str]:
        """Return the possible answers as lines of text."""
        return [f"{chr(97 + i)}. {option}" for i, (option, _) in enumerate(self.options)]

    def answered(self) -> list[str]:
        """Return lines that explain the right answer, then the wrong ones."""
        lines = [f"{a}: {why}" for a, (_, why) in zip(self.choices(), self.options, strict=True)]
        right = lines.pop(self.answer)
        return [right, *(f"Not {line}" for line in lines)]

    def control(self) -> tuple[list, Callable[[], Any]]:
        """Build live widgets, and a function that reads the answer from them."""
        import ipywidgets as widgets

        radio = widgets.RadioButtons(
            options=[(plain_text(option), i) for i, (option, _) in enumerate(self.options)],
            index=None,
            layout=widgets.Layout(width="auto"),
        )
        return [radio], lambda: radio.value


@dataclass(frozen=True)
class Number:
    """A question for a number, made by :func:`number`.

    Args:
        text: The question.
        answer: The number.
        atol: Absolute tolerance.
        why: Explains the right answer.
        misconceptions: Pairs of a wrong number and its explanation.
        hint: A hint for any other answer.
        unit: The unit, shown next to the answer.
    """

    text: str
    answer: float
    atol: float
    why: str
    misconceptions: tuple[tuple[float, str], ...]
    hint: str
    unit: str
    kind = "number"
    nothing = "Write a number, such as 0.25, 1/4, −3, or 2e-3."

    @property
    def identity(self) -> tuple:
        """What identifies a stored answer: everything except the explanations."""
        return self.text, self.answer, self.atol, self.unit

    def judge(self, answer: str) -> tuple[bool, str] | None:
        """Return whether a text is the right number, and why; ``None`` if it is not a number."""
        result = number_parsing.readings(answer, self.unit)
        if not result:
            return None
        if any(near(x, self.answer, self.atol) for x in result):
            return True, self.why
        known = [
            (abs(x - value), why)
            for value, why in self.misconceptions
            for x in result
            if near(x, value, self.atol)
        ]
        return False, min(known, key=lambda pair: pair[0])[1] if known else self.hint

    def html(self) -> str:
        """Return the answer as HTML that unfolds."""
        wrong = "".join(
            f"<p><b>{format_number(value)}?</b>"
            f' <span data-value="{value!r}">{markup(why)}</span></p>'
            for value, why in self.misconceptions
        )
        return (
            '<details class="ln-answer"><summary>Answer</summary>'
            f"<p><b>{html.escape(self.correct)}.</b>"
            f" <span data-correct>{markup(self.why)}</span></p>{wrong}"
            f"<p><b>Another number?</b> <span data-hint>{markup(self.hint)}</span></p>"
            "</details>"
        )

    @property
    def correct(self) -> str:
        """The right answer as text."""
        unit = f" {self.unit}" if self.unit else ""
        give = f" (give or take {format_number(self.atol)})" if self.atol else ""
        return format_number(self.answer) + unit + give

    def choices(self) -> list[str]:
        """Return the possible answers as lines of text."""
        return [f"(a number, in {self.unit})" if self.unit else "(a number)"]

    def answered(self) -> list[str]:
        """Return lines that explain the right answer, then the wrong ones."""
        wrong = [f"Not {format_number(value)}: {why}" for value, why in self.misconceptions]
        return [f"{self.correct}. {self.why}", *wrong, f"Another number: {self.hint}"]

    def control(self) -> tuple[list, Callable[[], Any]]:
        """Build live widgets, and a function that reads the answer from them."""
        import ipywidgets as widgets

        unit = f" ({self.unit})" if self.unit else ""
        field = widgets.Text(
            description=f"Your answer{unit}",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="min(100%, 20rem)"),
        )
        return [field], lambda: field.value


@dataclass(frozen=True)
class Order:
    """A question in which items have to be put in order, made by :func:`order`.

    Args:
        text: The question.
        items: The items in the right order.
        why: Explains the order.
        misconceptions: Pairs of a wrong order, as indices into ``items``, and its explanation.
        hint: A hint for any other order.
    """

    text: str
    items: tuple[str, ...]
    why: str
    misconceptions: tuple[tuple[tuple[int, ...], str], ...]
    hint: str
    kind = "order"
    nothing = ""  # there is always an order

    @property
    def identity(self) -> tuple:
        """What identifies a stored answer: everything except the explanations."""
        return self.text, self.items

    @property
    def start(self) -> tuple[int, ...]:
        """The initial order, the same in every build: no item is at its right place."""
        right = range(len(self.items))
        for salt in itertools.count():
            mixed = sorted(right, key=lambda i: digest(salt, self.text, self.items[i]))
            if all(i != index for i, index in zip(mixed, right, strict=True)):
                return tuple(mixed)

    def judge(self, answer: Sequence[int]) -> tuple[bool, str] | None:
        """Return whether this order of indices is right, and why."""
        if tuple(answer) == tuple(range(len(self.items))):
            return True, self.why
        return False, dict(self.misconceptions).get(tuple(answer), self.hint)

    def html(self) -> str:
        """Return the shuffled items, and the answer that unfolds, as HTML."""
        mixed = "".join(f'<li data-place="{i}">{markup(self.items[i])}</li>' for i in self.start)
        wrong = "".join(
            f"<p><b>{markup(self.named(order))}?</b>"
            f' <span data-order="{" ".join(map(str, order))}">{markup(why)}</span></p>'
            for order, why in self.misconceptions
        )
        return (
            f'<ul class="ln-items">{mixed}</ul>'
            '<details class="ln-answer"><summary>Answer</summary>'
            f"<p><b>{markup(self.named(range(len(self.items))))}.</b>"
            f" <span data-correct>{markup(self.why)}</span></p>{wrong}"
            f"<p><b>Another order?</b> <span data-hint>{markup(self.hint)}</span></p>"
            "</details>"
        )

    def named(self, order: Sequence[int]) -> str:
        """Return the items in this order, joined by arrows."""
        return ARROW.join(self.items[i] for i in order)

    def choices(self) -> list[str]:
        """Return the possible answers as lines of text."""
        return [f"- {self.items[i]}" for i in self.start]

    def answered(self) -> list[str]:
        """Return lines that explain the right answer, then the wrong ones."""
        wrong = [f"Not {self.named(order)}: {why}" for order, why in self.misconceptions]
        right = f"{self.named(range(len(self.items)))}. {self.why}"
        return [right, *wrong, f"Another order: {self.hint}"]

    def control(self) -> tuple[list, Callable[[], Any]]:
        """Build live widgets, and a function that reads the answer from them."""
        import ipywidgets as widgets

        listed = widgets.Select(
            options=[(plain_text(self.items[i]), i) for i in self.start],
            rows=len(self.items),
            layout=widgets.Layout(width="min(100%, 36rem)"),
        )

        def move(step):
            options, index = list(listed.options), listed.index
            if 0 <= index + step < len(options):
                options.insert(index + step, options.pop(index))
                listed.options = options  # which selects the first
                listed.index = index + step

        up = widgets.Button(description="Move up", icon="arrow-up")
        down = widgets.Button(description="Move down", icon="arrow-down")
        up.on_click(lambda _: move(-1))
        down.on_click(lambda _: move(1))
        return [listed, widgets.HBox([up, down])], lambda: [i for _, i in listed.options]


def near(x: float, value: float, atol: float) -> bool:
    """Return whether ``x`` is within ``atol`` of ``value``, except for rounding."""
    return abs(x - value) <= atol * (1 + 1e-9) + 1e-12 * abs(value)


def digest(*parts: Any) -> str:
    """Return a hash that is the same in every build."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
