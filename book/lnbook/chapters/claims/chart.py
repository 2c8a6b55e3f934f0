"""A chart with one square per claim, grouped by kind of evidence; a group unfolds to lines.

Each line unfolds to details. CSS alone filters squares and lines, as on the page that helps to
choose a norm, so that the chart works without scripts, in print and in a live notebook.
"""

import html
import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.display import Displayed
from lnbook.figures.css_filter import Group, attributes, card, live
from lnbook.figures.table import badge, mark
from lnlab import claims, comparison
from lnlab.claims import ClaimResult, Finding
from lnlab.claims.scale import relative
from lnlab.comparison import Evidence

SOURCE = Path(__file__).with_suffix(".css")
STYLE = SOURCE.read_text("utf-8")
esc = partial(html.escape, quote=False)  # for text between tags, where quotes need no escaping
#: Maps a kind of evidence to its name in addresses and the heading of its lines.
KINDS = {
    Evidence.EXACT: ("exact", "Exact: computed or proved"),
    Evidence.MANY: ("many", "Ten seeds or more: tested, corrected for all comparisons"),
    Evidence.FEW: ("few", "Few seeds: the number that agree with the claim, without a test"),
    Evidence.NONE: ("none", "Not testable here, with the reason"),
}
_PARTS = {"all": "all", "recurrent": "recurrent", "other": "other networks", "exact": "mathematics"}
_FORWARD = {"mnist", "convnet", "landscape", "weights", "transformer"}
LOW, ROW = 22, 9  # pixels: height of a strip, and of each additional row
WORD_ROW = 15  # pixels: height of a row with a word


def part(result: ClaimResult) -> str:
    """Return the part that a claim belongs to: mathematics, recurrent networks, or others."""
    if result.findings and all(finding.exact for finding in result.findings):
        return "exact"
    if result.claim.experiments:
        return "other" if _FORWARD & set(result.claim.experiments[:1]) else "recurrent"
    recurrent = result.claim.section[:3] in ("3.1", "6.3", "7") or "time" in result.claim.quote
    return "recurrent" if recurrent else "other"


def _percent_of_strip(share: float) -> float:
    """Return the position of a fraction in percent of the strip, clipped to its ends."""
    return round(50 + 46 * float(np.clip(share, -1.04, 1.04)), 1)


#: The axis above the strips of a group.
SCALE = (
    '<div class="ln-scale" aria-hidden="true"><span></span><span></span>'
    '<span class="ln-ticks"><b>← as claimed</b><b>the opposite →</b>'
    + "".join(
        f'<span style="left:{_percent_of_strip(v)}%">{text}</span>'
        for v, text in ((-1, "−100%"), (0, "0"), (1, "+100%"))
    )
    + "</span><span></span></div>"
)


