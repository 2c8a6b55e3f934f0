"""A residual block with the norm before it, after it, or both, and the residual path."""

import html
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnbook.diagrams.flow import Box, Flow, Wire
from lnbook.diagrams.svg import marked

NORM = "LN"  # the label of the norm
#: The heading of each form.
FORMS = {
    "pre": "Pre-norm",
    "post": "Post-norm",
    "sandwich": "Sandwich",
    "inner": "Norm inside",
}


ASIDE, STEP = 1.25, 0.88  # rows from residual path to branch; columns between boxes
FIRST = 1.1  # column of the first box of the longest block


@dataclass(frozen=True)
class Panel:
    """One block: its heading, its drawing, and whether there is no norm on its residual path."""

    title: str
    flow: Flow
    formula: str
    free: bool


def branch(form: str, block: Sequence[str]) -> tuple[str, ...]:
    """Return the boxes on the branch."""
    if form not in FORMS:
        raise ValueError(f"residual: forms must be of {', '.join(FORMS)}, got {form!r}")
    if form == "inner" and len(block) < 2:
        raise ValueError(
            f"residual: block must have two boxes or more for the form inner, got {block!r}"
        )
    return {
        "pre": (NORM, *block),
        "post": (*block,),
        "sandwich": (NORM, *block, NORM),
        "inner": (block[0], NORM, *block[1:]),
    }[form]


def panels(block: Sequence[str], forms: Mapping[str, str | None]) -> list[Panel]:
    """Draw one block in several forms, from top to bottom.

    Args:
        block: Its boxes, in order.
        forms: Maps a key of :data:`FORMS` to a heading; ``None`` stands for that of :data:`FORMS`.
    """
    branches = {form: branch(form, block) for form in forms}
    longest = max(map(len, branches.values()))
    return [
        _panel(forms[form] or FORMS[form], labels, longest, norm_after_sum=form == "post")
        for form, labels in branches.items()
    ]


def _panel(title: str, labels: Sequence[str], longest: int, *, norm_after_sum: bool) -> Panel:
    """Draw one form, with the height of a block of ``longest`` boxes."""
    first = FIRST + STEP * (longest - len(labels)) / 2
    end = FIRST + STEP * longest  # the sum
    boxes = {"x": Box("end", 0, 0, "x"), "sum": Box("sum", end, 0)}
    names, formula = [], "x"
    for k, label in enumerate(labels):
        names.append(f"{k + 1} {label}")
        boxes[names[-1]] = _box(label, first + STEP * k, ASIDE)
        formula = f"{label}({formula})"
    formula = f"x + {formula}"
    wires = [Wire("x", "sum", lit=True), Wire("x", names[0], 0.5, start=0.5)]
    wires += [Wire(a, b) for a, b in itertools.pairwise(names)]
    wires.append(Wire(names[-1], "sum", "hv"))
    last = "sum"
    if norm_after_sum:
        boxes["behind"] = _box(NORM, end + 0.95, 0)
        wires.append(Wire("sum", "behind", lit=True))
        last, formula = "behind", f"{NORM}({formula})"
    boxes["y"] = Box("end", end + 1.9, 0, "y")
    wires.append(Wire(last, "y", lit=not norm_after_sum))
    flow = Flow(boxes, tuple(wires), f"{title}: y = {formula}")
    return Panel(title, flow, f"y = {formula}", not norm_after_sum)


def _box(label: str, along: float, across: float) -> Box:
    wide = max(28, 4.2 * len(label) + 9)
    if label == NORM:
        return Box("norm", along, across, label, tone="layer", wide=wide)
    return Box("block", along, across, label, wide=wide)


def body(shown: Sequence[Panel]) -> str:
    """Return the panels side by side."""
    figures = "".join(
        f"<figure>{p.flow.upright()}<figcaption><b>{_heading(p.title)}</b>"
        f"<span>{marked(f'${p.formula}$').replace('+ ', '+<br/>')}</span></figcaption></figure>"
        for p in shown
    )
    text = f'<p class="ln-diagram-said">{describe(shown)}</p>'
    return f'<div class="ln-diagram-panels">{figures}</div>{text}'


def _heading(title: str) -> str:
    """Return a heading that breaks between words, but not at a hyphen."""
    return re.sub(r"\S+-\S+", r'<span class="ln-diagram-whole">\g<0></span>', html.escape(title))


def describe(shown: Sequence[Panel]) -> str:
    """Describe which blocks have a norm on the residual path."""
    texts = []
    for free, what in ((True, "No norm on the highlighted residual path"), (False, "A norm on it")):
        names = [p.title for p in shown if p.free is free]
        if names:
            last = f"{'and ' * (len(names) > 1)}{names[-1]}"
            listed = (", " if len(names) > 2 else " ").join((*names[:-1], last))
            texts.append(f"{what}: {listed}.")
    return " ".join(texts)
