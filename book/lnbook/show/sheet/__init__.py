"""A table of numbers into which a reader types, normalized as they type.

:class:`Sheet` lives as an explorer does: widgets computed by :mod:`lnlib.norm` where there is a
kernel; HTML in the built book, where ``book/_static/sheet.js`` makes a form of it. Typed numbers
cannot be computed beforehand, so this is the one place where the page has arithmetic of its own:
one function of 30 lines, compared with :mod:`lnlib.norm` in a browser by the tests. The words, and
the rules for reading and writing numbers, are the same here and there.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from lnbook.show import _live, _page, colors
from lnbook.show.explore import bundle
from lnlib import norm as norms

__all__ = ["Sheet"]

EXAMPLES, FEATURES = 16, 8  # the most of each
NORMS = (
    "layer norm",
    "batch norm",
    "batch norm at test time",
    "RMS norm",
    "group norm",
    "instance norm",
    "none",
)
TEST_TIME = NORMS[2]
EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3, "1e-1": 1e-1}
TINY = 1e-145  # squares of smaller differences lose digits in float64
_ids = itertools.count(1)

# All that the page says, once: `sheet.js` fills in the same places.
WORDS = {
    "about": {
        "layer norm": "A row has a mean μ and a deviation σ = √(variance + eps) of its own.",
        "batch norm": "A column has a mean μ and a deviation σ = √(variance + eps) of its own.",
        TEST_TIME: "μ and σ = √(variance + eps) are running averages kept from training; nothing "
        "in this table changes them.",
        "RMS norm": "A row has a root mean square, RMS = √(mean of squares + eps); no mean is "
        "subtracted, and there is no bias.",
        "group norm": "A group of neighboring features in a row has a mean μ and a deviation "
        "σ = √(variance + eps) of its own, written below it.",
        "instance norm": "Each number has a mean μ and a deviation σ = √(variance + eps) of its "
        "own, written below it; on images it would have one for each channel.",
        "none": "No mean and no deviation: y = gain × x + bias.",
    },
    "shares": {
        "layer norm": "{Cell} shares its mean {mean} with {others} of example {i}; {means} in all.",
        "batch norm": "{Cell} shares its mean {mean} with the same feature of {others}; {means} in "
        "all.",
        TEST_TIME: "{Cell} has the running mean {mean} of its feature, which no example of this "
        "batch changes; {means} in all.",
        "RMS norm": "{Cell} shares its root mean square {std} with {others} of example {i}; {means}"
        " in all.",
        "group norm": "{Cell} shares its mean {mean} with {others} of group {g} in example {i}; "
        "{means} in all.",
        "none": "{Cell} stays {x} but for gain and bias; nothing is shared.",
        "alone": "{Cell} has its mean {mean} to itself; {means} in all.",
        "alone RMS": "{Cell} has its root mean square {std} to itself; {means} in all.",
    },
    "others": {
        "feature": ["the other feature", "the {n} other features"],
        "example": ["the other example", "the {n} other examples"],
    },
    "means": {
        "mean": ["1 mean", "{n} means"],
        "RMS norm": ["1 root mean square", "{n} root mean squares"],
    },
    "work": {
        "norm": "y = gain × (x − μ) / σ + bias = {gain} × ({first} − {mean}) / {std} + {bias} = "
        "{y}",
        "RMS norm": "y = gain × x / RMS = {gain} × {x} / {std} = {y}",
        "none": "y = gain × x + bias = {gain} × {x} + {bias} = {y}",
    },
    "bad": {
        "text": "{Cell} holds “{text}”, where a number such as 1.5, −2, 1e3 or 1/3 is expected.",
        "empty": "{Cell} is empty, where a number such as 1.5, −2, 1e3 or 1/3 is expected.",
        "huge": "{Cell} holds “{text}”, beyond the largest number of a computer, 1.8e308.",
        "more": ["One more cell holds no number.", "{n} more cells hold no number."],
        "then": "Until then, outputs that need it show “?”.",
    },
    "few": {
        "layer norm": ["There is one feature", "There are two features"],
        "batch norm": ["The batch has one example", "The batch has two examples"],
        "RMS norm": ["There is one feature", ""],
        "group norm": ["A group is one feature", "A group is two features"],
        "instance norm": ["In a table of examples by features an instance is one number", ""],
    },
    "degenerate": {
        "one": "{Why}: a single number is its own mean, so x − μ is 0 and every output is the "
        "bias.",
        "one, eps 0": "{Why}: a single number is its own mean, so x − μ and σ are both 0, and 0/0 "
        "is no number.",
        "one RMS": "{Why}: divided by its own size, only the sign is left of a number, but for eps "
        "and gain.",
        "two": "{Why}: whatever two different numbers are, they become −1 and 1, but for eps, gain "
        "and bias.",
        "equal": "The numbers of {company} are equal: x − μ is 0 and the output is the bias.",
        "equal, eps 0": "The numbers of {company} are equal: x − μ and σ are both 0, and 0/0 is no "
        "number.",
        "equal RMS": "The numbers of {company} are all 0, so is their root mean square, and 0/0 is "
        "no number.",
        "too big": "“too big”: the number, or a square on the way to it, is beyond 1.8e308, the "
        "largest that float64 holds.",
        "too small": "“too small”: the squares of the differences are below 1e-290, where float64 "
        "loses its digits.",
        "no running": "{features} no running averages from training: mean 0 and variance 1 stand "
        "in, with which training starts.",
    },
    "company": {
        "layer norm": "example {i}",
        "batch norm": "{feature}",
        "RMS norm": "example {i}",
        "group norm": "group {g} of example {i}",
        "and": ["{company} (and of 1 more)", "{company} (and of {n} more)"],
        "has": ["{feature} has", "{feature} and those after it have"],
    },
    "cell": {
        "x": "example {i}, {feature}",
        "gain": "the gain of {feature}",
        "bias": "the bias of {feature}",
    },
    "pasted": "Pasted {rows} by {columns} numbers, read with {separator} between them.",
    "left out": "What is beyond 16 examples or 8 features was left out.",
    "nothing": "There is no number to paste.",
}


# Reading and writing numbers, as `sheet.js` does.


def _number(text: str) -> float:
    """Read what a reader may type for a number; NaN if it is none.

    >>> [_number(t) for t in ("1,5", "−2", "1e3", "1/4", "1e999", "two")]
    [1.5, -2.0, 1000.0, 0.25, inf, nan]
    """

    def part(word):
        word = word.strip()
        whole = re.fullmatch(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?", word)
        return float(word.replace(",", ".")) if whole else float("nan")

    parts = [part(word) for word in re.sub("[−–]", "-", text).split("/")]
    if len(parts) == 1:
        return parts[0]
    return parts[0] / parts[1] if len(parts) == 2 and parts[1] else float("nan")


def _block(text: str) -> tuple[list[list[str]], str]:
    r"""Take a pasted table apart: rows of words, and what stood between them.

    Brackets mark the rows of a NumPy print, which may run over several lines. A comma is a
    decimal comma next to tabs or semicolons, and next to spaces alone.

    >>> _block("[[ 2.47 -2.92]\n [10.4  10.66]]")
    ([['2.47', '-2.92'], ['10.4', '10.66']], 'spaces')
    >>> _block("1,5;2")[0], _block("1,5 2")[0], _block("1.5,2")[0]
    ([['1,5', '2']], [['1,5', '2']], [['1.5', '2']])
    """
    framed = "[" in text
    lines = re.findall(r"\[([^\[\]]*)\]", text) if framed else re.split(r"\r?\n|\r", text)
    lines = [re.sub(r"[\s,;]+$", "", re.sub(r"[\r\n]+", " ", line)) for line in lines]
    lines = [line for line in lines if line.strip()]
    everything = "\n".join(lines)
    bare = [line.strip() for line in lines]
    if "\t" in everything and not framed:
        separator, between = "tabs", r"\t"
    elif ";" in everything:
        separator, between = "semicolons", ";"
    elif "," in everything and (
        framed
        or "." in everything
        or re.search(r",[ \t]", everything)
        or not any(re.search(r"\s", line) for line in bare)
    ):
        separator, between = "commas", ","
    else:
        separator, between, lines = "spaces", r"\s+", bare
    return [[word.strip() for word in re.split(between, line)] for line in lines], separator


def _fixed(v: float, places: int) -> str:
    """Write with so many places, ties away from zero as in JavaScript, and a true minus."""
    size = f"{Decimal(abs(v)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
    return f"−{size}" if v < 0 and size.strip("0.") else size


def _power(v: float, digits: int) -> str:
    """Write with a power of ten, so many digits before the e."""
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(v)
    return f"{rounded:.{digits - 1}e}".replace("e+", "e").replace("-", "−")


def _shown(v: float) -> str:
    """Write a number of a column, so that points stand below points.

    >>> [_shown(v) for v in (-1.0625, 0.0, 42.42, 123456.0)]
    ['−1.063', '0.000', '42.42', '1.23e5']
    """
    size = abs(v)
    if size >= 1e5:
        return _power(v, 3)
    return _fixed(v, 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0)


def _figure(v: float, digits: int = 4) -> str:
    """Write a number of a sentence, with so many digits.

    >>> [_figure(v) for v in (16.3067, -0.00316228, 24.0, 0.0, float("nan"))]
    ['16.31', '−0.003162', '24', '0', '?']
    """
    if not np.isfinite(v):
        return "?" if np.isnan(v) else "−∞" if v < 0 else "∞"
    if v == 0:
        return "0"
    exponent = int(_power(abs(v), digits).replace("−", "-").split("e")[1])
    if not -4 <= exponent < 6:
        head, tail = _power(v, digits).split("e")
        return f"{head.rstrip('0').rstrip('.')}e{tail}"
    text = _fixed(v, max(0, digits - 1 - exponent))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(v: float) -> str:
    """Write a number as it stands in a cell: all its digits, none to spare."""
    return repr(float(v)).removesuffix(".0")


# What is computed.


def _companies(name: str, shape: tuple[int, int], groups: int) -> np.ndarray:
    """Number, for each cell, the statistic it uses; equal numbers are one company.

    >>> _companies("group norm", (2, 4), 2)
    array([[0, 0, 1, 1],
           [2, 2, 3, 3]])
    """
    i, j = np.indices(shape)
    if name in ("layer norm", "RMS norm"):
        return i
    if name == "batch norm":
        return j
    if name == "group norm":
        return i * groups + j // (shape[1] // groups)
    return i * shape[1] + j


@dataclass(frozen=True)
class State:
    """What the reader has set.

    Args:
        x: Rows of texts as typed.
        gain: A text for each feature.
        bias: A text for each feature.
        norm: One of ``NORMS``.
        groups: A divisor of the number of features.
        eps: In squared units of ``x``.
        cell: The chosen cell, counted from 0.
    """

    x: tuple[tuple[str, ...], ...]
    gain: tuple[str, ...]
    bias: tuple[str, ...]
    norm: str
    groups: int
    eps: float
    cell: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and features."""
        return len(self.x), len(self.x[0])


