"""Check yourself: questions that answer back, in a notebook and in the built book.

A chapter hands over :class:`Quiz` with :func:`choose`, :func:`number` and :func:`order`. Each wrong
answer has an explanation of its own, so that it can name the misconception behind it. With a kernel
the quiz is a widget; under ``LNLIB_STATIC=1`` it is HTML that reads as text and that
``book/_static/quiz.js`` makes into forms; as text it is the questions, then the answers.
"""

from __future__ import annotations

import hashlib
import html
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lnbook.show import colors
from lnbook.show.explore import bundle

__all__ = ["Choose", "Number", "Order", "Quiz", "choose", "number", "order"]

RIGHT, NOT_YET = "✓ Right.", "✗ Not yet."
LINE = 88  # characters of the text form
ARROW = " → "


@dataclass(frozen=True)
class Choose:
    """A question with options; :func:`choose` makes it.

    Args:
        text: The question.
        options: Pairs of option and explanation.
        right: Index of the right option.
    """

    text: str
    options: tuple[tuple[str, str], ...]
    right: int
    kind = "choose"
    nothing = "Choose an option first."

    @property
    def identity(self) -> tuple:
        """What a stored answer belongs to: all but the explanations."""
        return self.text, [option for option, _ in self.options], self.right

    def judge(self, answer: int | None) -> tuple[bool, str] | None:
        """Say whether the option of this index is right, and why; ``None`` if none is chosen."""
        return None if answer is None else (answer == self.right, self.options[answer][1])

    def html(self) -> str:
        """Write options that open."""
        return "".join(
            f'<details class="ln-answer"><summary>{markup(option)}</summary><p>'
            f"<b>{RIGHT if i == self.right else NOT_YET}</b>"
            f" <span{' data-right' * (i == self.right)}>{markup(why)}</span></p></details>"
            for i, (option, why) in enumerate(self.options)
        )

    def asked(self) -> list[str]:
        """Say in lines what can be answered."""
        return [f"{chr(97 + i)}. {option}" for i, (option, _) in enumerate(self.options)]

    def answered(self) -> list[str]:
        """Say in lines what is right, then what is not."""
        lines = [f"{a}: {why}" for a, (_, why) in zip(self.asked(), self.options, strict=True)]
        right = lines.pop(self.right)
        return [right, *(f"Not {line}" for line in lines)]

    def control(self) -> tuple[list, Callable[[], Any]]:
        """Build live widgets, and a function that reads the answer from them."""
        import ipywidgets as widgets

        radio = widgets.RadioButtons(
            options=[(bare(option), i) for i, (option, _) in enumerate(self.options)],
            index=None,
            layout=widgets.Layout(width="auto"),
        )
        return [radio], lambda: radio.value