class ClaimChart(Displayed):
    """A chart of claims: a square each, and a line with dots, intervals and a label.

    Args:
        weighed: Results of :func:`lnlab.claims.evaluate`.
        title: The title above the chart.
        file: The name of the file with all results, in the folder of the page; ``""`` for none.
        name: A short name, unique on the page, which is part of every CSS rule.
        styled: Whether to include the styles; one chart of a page is enough.
    """

    def __init__(
        self,
        weighed: Sequence[ClaimResult],
        title: str,
        file: str = "",
        *,
        name: str = "paper",
        styled: bool = True,
    ) -> None:
        self.weighed, self.title, self.file, self.styled = list(weighed), title, file, styled
        self.name = f"ln-of-{name}"

    def sentence(self) -> str:
        """Return the counts of the labels, and the number of comparisons."""
        counted = "; ".join(f"{word}: {n}" for word, n in claims.counts(self.weighed).items())
        counted = f"{len(self.weighed)} claims. {counted[0].upper()}{counted[1:]}."
        n = len(claims.comparisons(self.weighed))
        tested = f"{n} comparisons of ten seeds or more are tested in this chart"
        return f"{counted} {tested}, with Holm's correction for all comparisons of the page."

    def __repr__(self) -> str:
        """Return title, counts, and one line per claim."""
        lines = [self.title, self.sentence()]
        for kind, results in claims.by_evidence(self.weighed).items():
            lines += ["", f"{KINDS[kind][1]}:"]
            for result in results:
                text = result.label.text if kind is not Evidence.NONE else result.label.reason
                lines.append(f"{result.claim.section:9} {text:24} {result.claim.statement}")
                lines += [f"{'':34} ({result.evidence})"] * bool(result.findings)
        return "\n".join(lines)

    def to_html(self, suffix: str = ".html") -> str:
        """Return all groups as HTML; a style sheet hides claims that are not selected.

        Args:
            suffix: The suffix of page names in links.
        """
        beside = {"counts": "those behind the label", "all": "all"}
        groups = {"beside": Group("Measurements", beside, "counts")}
        parts = {part(result) for result in self.weighed}
        options = {"all": "all"} | {k: v for k, v in _PARTS.items() if k in parts}
        groups["part"] = Group("Claims on", options, "all")
        folds = "".join(
            self._fold(kind, results, suffix)
            for kind, results in claims.by_evidence(self.weighed).items()
        )
        n = len(claims.comparisons(self.weighed))
        file = (
            f' <a href="{self.file}" download>Download as JSON</a>.'
            if self.file and suffix == ".html"
            else ""
        )
        about = (
            '<p class="ln-about">Each square is a claim. Open a group to see its claims, and a '
            "claim to see the quote, the runs, and every measurement.</p>"
        )
        note = (
            f'<p class="ln-total">{n} comparisons of ten seeds or more are tested, with '
            f"Holm's correction for all comparisons of the page.{file}</p>"
        )
        whole = card(self.name, self.title, groups, about + folds + note)
        whole = whole.replace('class="ln-pick ', 'class="ln-pick ln-claims ', 1)
        return f"<style>{STYLE}</style>{whole}" if self.styled else whole

    def _fold(self, kind: Evidence, results: Sequence[ClaimResult], suffix: str) -> str:
        """Return a group: its squares, which are always shown, and its lines, which unfold."""
        name, heading = KINDS[kind]
        by_label: dict[str, list[ClaimResult]] = {}
        for result in results:
            by_label.setdefault(result.label.group, []).append(result)
        order = sorted(by_label.values(), key=lambda same: -same[0].label.side)
        squares = "".join(_squares(same, alone=len(order) == 1) for same in order)
        body = SCALE * (kind is not Evidence.EXACT)
        body += "".join(_line(result, suffix) for result in results)
        return (
            f"<div{attributes(_parts(results))}>"
            f'<details class="ln-kind" id="{self.name.removeprefix("ln-")}-{name}"><summary>'
            f"<b>{esc(heading)}</b>{squares}</summary>{body}</details></div>"
        )

    def widget(self) -> Any:
        """Build the live widget: the same HTML, with links to notebooks."""
        return live(self.to_html(".ipynb"))


def _parts(results: Sequence[ClaimResult]) -> dict[str, tuple[str, ...]]:
    """Return the choices of "Claims on" that show something about these claims."""
    return {"part": ("all", *dict.fromkeys(part(result) for result in results))}


def _squares(results: Sequence[ClaimResult], *, alone: bool) -> str:
    """Return a square for each claim, which CSS counts, and the label that they share."""
    text = badge(results[0].label)
    color = "count" if results[0].label.evidence is Evidence.FEW else mark(text)
    label = "claims" if alone else f'<span class="verdict {color}">{esc(text)}</span>'
    squares = "".join(f"<i{attributes(_parts([result]))}></i>" for result in results)
    return (
        f'<span class="ln-same"{attributes(_parts(results))}>'
        f'<span class="ln-squares ln-{color}">{squares}</span>{label}</span>'
    )


def _line(result: ClaimResult, suffix: str) -> str:
    claim, text = result.claim, badge(result.label)
    section = f'<i class="ln-sec">{esc(claim.section)}</i>' if claim.section[0].isdigit() else (
        '<i class="ln-sec"></i>')  # fmt: skip
    return (
        f'<details class="ln-claim"{attributes(_parts([result]))}><summary>{section}'
        f"<b>{esc(claim.statement)}<small>{esc(result.evidence)}</small></b>{_strip(result)}"
        f'<span class="verdict {mark(text)}">{esc(result.label.reason or text)}</span>'
        f'</summary><div id="claim-{claim.name}">{_behind(result, suffix)}</div></details>'
    )


def _behind(claim_result: ClaimResult, suffix: str) -> str:
    claim = claim_result.claim
    where = f"section {claim.section}" if claim.section[0].isdigit() else "a tutorial"
    here = f"{claim.book_setup}; {claim_result.scale}" if claim_result.scale else claim.book_setup
    parts = [f"<p>“{esc(claim.quote)}”, {where}. <em>In the paper:</em> {esc(claim.paper_setup)}. "
             f"<em>Here:</em> {esc(here)}.</p>"]  # fmt: skip
    if claim_result.label.reason:
        parts.append(f"<p>{esc(_upper(str(claim_result.label)))}.</p>")
    if claim.caveat:
        parts.append(f"<p>{esc(claim.caveat)}</p>")
    result = "".join(
        f"<li>{esc(_upper(finding.description))}: {esc(claims.interval(finding))}; "
        + (f"<b>{esc(_badge(finding))}</b>" if finding.counts else esc(claims.label_text(finding)))
        + "</li>"
        for finding in claim_result.findings
    )
    parts += [f"<ul>{result}</ul>"] * bool(result)
    links = [f'<a href="{claim.page}{suffix}">The chapter</a>'] * bool(claim.page)
    links += [f"<code>{esc(command)}</code>" for command in claim.commands]
    parts += [f"<p>{' · '.join(links)}</p>"] * bool(links)
    return "".join(parts)