@dataclass(frozen=True)
class Reading:
    """What a state comes to.

    Args:
        x: The numbers, NaN where the text is none; shape ``(B, F)`` as the next four.
        y: The output, NaN where ``note`` says why.
        mean: What is subtracted from each cell.
        std: What each cell is divided by.
        note: ``""``, ``"?"``, ``"0/0"``, ``"too big"`` or ``"too small"``.
        text: The sentence about the chosen cell.
        work: The formula with its numbers, or nothing.
        warning: Sentences, or nothing.
    """

    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    note: np.ndarray
    text: str
    work: str
    warning: str


class Sheet:
    """A table into which the reader types, and its normalized form beside it.

    Args:
        values: What it holds at the start, shape ``(B, F)``, to 16 examples by 8 features.
        title: Heads the card.
        running: ``(mean, var)`` kept from training, each of shape ``(F,)``. ``None`` leaves batch
            norm at test time out of the choice.
        start: The norm at the start.
        groups: Of group norm, at the start. If it does not divide the features, the next smaller
            number that does is taken.
        columns: A short name for each feature. ``None`` counts them.
        alt: What it is about, for those who do not see it.

    Raises:
        ValueError: If ``values`` has another shape or holds NaN or infinity, if ``running`` or
            ``columns`` do not fit it, or if there is no such norm.

    Example:
        >>> Sheet([[1.0, 2.0, 3.0], [20.0, 10.0, 30.0]], title="Two by three")
        Two by three (2 examples × 3 features)
          Norm: layer norm | batch norm | RMS norm | group norm | instance norm | none
            (start: layer norm)
          eps: 0 | 1e-5 | 1e-3 | 1e-1 (start: 1e-5)
        input x   F1  F2  F3  mean μ  deviation σ
        E1         1   2   3       2       0.8165
        E2        20  10  30      20        8.165
        output y     F1      F2     F3
        E1       −1.225   0.000  1.225
        E2        0.000  −1.225  1.225
        Example 2, feature 3 shares its mean 20 with the 2 other features of example 2; 2 means in
        all.
    """

    def __init__(
        self,
        values: Any,
        *,
        title: str,
        running: tuple[Any, Any] | None = None,
        start: str = "layer norm",
        groups: int = 2,
        columns: Sequence[str] | None = None,
        alt: str | None = None,
    ):
        values = _floats("values", values)
        if values.ndim != 2 or not (
            1 <= values.shape[0] <= EXAMPLES and 1 <= values.shape[1] <= FEATURES
        ):
            raise ValueError(
                f"Sheet: values must be of shape (examples, features), 1 to {EXAMPLES} by 1 to "
                f"{FEATURES}, got {values.shape}; values[None] makes a table of one example."
            )
        B, F = values.shape
        if running is not None:
            if not isinstance(running, tuple | list) or len(running) != 2:
                raise ValueError("Sheet: running must be a pair (mean, var), or None.")
            running = tuple(_floats("running", r) for r in running)
            for name, r in zip(("mean", "var"), running, strict=True):
                if r.shape != (F,):
                    raise ValueError(
                        f"Sheet: running {name} must be of shape ({F},), one number for each "
                        f"feature, got {r.shape}."
                    )
            if not (running[1] > 0).all():
                raise ValueError(f"Sheet: running var must be positive, got {running[1]}.")
        self.norms = tuple(n for n in NORMS if n != TEST_TIME or running)
        if start not in self.norms:
            needs = "; it needs running=(mean, var)" if start == TEST_TIME else ""
            raise ValueError(f"Sheet: start must be one of {self.norms}, got {start!r}{needs}.")
        if groups < 1:
            raise ValueError(f"Sheet: groups must be 1 or more, got {groups}.")
        if columns is not None and len(columns) != F:
            raise ValueError(f"Sheet: columns must be {F} names, got {len(columns)}.")
        self.title, self.alt, self.running = title, alt, running
        self.columns = list(columns or [])
        self.start = State(
            x=tuple(tuple(map(_plain, row)) for row in values),
            gain=("1",) * F,
            bias=("0",) * F,
            norm=start,
            groups=_divisor(groups, F),
            eps=1e-5,
            cell=(min(B, 2) - 1, min(F, 3) - 1),
        )

    # What a state comes to.

    def read(self, state: State) -> Reading:
        """Compute a state with :mod:`lnlib.norm` and say what it shows.

        Args:
            state: What the reader has set.

        Returns:
            Numbers and sentences.
        """
        x = np.array([[_finite(text) for text in row] for row in state.x])
        gain, bias = (np.array([_finite(text) for text in t]) for t in (state.gain, state.bias))
        mean, std, y = self._normalize(state, x, gain, bias)
        note = _notes(state, x, gain, bias, mean, std, y)
        y = np.where(note == "", y, np.nan)
        text, work = self._say(state, x, gain, bias, mean, std, y, note)
        warning = self._warn(state, x, note)
        return Reading(x, y, mean, std, note, text, work, warning)

    def _normalize(self, state, x, gain, bias):
        name, eps = state.norm, state.eps
        of = _companies(name, x.shape, state.groups)
        mean, std = np.zeros(x.shape), np.ones(x.shape)
        with np.errstate(all="ignore"):  # what goes wrong is said in words
            if name == TEST_TIME:
                running = [r[: x.shape[1]] for r in self.running]
                missing = x.shape[1] - len(running[0])
                m, v = (
                    np.append(r, np.full(missing, f)) for r, f in zip(running, (0, 1), strict=True)
                )
                mean, std = mean + m, std * np.sqrt(v + eps)
                return mean, std, norms.batch_norm(x, gain, bias, eps=eps, mean=m, var=v)
            if name == "RMS norm":
                std = std * np.sqrt(np.square(x).mean(1, keepdims=True) + eps)
                return mean, std, norms.rms_norm(x, gain, eps=eps)
            if name == "none":
                return mean, std, gain * x + bias
            for k in range(of.max() + 1):
                m, v = norms.batch_statistics(x[of == k][:, None])
                mean[of == k], std[of == k] = m, np.sqrt(v + eps)
            y = {
                "layer norm": lambda: norms.layer_norm(x, gain, bias, eps=eps),
                "batch norm": lambda: norms.batch_norm(x, gain, bias, eps=eps),
                "group norm": lambda: norms.group_norm(x, state.groups, gain, bias, eps=eps),
                "instance norm": lambda: norms.instance_norm(x[..., None], gain, bias, eps=eps)[
                    ..., 0
                ],
            }[name]()
        return mean, std, y

    def _feature(self, j: int) -> str:
        return self.columns[j] if j < len(self.columns) else f"feature {j + 1}"

    def _head(self, j: int) -> str:
        return self.columns[j] if j < len(self.columns) else f"F{j + 1}"

    def _say(self, state, x, gain, bias, mean, std, y, note):
        """Say in a sentence what the chosen cell shares, and work its output out."""
        (B, F), (i, j), name = state.shape, state.cell, state.norm
        of = _companies(name, (B, F), state.groups)
        n = int((of == of[i, j]).sum())
        means = {TEST_TIME: F, "none": 0}.get(name, int(of.max()) + 1)
        key = name
        if n == 1 and name not in (TEST_TIME, "none"):
            key = "alone RMS" if name == "RMS norm" else "alone"
        text = WORDS["shares"][key].format(
            Cell=_upper(WORDS["cell"]["x"].format(i=i + 1, feature=self._feature(j))),
            mean=_figure(mean[i, j]),
            std=_figure(std[i, j]),
            x=_figure(x[i, j], 6),
            i=i + 1,
            g=j // (F // state.groups) + 1,
            others=_count(WORDS["others"]["example" if name == "batch norm" else "feature"], n - 1),
            means=_count(WORDS["means"].get(name, WORDS["means"]["mean"]), means),
        )
        if note[i, j] == "?":
            return text, ""
        worked = (
            WORDS["work"]
            .get(name, WORDS["work"]["norm"])
            .format(
                x=_signed(x[i, j]),
                first=_figure(x[i, j], 6),
                gain=_signed(gain[j]),
                bias=_signed(bias[j]),
                mean=_signed(mean[i, j]),
                std=_figure(std[i, j], 6),
                y=note[i, j] or _shown(y[i, j]),
            )
        )
        return text, worked

    def _warn(self, state, x, note):
        """Say what went wrong, and what is so by construction."""
        (B, F), name, words = state.shape, state.norm, WORDS["degenerate"]
        said = self._bad(state)
        of = _companies(name, (B, F), state.groups)
        n = int((of == 0).sum())
        zero = state.eps == 0
        few = WORDS["few"].get(name)
        if few and n == 1:
            key = "one RMS" if name == "RMS norm" else "one, eps 0" if zero else "one"
            said.append(words[key].format(Why=few[0]))
        elif few and n == 2 and few[1]:
            said.append(words["two"].format(Why=few[1]))
        if few and (n > 1 or name == "RMS norm") and (name != "RMS norm" or zero):
            equal = [k for k in range(of.max() + 1) if _equal(name, x[of == k])]
            if equal:
                i, j = np.argwhere(of == equal[0])[0]
                g = j // (F // state.groups) + 1
                company = WORDS["company"][name].format(i=i + 1, g=g, feature=self._feature(j))
                if len(equal) > 1:
                    company = _count(WORDS["company"]["and"], len(equal) - 1, company=company)
                key = "equal RMS" if name == "RMS norm" else "equal, eps 0" if zero else "equal"
                said.append(words[key].format(company=company))
        said += [words[key] for key in ("too big", "too small") if (note == key).any()]
        if name == TEST_TIME and (known := len(self.running[0])) < F:
            has = _count(WORDS["company"]["has"], F - known, feature=_upper(self._feature(known)))
            said.append(words["no running"].format(features=has))
        return " ".join(said)

    def _bad(self, state):
        """Name the first cell that holds no number, and count the others."""
        cells = [
            (text, WORDS["cell"]["x"].format(i=i + 1, feature=self._feature(j)))
            for i, row in enumerate(state.x)
            for j, text in enumerate(row)
        ] + [
            (text, WORDS["cell"][which].format(feature=self._feature(j)))
            for which, row in (("gain", state.gain), ("bias", state.bias))
            if which == "gain" or state.norm != "RMS norm"
            for j, text in enumerate(row)
        ]
        bad = [(text, cell) for text, cell in cells if not np.isfinite(_number(text))]
        if not bad:
            return []
        text, cell = bad[0]
        kind = "huge" if np.isinf(_number(text)) else "text" if text.strip() else "empty"
        said = [WORDS["bad"][kind].format(Cell=_upper(cell), text=text.strip())]
        if len(bad) > 1:
            said.append(_count(WORDS["bad"]["more"], len(bad) - 1))
        return [*said, WORDS["bad"]["then"]]

    # What a reader sees.

    def to_html(self) -> str:
        """Write the sheet as HTML: the start as plain tables, and what ``sheet.js`` needs."""
        uid, esc, start = f"sheet-{next(_ids)}", html.escape, self.start
        reading = self.read(start)
        data = {
            "x": start.x,
            "norm": start.norm,
            "groups": start.groups,
            "running": self.running and dict(zip(("mean", "var"), self.running, strict=True)),
            "columns": self.columns,
            "words": WORDS,
        }
        packed = _page.dumps(_page.plain(data, 17)).replace("</", "<\\/")

        def select(name, label, options, chosen):
            options = "".join(
                f'<option value="{esc(v)}"{" selected" if v == chosen else ""}>{esc(v)}</option>'
                for v in options
            )
            return (
                f'<div class="sheet-choice sheet-{name}"'
                f"{' hidden' * (name == 'groups' and start.norm != 'group norm')}>"
                f'<label for="{uid}-{name}">{label}</label>'
                f'<select id="{uid}-{name}" autocomplete="off">{options}</select></div>'
            )

        def stepper(name, many):
            return (
                f'<div class="sheet-step" role="group" aria-label="{name}s">'
                f"<span>{_upper(name)}s</span>"
                f'<button type="button" data-do="less {name}" aria-label="Remove the last {name}">'
                f'−</button><output aria-live="off">{many}</output>'
                f'<button type="button" data-do="more {name}" aria-label="Add one {name}">+'
                "</button></div>"
            )

        divisors = [str(g) for g in range(1, start.shape[1] + 1) if start.shape[1] % g == 0]
        return (
            f'<div class="ln-sheet" id="{uid}" role="group" aria-labelledby="{uid}-title"'
            + (f' aria-describedby="{uid}-alt"' if self.alt else "")
            + f'><p class="sheet-title" id="{uid}-title">{esc(self.title)}</p>'
            + (f'<p class="sheet-sr" id="{uid}-alt">{esc(self.alt)}</p>' if self.alt else "")
            + '<div class="sheet-controls">'
            + select("norm", "Norm", self.norms, start.norm)
            + select("groups", "Groups", divisors, str(start.groups))
            + select("eps", "eps", EPS, "1e-5")
            + stepper("example", start.shape[0])
            + stepper("feature", start.shape[1])
            + '<div class="sheet-buttons"><button type="button" data-do="new">New numbers</button>'
            '<button type="button" data-do="start">Start values</button></div></div>'
            f'<div class="sheet-tables">{self._tables(start, reading)}</div>'
            f'<p class="sheet-about">{esc(WORDS["about"][start.norm])}</p>'
            '<div class="sheet-said" role="status" aria-live="polite" aria-atomic="false">'
            f'<p class="sheet-text">{esc(reading.text)}</p>'
            f'<p class="sheet-warning" id="{uid}-warning"{" hidden" * (not reading.warning)}>'
            f"{esc(reading.warning)}</p>"
            '<p class="sheet-note" hidden></p></div>'
            f'<p class="sheet-work">{esc(reading.work)}</p>'
            '<details class="sheet-paste"><summary>Paste a table of your own</summary>'
            f'<label for="{uid}-paste">A line for each example; tabs, commas, semicolons or spaces '
            "between the numbers. A NumPy print will do. (Into a cell of the table, too, you can "
            "paste several numbers at once.)</label>"
            f'<textarea id="{uid}-paste" rows="4" spellcheck="false" autocomplete="off"></textarea>'
            '<button type="button" data-do="paste">Use these numbers</button></details>'
            '<noscript><p class="sheet-about">With JavaScript (and no network) every number of the '
            "tables can be typed over.</p></noscript>"
            f'<script type="application/json" class="sheet-data">{packed}</script></div>'
        )

    def _tables(self, state: State, reading: Reading) -> str:
        """Write input and output as tables to read."""
        (B, F), name = state.shape, state.norm
        of = _companies(name, (B, F), state.groups)
        chosen = of == of[state.cell]
        heads = [f'<th scope="col">{html.escape(self._head(j))}</th>' for j in range(F)]
        peak = max([2.0, *np.abs(reading.y[np.isfinite(reading.y)])])
        wide = min(12, max(4.5, *(_width(text) for row in state.x for text in row)))
        rms = name == "RMS norm"
        stats = "root mean square" if rms else "mean and deviation"
        aside = name in ("layer norm", "RMS norm")
        groups = {"group norm": state.groups, "instance norm": F}.get(name, int(aside))

        def place(i, j, more=""):
            """Say, as classes, on which sides of a cell its company ends."""
            names = [more]
            if chosen[i, j]:
                names.append("company")
                sides = {"t": (i - 1, j), "r": (i, j + 1), "b": (i + 1, j), "l": (i, j - 1)}
                for side, (k, m) in sides.items():
                    if not (0 <= k < B and 0 <= m < F and chosen[k, m]):
                        names.append(side)
            if (i, j) == state.cell:
                names.append("chosen")
            return " ".join(filter(None, names))

        def margin(i, j, span=0):  # beside a row, or below a row or a column
            beside = "" if span else " sheet-aside"
            here = " mine" * bool(chosen[i, j])
            mean, std = reading.mean[i, j], reading.std[i, j]
            few = 3 if span == 1 else 4  # a narrow column has no room for more
            lines = [("μ", "mean", _figure(mean)), ("σ", "deviation", _figure(std, few))]
            if rms:
                lines = [("RMS", "root mean square", _figure(std, few))]
            inner = "".join(
                f'<span><span aria-hidden="true">{sign}</span><span class="sheet-sr">{word}</span> '
                f"<b>{text}</b></span>"
                for sign, word, text in lines
            )
            return f'<td class="sheet-margin{beside}{here}" colspan="{span or 1}">{inner}</td>'

        def output(i, j):
            note, y = reading.note[i, j], reading.y[i, j]
            tone = ""
            if not note:
                share = 100 * abs(y) / peak
                tone = (
                    f' style="--share:{share:.1f}%;--tone:var(--ln-{"low" if y < 0 else "high"})"'
                )
            names = place(i, j, "note" if note else "")
            return f'<td class="{names}"{tone}>{note or _shown(y)}</td>'

        def row(head, cells, kind=""):
            kind = f' class="{kind}"' if kind else ""
            return f'<tr{kind}><th scope="row">{head}</th>{"".join(cells)}</tr>'

        hidden = f'<span class="sheet-sr">{stats}</span>'
        signs = f'<span class="sheet-sign" aria-hidden="true">{"RMS" if rms else "μ<br>σ"}</span>'
        x_rows, y_rows = [], []
        for i in range(B):
            cells = [
                f'<td class="{place(i, j)}">{html.escape(state.x[i][j])}</td>' for j in range(F)
            ]
            x_rows.append(row(f"E{i + 1}", cells + [margin(i, 0)] * aside))
            y_rows.append(row(f"E{i + 1}", [output(i, j) for j in range(F)]))
            if groups:
                step = F // groups
                kind = " sheet-wide" * (step > 2) + " sheet-narrow" * aside
                of_row = [margin(i, j, step) for j in range(0, F, step)]
                x_rows.append(row(signs + hidden, of_row, "sheet-stats" + kind))
                gap = f'<tr class="sheet-gap{kind}" aria-hidden="true">'
                y_rows += [f'{gap}<td colspan="{F + 1}"></td></tr>'] * (not aside)
        below = [margin(state.cell[0], j, 1) for j in range(F)]
        x_foot = [row(signs + hidden, below, "sheet-stats")] * (name in ("batch norm", TEST_TIME))
        gains = [
            row(which, [f"<td>{html.escape(t)}</td>" for t in texts], "sheet-affine")
            for which, texts in (("gain", state.gain), ("bias", state.bias))
            if which == "gain" or not rms
        ]
        corner = "<td></td>"
        side = f'<th scope="col">{hidden}</th>' * aside
        style = f' style="--wide:{wide:.3g}ch"'

        def table(kind, caption, head, body, foot):
            foot = f"<tfoot>{''.join(foot)}</tfoot>" if foot else ""
            return (
                f'<div class="sheet-scroll"><table class="sheet-{kind}"{style}><caption>{caption}'
                f"</caption><thead><tr>{corner}{head}</tr></thead><tbody>{''.join(body)}</tbody>"
                f"{foot}</table></div>"
            )

        head = "".join(heads)
        return table("x", "Input x", head + side, x_rows, x_foot) + table(
            "y", "Output y", head, y_rows, gains
        )

    def widget(self) -> Any:
        """Build the live widget: fields to type into, choices, tables, sentences."""
        return _widget(self)

    def __repr__(self) -> str:
        """Return the start as aligned text."""
        state, (B, F) = self.start, self.start.shape
        reading = self.read(state)
        rms, name = state.norm == "RMS norm", state.norm
        head = [self._head(j) for j in range(F)]
        rows = [[f"E{i + 1}", *map(_minus, state.x[i])] for i in range(B)]
        top = ["input x", *head]
        if name in ("layer norm", "RMS norm"):
            top += ["root mean square"] if rms else ["mean μ", "deviation σ"]
            for i, row in enumerate(rows):
                row += [_figure(reading.mean[i, 0])] * (not rms) + [_figure(reading.std[i, 0])]
        elif name in ("batch norm", TEST_TIME):
            rows.append(["mean μ", *map(_figure, reading.mean[0])])
            rows.append(["deviation σ", *map(_figure, reading.std[0])])
        outputs = [
            [
                f"E{i + 1}",
                *(n or _shown(y) for n, y in zip(reading.note[i], reading.y[i], strict=True)),
            ]
            for i in range(B)
        ]
        lines = [
            f"{self.title} ({_count(['1 example', '{n} examples'], B)} × "
            f"{_count(['1 feature', '{n} features'], F)})",
            f"  Norm: {' | '.join(self.norms)}",
            f"    (start: {name})",
            f"  eps: {' | '.join(EPS)} (start: 1e-5)",
            *_aligned([top, *rows], [["output y", *head], *outputs]),
            " ".join(filter(None, [reading.text, reading.warning])),
        ]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)