@dataclass(frozen=True)
class Number:
    """A question for a number; :func:`number` makes it.

    Args:
        text: The question.
        answer: The number.
        within: Absolute tolerance.
        why: Explains the right answer.
        wrong: Pairs of a wrong answer and its explanation.
        otherwise: A hint for any other answer.
        unit: Said beside the answer.
    """

    text: str
    answer: float
    within: float
    why: str
    wrong: tuple[tuple[float, str], ...]
    otherwise: str
    unit: str
    kind = "number"
    nothing = "Write a number, such as 0.25, 1/4, −3 or 2e-3."

    @property
    def identity(self) -> tuple:
        """What a stored answer belongs to: all but the explanations."""
        return self.text, self.answer, self.within, self.unit

    def judge(self, answer: str) -> tuple[bool, str] | None:
        """Say whether this text is the right number, and why; ``None`` if it is no number."""
        found = readings(answer, self.unit)
        if not found:
            return None
        if any(near(x, self.answer, self.within) for x in found):
            return True, self.why
        known = [
            (abs(x - value), why)
            for value, why in self.wrong
            for x in found
            if near(x, value, self.within)
        ]
        return False, min(known, key=lambda pair: pair[0])[1] if known else self.otherwise

    def html(self) -> str:
        """Write the answer, which opens."""
        wrong = "".join(
            f'<p><b>{write(value)}?</b> <span data-value="{value!r}">{markup(why)}</span></p>'
            for value, why in self.wrong
        )
        return (
            '<details class="ln-answer"><summary>Answer</summary>'
            f"<p><b>{html.escape(self.said)}.</b> <span data-right>{markup(self.why)}</span></p>"
            f"{wrong}<p><b>Another number?</b> <span data-other>{markup(self.otherwise)}</span></p>"
            "</details>"
        )

    @property
    def said(self) -> str:
        """The answer as a text."""
        unit = f" {self.unit}" if self.unit else ""
        give = f" (give or take {write(self.within)})" if self.within else ""
        return write(self.answer) + unit + give

    def asked(self) -> list[str]:
        """Say in lines what can be answered."""
        return [f"(a number, in {self.unit})" if self.unit else "(a number)"]

    def answered(self) -> list[str]:
        """Say in lines what is right, then what is not."""
        wrong = [f"Not {write(value)}: {why}" for value, why in self.wrong]
        return [f"{self.said}. {self.why}", *wrong, f"Another number: {self.otherwise}"]

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
    """Things to be put in order; :func:`order` makes it.

    Args:
        text: The question.
        items: In the right order.
        why: Explains it.
        wrong: Pairs of a wrong order, as indices into ``items``, and its explanation.
        otherwise: A hint for any other order.
    """

    text: str
    items: tuple[str, ...]
    why: str
    wrong: tuple[tuple[tuple[int, ...], str], ...]
    otherwise: str
    kind = "order"
    nothing = ""  # there is always an order

    @property
    def identity(self) -> tuple:
        """What a stored answer belongs to: all but the explanations."""
        return self.text, self.items

    @property
    def start(self) -> tuple[int, ...]:
        """The order at the start, the same at every build: no item has its right place."""
        right = range(len(self.items))
        for salt in itertools.count():
            mixed = sorted(right, key=lambda i: digest(salt, self.text, self.items[i]))
            if all(i != place for i, place in zip(mixed, right, strict=True)):
                return tuple(mixed)

    def judge(self, answer: Sequence[int]) -> tuple[bool, str] | None:
        """Say whether this order of indices is right, and why."""
        if tuple(answer) == tuple(range(len(self.items))):
            return True, self.why
        return False, dict(self.wrong).get(tuple(answer), self.otherwise)

    def html(self) -> str:
        """Write the items mixed, and the answer, which opens."""
        mixed = "".join(f'<li data-place="{i}">{markup(self.items[i])}</li>' for i in self.start)
        wrong = "".join(
            f"<p><b>{markup(self.named(places))}?</b>"
            f' <span data-order="{" ".join(map(str, places))}">{markup(why)}</span></p>'
            for places, why in self.wrong
        )
        return (
            f'<ul class="ln-items">{mixed}</ul>'
            '<details class="ln-answer"><summary>Answer</summary>'
            f"<p><b>{markup(self.named(range(len(self.items))))}.</b>"
            f" <span data-right>{markup(self.why)}</span></p>{wrong}"
            f"<p><b>Another order?</b> <span data-other>{markup(self.otherwise)}</span></p>"
            "</details>"
        )

    def named(self, places: Sequence[int]) -> str:
        """Say an order in words."""
        return ARROW.join(self.items[i] for i in places)

    def asked(self) -> list[str]:
        """Say in lines what can be answered."""
        return [f"- {self.items[i]}" for i in self.start]

    def answered(self) -> list[str]:
        """Say in lines what is right, then what is not."""
        wrong = [f"Not {self.named(places)}: {why}" for places, why in self.wrong]
        right = f"{self.named(range(len(self.items)))}. {self.why}"
        return [right, *wrong, f"Another order: {self.otherwise}"]

    def control(self) -> tuple[list, Callable[[], Any]]:
        """Build live widgets, and a function that reads the answer from them."""
        import ipywidgets as widgets

        listed = widgets.Select(
            options=[(bare(self.items[i]), i) for i in self.start],
            rows=len(self.items),
            layout=widgets.Layout(width="min(100%, 36rem)"),
        )

        def move(step):
            options, at = list(listed.options), listed.index
            if 0 <= at + step < len(options):
                options.insert(at + step, options.pop(at))
                listed.options = options  # which selects the first
                listed.index = at + step

        up = widgets.Button(description="Move up", icon="arrow-up")
        down = widgets.Button(description="Move down", icon="arrow-down")
        up.on_click(lambda _: move(-1))
        down.on_click(lambda _: move(1))
        return [listed, widgets.HBox([up, down])], lambda: [i for _, i in listed.options]


