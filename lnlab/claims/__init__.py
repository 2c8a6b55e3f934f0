"""What the paper claims, and what the records of a folder say on it: a label for every claim.

:mod:`lnlab.comparison` has the protocol and the labels; a new record changes a label, and nothing
else does. Claims of mathematics are computed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lnlib
from lnlab.claims.finding import Claim, ClaimResult, Finding, Records, comparisons, corrected
from lnlab.claims.finding import evaluate as _evaluate
from lnlab.claims.paper import PAPER
from lnlab.claims.tutorials import TUTORIALS
from lnlab.comparison import Evidence, Label, limits, limits_name, p_value

__all__ = [
    "PAPER",
    "TUTORIALS",
    "Claim",
    "ClaimResult",
    "Finding",
    "Records",
    "about",
    "as_json",
    "by_evidence",
    "comparisons",
    "corrections",
    "counts",
    "evaluate",
    "interval",
    "label_text",
    "text",
]


def about(experiment: str) -> list[Claim]:
    """Return the claims that the records of one experiment alone decide."""
    return [claim for claim in (*PAPER, *TUTORIALS) if claim.experiments == (experiment,)]


def evaluate(
    where: Path | str | Records | None = None, claims: Sequence[Claim] = (*PAPER, *TUTORIALS)
) -> list[ClaimResult]:
    """Weigh claims by the records of a folder.

    Args:
        where: The folder, or records that were read before; the book's own folder if ``None``.
        claims: Which; the paper's and those of tutorials.

    Raises:
        ValueError: If there is no such folder.
        FileNotFoundError: If it is the book's, and lnlib was installed without it.
        BadRecord: If a record in it is damaged.
    """
    records = where if isinstance(where, Records) else Records(where)
    return corrected([_evaluate(claim, records) for claim in claims])


def counts(weighed: Sequence[ClaimResult]) -> dict[str, int]:
    """Count the labels, the strongest evidence first."""
    order = list(Evidence)
    results = sorted((one.label for one in weighed), key=lambda one: order.index(one.evidence))
    words = [one.group for one in results]
    return {word: words.count(word) for word in dict.fromkeys(words)}


def by_evidence(weighed: Sequence[ClaimResult]) -> dict[Evidence, list[ClaimResult]]:
    """Group claims by what their labels rest on, the strongest first; the order is kept."""
    results = {kind: [one for one in weighed if one.label.evidence is kind] for kind in Evidence}
    return {kind: of for kind, of in results.items() if of}


def corrections(weighed: Sequence[ClaimResult]) -> str:
    """Say how many comparisons were made."""
    n = len(comparisons(weighed))
    return f"{n} comparisons of ten seeds or more were tested, with Holm's correction for {n}."


def interval(finding: Finding) -> str:
    """Say the mean difference of a finding and its bounds, of the seeds that have a number.

    Example:
        >>> import numpy as np
        >>> interval(Finding("test error", np.array([-1.0, -2.0, -1.5]), "points"))
        '−1.5 points (−2 to −1, lowest to highest of 3 seeds)'
    """
    d, unit = (-1 if finding.turned else 1) * finding.differences, finding.unit
    if finding.untestable and np.isnan(d).all():
        return f"{len(d)} seed{'s' * (len(d) > 1)}"
    if finding.exact:
        return f"{max(0, d[0]):.2g} {unit}"
    scale, unit = (100, f"% {unit}") if unit.startswith("of ") else (1, f" {unit}")
    seeds = f"{len(d)} seed{'s' * (len(d) > 1)}"
    never, first, lost = (int(result.sum()) for result in (d == np.inf, d == -np.inf, np.isnan(d)))
    gone = [(never, "never in {}"), (first, "baseline never in {}"), (lost, "no number in {}")]
    without = ", ".join(words.format(n) for n, words in gone if n)
    known = scale * d[np.isfinite(d)]
    if not len(known):
        return f"{without} of {seeds}"
    low, high = (known.min(), known.max()) if without else limits(known)
    ends = f"{_signed(low)} to {_signed(high)}"
    if without:
        return f"{without} of {seeds}, else {ends}{unit}"
    if len(known) < 2:
        return f"{_signed(known[0])}{unit} (one seed)"
    return f"{_signed(known.mean())}{unit} ({ends}, {limits_name(len(known))} of {seeds})"


def label_text(finding: Finding) -> str:
    """Return the label of a finding that counts, or that is not testable; others are beside."""
    beside = not finding.counts and not finding.untestable
    return "beside" if beside else str(finding.label)


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def text(weighed: Sequence[ClaimResult]) -> str:
    """Return claims, labels and findings as they are printed, by kind of evidence."""
    lines = [", ".join(f"{n} {word}" for word, n in counts(weighed).items()), corrections(weighed)]
    for kind, of in by_evidence(weighed).items():
        lines += ["", f"== {kind.value} =="]
        for one in of:
            claim = one.claim
            lines += ["", f"{one.label}  {claim.section}: {claim.says} [{claim.quote}]"]
            lines += textwrap.wrap(f"({one.evidence})", 96, initial_indent="  ",
                                   subsequent_indent="    ")  # fmt: skip
            for finding in one.findings:
                mark = "-" if finding.counts else " "
                told = f"{mark} {finding.what}: {interval(finding)}; {label_text(finding)}"
                lines += textwrap.wrap(told, 96, initial_indent="  ", subsequent_indent="    ")
            if not one.findings and claim.commands:
                lines += [f"    {command}" for command in claim.commands]
    return "\n".join(lines)


#: What :func:`as_json` writes, in one sentence.
SCHEMA = (
    "claims: a list, each with its words, section, scale there and here, label (evidence: one of "
    "evidence; text; side: 1 for the claim, -1 against it; reason why it is not testable), chapter "
    "and commands, and findings: what was compared, paired differences one a seed (below 0 where "
    'the claim is true; null: never reached; "baseline never"; "no number": the run ended without '
    "one), unit, mean, low and high (likewise, the interval uncorrected), p, p corrected for all "
    "comparisons (Holm), label (of those that count), whether it counts; records: the files behind "
    "the claim with their SHA-256."
)


def as_json(weighed: Sequence[ClaimResult]) -> dict[str, Any]:
    """Return everything as JSON values, with versions and the checksums of all records."""
    return {
        "schema": SCHEMA,
        "lnlib": lnlib.__version__,
        "numpy": np.__version__,
        "evidence": [kind.value for kind in Evidence],
        "comparisons": len(comparisons(weighed)),
        "counts": counts(weighed),
        "claims": [_plain(one) for one in weighed],
    }


def _plain(one: ClaimResult) -> dict[str, Any]:
    claim = one.claim
    fields = ("name", "section", "quote", "says", "there", "here", "beside", "page")
    return {
        **{name: getattr(claim, name) for name in fields},
        "label": _label(one.label),
        "scale": one.scale,
        "commands": claim.commands,
        "findings": [
            {
                "what": finding.what,
                "unit": finding.unit,
                "differences": _finite(finding.differences),
                **dict(zip(("mean", "low", "high"), _finite(finding.range()), strict=True)),
                "p": _p(finding, p_value(finding.differences)),
                "p_corrected": _p(finding, finding.corrected),
                "label": _label(finding.label) if finding.counts else None,
                "counts": finding.counts,
                "exact": finding.exact,
            }
            for finding in one.findings
        ],
        "records": one.files,
    }


def _label(label: Label) -> dict[str, Any]:
    return {"evidence": label.evidence.value, "text": label.text, "side": label.side,
            "reason": label.reason}  # fmt: skip


def _p(finding: Finding, p: float | None) -> float | None:
    tested = finding.counts and finding.label.evidence is Evidence.MANY
    return float(f"{p:.3g}") if tested and p is not None else None


def _finite(values: Sequence[float] | np.ndarray) -> list[float | str | None]:
    words = ("no number" if np.isnan(value) else "baseline never" if value < 0 else None
             for value in values)  # fmt: skip
    return [
        float(f"{value:.6g}") if np.isfinite(value) else word
        for value, word in zip(values, words, strict=True)
    ]
