"""Evaluation of the claims of the paper and of tutorials, with a label for every claim.

:mod:`lnlab.comparison` defines the protocol and the labels. Labels depend only on the records of a
folder; mathematical claims are computed.
"""

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
from lnlab.comparison import NOT_RECORDED, Evidence, Label, limits, limits_name, p_value

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
    """Return the claims that are tested by the records of this experiment only."""
    return [claim for claim in (*PAPER, *TUTORIALS) if claim.experiments == (experiment,)]


def evaluate(
    where: Path | str | Records | None = None, claims: Sequence[Claim] = (*PAPER, *TUTORIALS)
) -> list[ClaimResult]:
    """Evaluate claims with the records of a folder.

    Args:
        where: The folder, or an instance of :class:`Records`; the book's folder if ``None``.
        claims: The claims; by default all of the paper and of tutorials.

    Raises:
        ValueError: If the folder does not exist.
        FileNotFoundError: If it is the book's, and lnlib was installed without it.
        BadRecord: If a record in it is damaged.
    """
    records = where if isinstance(where, Records) else Records(where)
    return corrected([_evaluate(claim, records) for claim in claims])


def counts(results: Sequence[ClaimResult]) -> dict[str, int]:
    """Count the labels, the strongest evidence first."""
    order = list(Evidence)
    labels = sorted((result.label for result in results), key=lambda x: order.index(x.evidence))
    groups = [label.group for label in labels]
    return {group: groups.count(group) for group in dict.fromkeys(groups)}


def by_evidence(results: Sequence[ClaimResult]) -> dict[Evidence, list[ClaimResult]]:
    """Group results by kind of evidence, the strongest first, otherwise in their order."""
    groups = {kind: [x for x in results if x.label.evidence is kind] for kind in Evidence}
    return {kind: group for kind, group in groups.items() if group}


def corrections(results: Sequence[ClaimResult]) -> str:
    """Return a sentence with the number of comparisons."""
    n = len(comparisons(results))
    return f"{n} comparisons of ten seeds or more were tested, with Holm's correction for {n}."


def interval(finding: Finding) -> str:
    """Return the mean difference of a finding and its interval in words.

    Example:
        >>> import numpy as np
        >>> interval(Finding("test error", np.array([-1.0, -2.0, -1.5]), "points"))
        '−1.5 points (−2 to −1, lowest to highest of 3 seeds)'
        >>> interval(Finding("loss", np.array([-1e-5, 2e-5, 5e-5]), "nats"))
        '+0.00002 nats (−0.00001 to +0.00005, lowest to highest of 3 seeds)'
    """
    d, unit = (-1 if finding.turned else 1) * finding.differences, finding.unit
    if finding.untestable == NOT_RECORDED:
        return "no runs"
    if finding.untestable and np.isnan(d).all():
        return f"{len(d)} seed{'s' * (len(d) > 1)}"
    if finding.exact:
        if unit.startswith("of "):
            return "computed"  # the description has the number
        value = max(0, d[0])
        number = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
        return f"{unit} {number}" if unit == "largest change" else f"{number} {unit}"
    scale, unit = (100, f"% {unit}") if unit.startswith("of ") else (1, f" {unit}")
    seeds = f"{len(d)} seed{'s' * (len(d) > 1)}"
    cases = [("never", d == np.inf), ("baseline never", d == -np.inf), ("no number", np.isnan(d))]
    missing = ", ".join(f"{text} in {mask.sum()}" for text, mask in cases if mask.any())
    known = scale * d[np.isfinite(d)]
    if not len(known):
        return f"{missing} of {seeds}"
    low, high = (known.min(), known.max()) if missing else limits(known)
    ends = f"{_signed(low)} to {_signed(high)}"
    if missing:
        return f"{missing} of {seeds}, else {ends}{unit}"
    if len(known) < 2:
        return f"{_signed(known[0])}{unit} (one seed)"
    return f"{_signed(known.mean())}{unit} ({ends}, {limits_name(len(known))} of {seeds})"