def choose(text: str, options: Mapping[str, str], *, right: str) -> Choose:
    """Ask for one of several options.

    Args:
        text: The question. Here and in every explanation, `` `code` `` and ``*emphasis*`` are
            marked up, and nothing else.
        options: From each option to the explanation that is shown for it: why it is right, or
            which misconception it comes from. A leading "Yes." or "No:" is dropped, for the
            verdict stands before it.
        right: The right option.

    Returns:
        The question, for :class:`Quiz`.

    Raises:
        ValueError: If a text or an explanation is empty, there are fewer than two options, or
            ``right`` is not among them.

    Example:
        >>> choose("Is 2 even?", {"Yes": "Twice 1.", "No": "It is *not* odd."}, right="Yes").right
        0
    """
    filled("choose", "text", text)
    pairs = tuple(
        (
            filled("choose", f"an option of {text!r}", option),
            explanation("choose", f"the explanation of {option!r}", why),
        )
        for option, why in options.items()
    )
    if len(pairs) < 2:
        raise ValueError(f"choose: options of {text!r} must be two or more, got {len(pairs)}.")
    if right not in options:
        raise ValueError(
            f"choose: right of {text!r} must be one of its options {tuple(options)}, got {right!r}."
        )
    return Choose(text, pairs, list(options).index(right))


def number(
    text: str,
    answer: float,
    *,
    why: str,
    otherwise: str,
    within: float = 0.0,
    wrong: Mapping[float, str] | None = None,
    unit: str = "",
) -> Number:
    """Ask for a number.

    Args:
        text: The question.
        answer: The number.
        why: Explains it.
        otherwise: A hint for any answer that is neither right nor in ``wrong``.
        within: Absolute tolerance, of the answer and of each wrong one.
        wrong: From a wrong number to the misconception it comes from.
        unit: Said beside the answer; the reader may leave it out.

    Returns:
        The question, for :class:`Quiz`.

    Raises:
        ValueError: If a text or an explanation is empty, a number is not finite, ``within`` is
            negative, or a wrong number would count as right.

    Example:
        >>> half = number("Half of 1?", 0.5, why="1 / 2.", otherwise="Divide by 2.")
        >>> half.judge("1/2"), half.judge("0,5"), half.judge("a lot")
        ((True, '1 / 2.'), (True, '1 / 2.'), None)
    """
    filled("number", "text", text)
    answer, within = finite("answer", text, answer), finite("within", text, within)
    if within < 0:
        raise ValueError(f"number: within of {text!r} must not be negative, got {within:g}.")
    pairs = tuple(
        (finite("wrong", text, value), explanation("number", f"the explanation of {value!r}", why_))
        for value, why_ in (wrong or {}).items()
    )
    for value, _ in pairs:
        if near(value, answer, within):
            raise ValueError(
                f"number: wrong of {text!r} has {value:g}, which counts as right: the answer is "
                f"{answer:g}, within {within:g}."
            )
    why = explanation("number", f"why of {text!r}", why)
    otherwise = explanation("number", f"otherwise of {text!r}", otherwise)
    return Number(text, answer, within, why, pairs, otherwise, unit)


def order(
    text: str,
    items: Sequence[str],
    *,
    why: str,
    otherwise: str,
    wrong: Mapping[Sequence[str], str] | None = None,
) -> Order:
    """Ask for things to be put in order.

    Args:
        text: The question; it says which end is first.
        items: In the right order. The reader gets them mixed, the same way at every build.
        why: Explains the order.
        otherwise: A hint for any order that is neither right nor in ``wrong``.
        wrong: From a tuple of all items in a wrong order to the misconception it comes from.

    Returns:
        The question, for :class:`Quiz`.

    Raises:
        ValueError: If a text or an explanation is empty, there are fewer than two items or one
            occurs twice, or an order in ``wrong`` is the right one or does not have every item.

    Example:
        >>> order("Smallest first.", ["1", "2"], why="1 < 2.", otherwise="Count.").start
        (1, 0)
    """
    filled("order", "text", text)
    items = tuple(filled("order", f"an item of {text!r}", item) for item in items)
    if len(items) < 2 or len(set(items)) < len(items):
        raise ValueError(f"order: items of {text!r} must be two or more, all different: {items}.")
    pairs = []
    for given, what in (wrong or {}).items():
        if isinstance(given, str) or sorted(given) != sorted(items) or tuple(given) == items:
            raise ValueError(
                f"order: wrong of {text!r} must have every item, as a tuple in another order than "
                f"the right one {items}, got {given!r}."
            )
        places = tuple(items.index(item) for item in given)
        pairs.append((places, explanation("order", f"the explanation of {given!r}", what)))
    why = explanation("order", f"why of {text!r}", why)
    otherwise = explanation("order", f"otherwise of {text!r}", otherwise)
    return Order(text, items, why, tuple(pairs), otherwise)


