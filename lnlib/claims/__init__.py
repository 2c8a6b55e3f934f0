"""What the paper claims, and what holds here: every claim weighed by the records of a folder.

A claim holds if the differences between paired runs lie on its side of 0, by
:func:`lnlib.compare.verdict`; so a new record changes the verdict, and nothing else does. Claims of
mathematics are computed.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lnlib
from lnlib.claims.finding import NOT_YET, OPEN, VERDICTS, Claim, Finding, Records, Weighed
from lnlib.claims.finding import weigh as _weigh
from lnlib.claims.paper import PAPER
from lnlib.claims.tutorials import TUTORIALS
from lnlib.compare import bounds, bounds_name

__all__ = [
    "NOT_YET",
    "OPEN",
    "PAPER",
    "TUTORIALS",
    "VERDICTS",
    "Claim",
    "Finding",
    "Records",
    "Weighed",
    "as_json",
    "counts",
    "interval",
    "text",
    "weigh",
]


def weigh(
    where: Path | str | None = None, claims: Sequence[Claim] = (*PAPER, *TUTORIALS)
) -> list[Weighed]:
    """Weigh claims by the records of a folder.

    Args:
        where: The folder; the book's own if ``None``.
        claims: Which; the paper's and those of tutorials.

    Raises:
        ValueError: If there is no such folder.
        FileNotFoundError: If it is the book's, and lnlib was installed without it.
        BadRecord: If a record in it is damaged.
    """
    records = Records(where)
    return [_weigh(claim, records) for claim in claims]


def counts(weighed: Sequence[Weighed]) -> dict[str, int]:
    """Count the verdicts, those that nobody has left out."""
    found = Counter(one.verdict for one in weighed)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def interval(finding: Finding) -> str:
    """Say the mean difference of a finding and its bounds, of the seeds that have a number.

    Example:
        >>> import numpy as np
        >>> interval(Finding("test error", np.array([-1.0, -2.0, -1.5]), "points"))
        '−1.5 points (−2 to −1, lowest to highest of 3 seeds)'
    """
    d, unit = (-1 if finding.turned else 1) * finding.differences, finding.unit
    if finding.exact:
        return f"{max(0, d[0]):.2g} {unit}"
    scale, unit = (100, f"% {unit}") if unit.startswith("of ") else (1, f" {unit}")
    seeds = f"{len(d)} seed{'s' * (len(d) > 1)}"
    never, lost = int(np.isinf(d).sum()), int(np.isnan(d).sum())
    without = f", {lost} without a number" if lost else ""
    if never + lost == len(d):
        some = f"never in {never} of {seeds}{without}"
        return some if never and lost else f"{'never' if never else 'no number'}, in {seeds}"
    known = scale * d[np.isfinite(d)]
    low, high = (known.min(), known.max()) if never else bounds(known)
    ends = f"{_signed(low)} to {_signed(high)}"
    if never:
        return f"never in {never} of {seeds}{without}, else {ends}{unit}"
    of = f"{len(known)} of {seeds}{without}" if lost else seeds
    if len(known) < 2:
        return f"{_signed(known[0])}{unit} ({of if lost else 'one seed'})"
    return f"{_signed(known.mean())}{unit} ({ends}, {bounds_name(len(known))} of {of})"


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def text(weighed: Sequence[Weighed]) -> str:
    """Return claims, verdicts and findings as they are printed."""
    lines = [", ".join(f"{n} {verdict}" for verdict, n in counts(weighed).items())]
    for one in weighed:
        claim = one.claim
        head = f"{claim.section}: {claim.says} [{claim.quote}]"
        lines += ["", f"{one.verdict.upper()}  {head}"]
        for finding in one.findings:
            mark = "-" if finding.counts else " "
            lines += textwrap.wrap(f"{mark} {finding.what}: {interval(finding)}", 96,
                                   initial_indent="  ", subsequent_indent="    ")  # fmt: skip
        if not one.findings and claim.commands:
            lines += [f"    {command}" for command in claim.commands]
    return "\n".join(lines)


#: What :func:`as_json` writes, in one sentence.
SCHEMA = (
    "claims: a list, each with its words, section, scale there and here, verdict (one of "
    "verdicts), chapter and commands, and findings: what was compared, paired "
    "differences one a seed (below 0 where the claim is true; null: never reached; "
    '"no number": the run ended without one), unit, mean, low and high (likewise), verdict, '
    "whether it counts; records: the files behind the claim with their SHA-256."
)


def as_json(weighed: Sequence[Weighed]) -> dict[str, Any]:
    """Return everything as JSON values, with versions and the checksums of all records."""
    return {
        "schema": SCHEMA,
        "lnlib": lnlib.__version__,
        "numpy": np.__version__,
        "verdicts": list(VERDICTS),
        "counts": counts(weighed),
        "claims": [_plain(one) for one in weighed],
    }


def _plain(one: Weighed) -> dict[str, Any]:
    claim = one.claim
    told = ("name", "section", "quote", "says", "there", "here", "beside", "page")
    return {
        **{name: getattr(claim, name) for name in told},
        "verdict": one.verdict,
        "scale": one.scale,
        "commands": claim.commands,
        "findings": [
            {
                "what": finding.what,
                "unit": finding.unit,
                "differences": _finite(finding.differences),
                **dict(zip(("mean", "low", "high"), _finite(finding.range()), strict=True)),
                "verdict": finding.verdict,
                "counts": finding.counts,
                "exact": finding.exact,
            }
            for finding in one.findings
        ],
        "records": one.files,
    }


def _finite(values: Sequence[float] | np.ndarray) -> list[float | str | None]:
    words = ("no number" if np.isnan(value) else None for value in values)
    return [
        float(f"{value:.6g}") if np.isfinite(value) else word
        for value, word in zip(values, words, strict=True)
    ]