def label_text(finding: Finding) -> str:
    """Return the label of a finding, or "additional" if it is testable but does not count."""
    secondary = not finding.counts and not finding.untestable
    return "additional" if secondary else str(finding.label)


def _signed(value: float) -> str:
    rounded = float(f"{value:.3g}")
    return np.format_float_positional(rounded, trim="-", sign=True).replace("-", "−")


def text(results: Sequence[ClaimResult]) -> str:
    """Return claims, labels and findings as text, by kind of evidence."""
    lines = [", ".join(f"{n} {group}" for group, n in counts(results).items())]
    lines.append(corrections(results))
    for kind, group in by_evidence(results).items():
        lines += ["", f"== {kind.value} =="]
        for result in group:
            claim = result.claim
            lines += ["", f"{result.label}  {claim.section}: {claim.statement} [{claim.quote}]"]
            items = [f"({result.evidence})"]
            for finding in result.findings:
                mark = "-" if finding.counts else " "
                items.append(
                    f"{mark} {finding.description}: {interval(finding)}; {label_text(finding)}"
                )
            for item in items:
                lines += textwrap.wrap(item, 96, initial_indent="  ", subsequent_indent="    ")
            if not result.findings and claim.commands:
                lines += [f"    {command}" for command in claim.commands]
    return "\n".join(lines)


#: Description of the result of :func:`as_json`.
SCHEMA = (
    "claims: a list, each with its words, section, scale there and here, label (evidence: one of "
    "evidence; text; side: 1 for the claim, -1 against it; reason why it is not testable), chapter "
    "and commands, and findings: what was compared, paired differences one a seed (below 0 where "
    'the claim is true; null: never reached; "baseline never"; "no number": the run ended without '
    "one), unit, mean, low and high (likewise, the interval uncorrected), p, p corrected for all "
    "comparisons (Holm), label (of those that count), whether it counts; records: the files behind "
    "the claim with their SHA-256."
)


def as_json(results: Sequence[ClaimResult]) -> dict[str, Any]:
    """Return all results as JSON values, with versions and the checksums of all records."""
    return {
        "schema": SCHEMA,
        "lnlib": lnlib.__version__,
        "numpy": np.__version__,
        "evidence": [kind.value for kind in Evidence],
        "comparisons": len(comparisons(results)),
        "counts": counts(results),
        "claims": [_result_as_json(result) for result in results],
    }


def _result_as_json(result: ClaimResult) -> dict[str, Any]:
    claim = result.claim
    return {
        "name": claim.name,
        "section": claim.section,
        "quote": claim.quote,
        "says": claim.statement,
        "there": claim.paper_setup,
        "here": claim.book_setup,
        "beside": claim.caveat,
        "page": claim.page,
        "label": _label_as_json(result.label),
        "scale": result.scale,
        "commands": claim.commands,
        "findings": [
            {
                "what": finding.description,
                "unit": finding.unit,
                "differences": _values_as_json(finding.differences),
                **dict(zip(("mean", "low", "high"), _values_as_json(finding.range()), strict=True)),
                "p": _p_as_json(finding, p_value(finding.differences)),
                "p_corrected": _p_as_json(finding, finding.corrected),
                "label": _label_as_json(finding.label) if finding.counts else None,
                "counts": finding.counts,
                "exact": finding.exact,
            }
            for finding in result.findings
        ],
        "records": result.files,
    }


def _label_as_json(label: Label) -> dict[str, Any]:
    return {"evidence": label.evidence.value, "text": label.text, "side": label.side,
            "reason": label.reason}  # fmt: skip


def _p_as_json(finding: Finding, p: float | None) -> float | None:
    tested = finding.counts and finding.label.evidence is Evidence.MANY
    return float(f"{p:.3g}") if tested and p is not None else None


def _values_as_json(values: Sequence[float] | np.ndarray) -> list[float | str | None]:
    def convert(value: float) -> float | str | None:
        if np.isfinite(value):
            return float(f"{value:.6g}")
        return "no number" if np.isnan(value) else "baseline never" if value < 0 else None

    return [convert(value) for value in values]