def _floats(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Sheet: {name} must be numbers in rows of one length; {error}.") from None
    if not np.isfinite(array).all():
        raise ValueError(f"Sheet: {name} must hold no NaN and no infinity.")
    return array


def _divisor(groups: int, features: int) -> int:
    return max(g for g in range(1, min(groups, features) + 1) if features % g == 0)


def _finite(text: str) -> float:
    value = _number(text)
    return value if np.isfinite(value) else float("nan")


def _equal(name: str, numbers: np.ndarray) -> bool:
    """Say whether ``x - mean`` is 0 throughout a company."""
    first = 0.0 if name == "RMS norm" else numbers[0]
    return bool((numbers == first).all())


def _notes(state, x, gain, bias, mean, std, y):
    """Say where there is no output, and why."""
    name = state.norm
    of = _companies(name, x.shape, state.groups)
    unknown = np.isin(of, of[np.isnan(x)]) | np.isnan(gain)
    if name != "RMS norm":
        unknown = unknown | np.isnan(bias)
    note = np.full(x.shape, "", dtype="<U9")
    if name not in (TEST_TIME, "none"):
        equal = np.zeros(x.shape, bool)
        for k in range(of.max() + 1):
            equal[of == k] = _equal(name, x[of == k])
        note[std < TINY] = "too small"
        note[equal & (std == 0)] = "0/0"
    big = (note == "") & ~(np.isfinite(y) & np.isfinite(mean) & np.isfinite(std))
    note[big] = "too big"
    note[unknown] = "?"
    return note


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _count(forms: Sequence[str], n: int, **places: Any) -> str:
    return forms[n != 1].format(n=n, **places)


def _width(text: str) -> float:
    """Estimate how wide a text is, in digits."""
    return len(text) - 0.4 * len(re.findall("[^0-9e]", text))


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _signed(v: float) -> str:
    text = _figure(v, 6)
    return f"({text})" if v < 0 else text


def _aligned(*tables: list[list[str]]) -> list[str]:
    """Set columns, the first to the left and the others to the right."""
    first = max(len(row[0]) for table in tables for row in table)
    lines = []
    for table in tables:
        columns = max(map(len, table))
        widths = [max(len(row[c]) for row in table if c < len(row)) for c in range(1, columns)]
        for row in table:
            cells = [cell.rjust(w) for cell, w in zip(row[1:], widths, strict=False)]
            lines.append("  ".join([row[0].ljust(first), *cells]))
    return lines


# The live life.

STYLE = (
    f"<style>{colors.css()}"
    + """
.ln-sheet-live table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.ln-sheet-live .sheet-scroll { display: inline-block; max-width: 100%; overflow-x: auto;
  margin-right: 2rem; vertical-align: top; }
.ln-sheet-live caption { text-align: left; font-weight: 600; }
.ln-sheet-live :is(td, th) { height: 2.6em; min-width: 3.4em; padding: 0 0.4em; text-align: right;
  line-height: 1.2;
  box-shadow: inset var(--l, 0px) var(--t, 0px) var(--norm),
    inset var(--r, 0px) var(--b, 0px) var(--norm);
  background: color-mix(in srgb, var(--tone, transparent) var(--share, 0%), transparent); }
.ln-sheet-live .company { font-weight: 600; }
.ln-sheet-live .chosen { text-decoration: underline; }
.ln-sheet-live .t { --t: 2px; } .ln-sheet-live .l { --l: 2px; }
.ln-sheet-live .b { --b: -2px; } .ln-sheet-live .r { --r: -2px; }
.ln-sheet-live .sheet-margin > span { display: block; white-space: nowrap; }
.ln-sheet-live :is(.sheet-narrow, .sheet-sign) { display: none; }
.ln-sheet-live .sheet-margin b { font-weight: 400; }
.ln-sheet-live .sheet-margin.mine b { font-weight: 700; }
.ln-sheet-live .sheet-sr { position: absolute; clip-path: inset(50%); width: 1px; height: 1px;
  overflow: hidden; white-space: nowrap; }
</style>"""
)


def _draw(rng: np.random.Generator, B: int, F: int) -> list[list[str]]:
    """Draw numbers of at most 5 characters; each example has a level and a spread of its own."""
    level, spread = rng.uniform(-10, 40, (B, 1)), rng.uniform(0.5, 8, (B, 1))
    x = np.clip(level + spread * rng.standard_normal((B, F)), -99, 99)
    return [[_plain(round(v, 1 if v < -9.9 else 2)) for v in row] for row in x]


def _widget(sheet: Sheet) -> Any:
    """Build fields, choices, tables and sentences; every change is computed anew."""
    import ipywidgets as widgets

    rng, start = np.random.default_rng(1), sheet.start
    texts = {("x", i, j): "" for i in range(EXAMPLES) for j in range(FEATURES)}
    fields: dict[tuple, Any] = {}
    busy: list = []  # not empty while many fields change at once

    def common(**layout):
        return {
            "style": {"description_width": "initial"},
            "layout": widgets.Layout(width="min(100%, 20rem)", **layout),
        }

    def dropdown(label, options, value):
        return widgets.Dropdown(description=label, options=options, value=value, **common())

    def whole(label, value, most):
        return widgets.IntSlider(description=label, value=value, min=1, max=most, **common())

    norm = dropdown("Norm", sheet.norms, start.norm)
    groups = dropdown("Groups", [start.groups], start.groups)
    eps = dropdown("eps", EPS, start.eps)
    examples = whole("Examples", start.shape[0], EXAMPLES)
    features = whole("Features", start.shape[1], FEATURES)
    example = whole("Chosen example", start.cell[0] + 1, EXAMPLES)
    feature = whole("Chosen feature", start.cell[1] + 1, FEATURES)
    new, back, use = (
        widgets.Button(description=d) for d in ("New numbers", "Start values", "Use these numbers")
    )
    paste = widgets.Textarea(
        placeholder="Paste a table: a line for each example", layout=widgets.Layout(width="100%")
    )
    note, result = widgets.HTML(), widgets.HTML()
    grid = widgets.GridBox()

    def field(which, i, j):
        key = (which, i, j)
        if key not in fields:
            fields[key] = widgets.Text(
                value=texts[key],
                tooltip=WORDS["cell"][which].format(i=i + 1, feature=sheet._feature(j)),
                layout=widgets.Layout(width="5rem", margin="1px"),
            )

            def typed(change):
                texts[key] = change["new"]
                if not busy:
                    note.value = ""
                    if which == "x":
                        choose(i, j)
                    update()

            fields[key].observe(typed, "value")
        return fields[key]

    def choose(i, j):
        busy.append(1)
        example.value, feature.value = i + 1, j + 1
        busy.pop()

    def state():
        B, F = examples.value, features.value
        return State(
            x=tuple(tuple(texts["x", i, j] for j in range(F)) for i in range(B)),
            gain=tuple(texts["gain", 0, j] for j in range(F)),
            bias=tuple(texts["bias", 0, j] for j in range(F)),
            norm=norm.value,
            groups=groups.value,
            eps=eps.value,
            cell=(example.value - 1, feature.value - 1),
        )

    def shape(_=None):
        """Lay the fields out for as many examples and features as there are now."""
        if busy:
            return
        busy.append(1)
        B, F = examples.value, features.value
        example.max, feature.max = B, F
        wanted = groups.value
        groups.options = [g for g in range(1, F + 1) if F % g == 0]
        groups.value = _divisor(wanted, F)
        lines = [("x", i, f"E{i + 1}") for i in range(B)]
        lines += [("gain", 0, "gain"), ("bias", 0, "bias")]
        cells = [widgets.Label(), *(widgets.Label(sheet._head(j)) for j in range(F))]
        for which, i, head in lines:
            cells += [widgets.Label(head), *(field(which, i, j) for j in range(F))]
        grid.children = cells
        grid.layout = widgets.Layout(
            grid_template_columns=f"3rem repeat({F}, 5.2rem)", overflow="auto", max_width="100%"
        )
        busy.pop()
        update()

    def update(_=None):
        if busy:
            return
        try:
            groups.layout.display = "" if norm.value == "group norm" else "none"
            result.value = show(state())
        except Exception as error:
            said = f"This could not be computed ({_live.named(error)}). Type another number."
            result.value = f'<p role="status">{html.escape(said)}</p>'

    def show(state):
        reading, esc = sheet.read(state), html.escape
        thing = state.norm.split()[0].lower()
        warning = f"<p>⚠ {esc(reading.warning)}</p>" if reading.warning else ""
        return (
            f'{STYLE}<div class="ln-sheet-live" style="--norm: var(--ln-{thing})">'
            f"{sheet._tables(state, reading)}"
            f"<p>{esc(WORDS['about'][state.norm])}</p>"
            f'<div role="status" aria-live="polite"><p>{esc(reading.text)}</p>{warning}</div>'
            f"<p>{esc(reading.work)}</p></div>"
        )

    def put(changes, B, F):
        """Change many texts, and the size of the table, at once."""
        busy.append(1)
        texts.update(changes)
        for key, value in changes.items():
            if key in fields:
                fields[key].value = value
        examples.value, features.value = B, F
        busy.pop()
        shape()

    def numbered(rows):
        return {("x", i, j): t for i, row in enumerate(rows) for j, t in enumerate(row)}

    def begin(_=None):
        note.value = ""
        more = numbered(_draw(np.random.default_rng(0), EXAMPLES, FEATURES))
        affine = {(w, 0, j): t for w, t in (("gain", "1"), ("bias", "0")) for j in range(FEATURES)}
        put(more | numbered(start.x) | affine, *start.shape)

    def renew(_):
        note.value = ""
        put(numbered(_draw(rng, examples.value, features.value)), examples.value, features.value)

    def take(_):
        rows, separator = _block(paste.value)
        if not rows:
            note.value = WORDS["nothing"]
            return
        width = max(map(len, rows))
        B, F = min(len(rows), EXAMPLES), min(width, FEATURES)
        padded = [[*row, *[""] * F][:F] for row in rows[:B]]
        said = WORDS["pasted"].format(rows=B, columns=F, separator=separator)
        if (len(rows), width) != (B, F):
            said += " " + WORDS["left out"]
        put(numbered(padded), B, F)
        note.value = f'<p role="status">{html.escape(said)}</p>'

    begin()
    for control in (norm, groups, eps, example, feature):
        control.observe(update, "value")
    for control in (examples, features):
        control.observe(shape, "value")
    for button, action in ((new, renew), (back, begin), (use, take)):
        button.on_click(action)
    row = _live.wrapped
    return widgets.VBox(
        [
            widgets.HTML(f"<b>{html.escape(sheet.title)}</b>"),
            widgets.HBox([norm, groups, eps, examples, features], layout=row()),
            widgets.HBox([new, back], layout=row()),
            grid,
            widgets.HBox([example, feature], layout=row()),
            result,
            paste,
            use,
            note,
        ]
    )