def _badge(finding: Finding) -> str:
    return badge(finding.label)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _strip(result: ClaimResult) -> str:
    """Draw the dots and the interval of each finding, or say why there are none."""
    drawn = [
        finding
        for finding in result.findings
        if finding.shares is not None
        and not (finding.untestable and np.isnan(finding.shares).all())
    ]
    if not any(finding.counts for finding in drawn):
        return f'<span class="ln-strip ln-words">{html.escape(_strip_text(result))}</span>'
    counted = [finding for finding in drawn if finding.counts]
    rows = _rows(counted)
    text = result.evidence
    marks = [_mark(finding, 11 + y, text) for finding, y in zip(counted, rows, strict=True)]
    svgs = _svg("".join(marks), LOW + rows[-1])
    secondary = [finding for finding in drawn if not finding.counts]
    if secondary:
        rows = _rows(secondary)
        more = "".join(
            _mark(finding, 7 + y, text) for finding, y in zip(secondary, rows, strict=True)
        )
        svgs += f'<span data-beside="all">{_svg(more, rows[-1] + 15)}</span>'
    summary = html.escape(_summary(counted))
    return f'<span class="ln-strip" role="img" aria-label="{summary}">{svgs}</span>'


def _rows(findings: Sequence[Finding]) -> list[int]:
    """Return the vertical offset of each mark in pixels; words need more space than dots."""
    has_word = [not np.isfinite(finding.shares).all() for finding in findings]
    steps = [WORD_ROW if a or b else ROW for a, b in itertools.pairwise(has_word)]
    return [0, *itertools.accumulate(steps)]


def _svg(marks: str, height: int) -> str:
    zero = '<line class="ln-zero" x1="50%" x2="50%" y2="100%"/>'
    return f'<svg height="{height}">{zero}{marks}</svg>'


def _mark(finding: Finding, y: int, evidence: str) -> str:
    shares = finding.shares
    known = shares[np.isfinite(shares)]
    color = mark(_badge(finding)) if finding.counts else "count"
    kind = f"ln-{color}" + ("" if finding.counts else " ln-beside")
    title = f"<title>{esc(_title(finding, evidence))}</title>"
    if len(known) < len(shares):  # some seeds never reached the target or have no value
        never = np.isinf(shares).any()
        dots = "".join(f'<circle cx="{_percent_of_strip(v)}%" cy="{y}" r="2"/>' for v in known)
        if len(known) and never:  # the line ends at the word
            dots += f'<line x1="{_percent_of_strip(known.min())}%" x2="73%" y1="{y}" y2="{y}"/>'
        first = never and not (shares == np.inf).any()
        word = "baseline never" if first else "never" if never else "no number"
        # The side without dots; values that were never reached are to the right of all dots.
        right = (never and not first) or not len(known) or known.mean() < 0
        end = 'x="100%" text-anchor="end"' if right else 'x="0"'
        text = f'<text {end} y="{y + 4}">{word}</text>'
        return f'<g class="{kind}">{title}{dots}{text}</g>'
    low, high = comparison.limits(shares)
    center = _percent_of_strip(shares.mean())
    line = (
        f'<line x1="{_percent_of_strip(low)}%" x2="{_percent_of_strip(high)}%" y1="{y}" y2="{y}"/>'
    )
    size = 4 if finding.counts else 2.5
    return f'<g class="{kind}">{title}{line}<circle cx="{center}%" cy="{y}" r="{size}"/></g>'


def _title(finding: Finding, evidence: str) -> str:
    """Return the tooltip of a dot: its name, its seeds, and the size of runs if it differs."""
    title = f"{_upper(finding.description)}; {finding.seeds} seeds"
    size = relative(finding.runs) if finding.runs else ""
    return title if size in evidence else f"{title}; {size}"


def _strip_text(result: ClaimResult) -> str:
    if result.label.evidence is Evidence.NONE:
        return ""  # the reason is shown in place of the label
    if result.label.evidence is Evidence.EXACT:
        return "no exception" if result.label.side > 0 else "an exception"
    if len(result.counting) > 1:
        return f"{len(result.counting)} measurements"
    return claims.interval(result.counting[0]).partition(" (")[0]


def _summary(findings: Sequence[Finding]) -> str:
    return "; ".join(claims.interval(finding) for finding in findings[:3])