class Quiz:
    """Questions a reader can answer, the same in a notebook and in the built book.

    Make it the last line of a cell tagged ``hide-input``. Answers are judged where they are given,
    as often as the reader likes; the built book keeps them in the reader's browser, nowhere else.

    Args:
        *questions: Made by :func:`choose`, :func:`number` and :func:`order`.
        title: Heads the card. ``None``: the heading of the section does.

    Raises:
        ValueError: If there are no questions, or two with the same text.
        TypeError: If something else is given.

    Example:
        >>> Quiz(choose("Is 2 even?", {"Yes": "Twice 1.", "No": "It is."}, right="Yes"))
        Check yourself (1 question)
        <BLANKLINE>
        1. Is 2 even?
           a. Yes
           b. No
        <BLANKLINE>
        Answers
        <BLANKLINE>
        1. a. Yes: Twice 1.
           Not b. No: It is.
    """

    def __init__(self, *questions: Choose | Number | Order, title: str | None = None):
        if not questions:
            raise ValueError("Quiz: questions must not be empty.")
        for question in questions:
            if not isinstance(question, Choose | Number | Order):
                raise TypeError(
                    "Quiz: a question must be made by choose, number or order, got "
                    f"{type(question).__name__} (the title is a keyword)."
                )
        texts = [question.text for question in questions]
        twice = {text for text in texts if texts.count(text) > 1}
        if twice:
            raise ValueError(f"Quiz: questions must differ, got twice: {sorted(twice)}.")
        self.questions, self.title = questions, title

    def to_html(self) -> str:
        """Write the quiz as HTML that is complete as it stands; ``quiz.js`` makes forms of it."""
        title = self.title or "Check yourself"
        return (
            f'<div class="ln-quiz" role="group" aria-label="{html.escape(title)}">'
            + (f'<p class="ln-title">{markup(self.title)}</p>' if self.title else "")
            + '<p class="ln-how">Think of your answer, then open it.</p>'
            + f'<ol class="ln-questions" role="list">{"".join(map(question_html, self.questions))}'
            "</ol></div>"
        )

    def widget(self) -> Any:
        """Build the live widget: for each question its controls, a button, the explanation."""
        import ipywidgets as widgets

        first: dict[int, bool] = {}  # of the questions answered: whether at the first try
        score = widgets.HTML()

        def question(i, asked):
            controls, read = asked.control()
            check = widgets.Button(description="Check", tooltip=f"Check the answer to question {i}")
            said = widgets.HTML()

            def judge(_):
                answer = read()
                verdict = asked.judge(answer)
                if verdict is None:
                    said.value = feedback(None, asked.nothing)
                    return
                first.setdefault(i, verdict[0])
                said.value = feedback(*verdict)
                score.value = scored(first, len(self.questions))

            check.on_click(judge)
            head = widgets.HTML(f"<p><b>{i}.</b> {markup(asked.text)}</p>")
            return widgets.VBox([head, *controls, check, said])

        title = f"<b>{markup(self.title)}</b>" if self.title else ""
        head = widgets.HTML(f"<style>{colors.css()}</style>{title}")
        rows = [question(i, asked) for i, asked in enumerate(self.questions, 1)]
        score.value = scored(first, len(rows))
        box = widgets.VBox([head, *rows, score])
        box.add_class("ln-quiz-live")
        return box

    def __repr__(self) -> str:
        """Return the questions, then the answers."""
        count = len(self.questions)
        lines = [f"{self.title or 'Check yourself'} ({count} question{'s' * (count > 1)})", ""]
        for i, question in enumerate(self.questions, 1):
            lines += paragraph(f"{i}. ", [question.text, *question.asked()])
        lines += ["", "Answers", ""]
        for i, question in enumerate(self.questions, 1):
            lines += paragraph(f"{i}. ", question.answered())
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self, missing="\n\n(To answer here: pip install ipywidgets)")


# Texts.


def markup(text: str) -> str:
    """Escape a text, with `` `code` `` and ``*emphasis*`` marked up.

    Example:
        >>> markup("*Not* `x * y < 1`, but 2*3*4 & more")
        '<em>Not</em> <code>x * y &lt; 1</code>, but 2*3*4 &amp; more'
    """
    parts = re.split(r"`([^`]+)`", text)
    parts[1::2] = [f"<code>{html.escape(code)}</code>" for code in parts[1::2]]
    parts[0::2] = [EMPHASIS.sub(r"<em>\1</em>", html.escape(part)) for part in parts[0::2]]
    return "".join(parts)


# A star within a word is a product.
EMPHASIS = re.compile(r"(?<![\w*])\*(?![\s*])([^*]+?)(?<!\s)\*(?![\w*])")


def bare(text: str) -> str:
    """Take the marks away, where a widget shows text alone."""
    parts = re.split(r"`([^`]+)`", text)
    parts[0::2] = [EMPHASIS.sub(r"\1", part) for part in parts[0::2]]
    return "".join(parts)


def paragraph(head: str, lines: list[str]) -> list[str]:
    """Wrap lines, the first after ``head``, the others below it."""
    wrapped = []
    for i, line in enumerate(lines):
        first = " " * len(head) if i else head
        rest = " " * (len(head) + 2 * (i > 0))
        wrapped += textwrap.wrap(
            line,
            LINE,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return wrapped


def write(value: float) -> str:
    """Write a number as prose does."""
    return f"{value:,.10g}".replace("-", "−")


def question_html(question: Choose | Number | Order) -> str:
    """Write a question; ``data-key`` is what a stored answer belongs to."""
    data = ""
    if isinstance(question, Number):
        data = f' data-answer="{question.answer!r}" data-within="{question.within!r}"'
        data += f' data-unit="{html.escape(question.unit)}"' if question.unit else ""
    key = digest(question.kind, *question.identity)[:8]
    return (
        f'<li class="ln-question" data-kind="{question.kind}" data-key="{key}"{data}>'
        f'<p class="ln-ask">{markup(question.text)}</p>{question.html()}</li>'
    )


def digest(*parts: Any) -> str:
    """Hash, the same at every build."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def feedback(right: bool | None, why: str) -> str:
    """Write what the live widget says; ``None`` is no verdict."""
    verdict = {True: f"<b>{RIGHT}</b> ", False: f"<b>{NOT_YET}</b> ", None: ""}[right]
    color = {True: "holds", False: "fails", None: "gray"}[right]
    return (
        f'<p role="status" aria-live="polite" style="border-left: 4px solid var(--ln-{color});'
        f' padding-left: 0.6em; line-height: 1.5">{verdict}{markup(why)}</p>'
    )


def scored(first: Mapping[int, bool], count: int) -> str:
    """Say how far the reader is."""
    return f"{len(first)} of {count} answered, {sum(first.values())} right at the first try."


# Numbers as people type them; quiz.js does the same, and a test compares the two.

PLAIN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.I)
GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3}|[ \u00a0\u2009\u202f][0-9]{3})+(\.[0-9]*)?")
COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(e[+-]?[0-9]+)?", re.I)


def readings(text: str, unit: str = "") -> list[float]:
    """Read a number as people type it.

    Args:
        text: Such as "1,155", "−1.5", "1/4", "2e-3".
        unit: May stand behind it.

    Returns:
        None if it is no number; two for "1,155", where the comma may group or be the point.

    Example:
        >>> readings("1,155"), readings("−1/4 s", "s"), readings("two")
        ([1155.0, 1.155], [-0.25], [])
    """
    text = re.sub("[−–]", "-", text.strip())
    if unit and text.lower().endswith(unit.lower()):
        text = text[: -len(unit)].strip()
    over, *under = (read(part.strip()) for part in text.split("/"))
    if len(under) > 1:
        return []
    if under:
        over = [x / y for x, y in itertools.product(over, under[0]) if y]
    return [x for x in over if math.isfinite(x)]


def read(text: str) -> list[float]:
    """Read a number without a fraction bar."""
    found = []
    if PLAIN.fullmatch(text):
        found.append(float(text))
    if GROUPED.fullmatch(text):
        found.append(float(re.sub(r"[,\s]", "", text)))
    if COMMA.fullmatch(text):
        found.append(float(text.replace(",", ".")))
    return found


def near(x: float, value: float, within: float) -> bool:
    """Compare, with room for rounding at the edge."""
    return abs(x - value) <= within * (1 + 1e-9) + 1e-12 * abs(value)


# Refusals.


def filled(owner: str, what: str, text: Any) -> str:
    """Return a text that says something."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{owner}: {what} must be a text that is not empty, got {text!r}.")
    return text


def explanation(owner: str, what: str, text: Any) -> str:
    """Return an explanation without a verdict at its start."""
    text = filled(owner, what, text).strip()
    rest = re.sub(r"^(yes|no|right|correct|wrong|not yet)[.:!]\s+", "", text, flags=re.I)
    return rest[0].upper() + rest[1:] if rest != text and re.match("[a-z]{2}", rest) else rest


def finite(name: str, text: str, value: Any) -> float:
    """Return a float that is a number."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"number: {name} of {text!r} must be a finite number.")
    return value
