"""A claim, what was found on it, and its label: one way for all of them."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lnlab import comparison
from lnlab import records as record
from lnlab.claims.scale import relative

Record = dict[str, Any]


class Records:
    """The records of a folder, read when they are asked for.

    Args:
        where: The folder; the book's own if ``None``.
    """

    def __init__(self, where: Path | str | None = None) -> None:
        self.where = record.installed() if where is None else Path(where)
        if not self.where.is_dir():
            raise ValueError(
                f"claims: runs must be a folder of records, got {str(where)!r}; python -m lnlab "
                "replay book makes one"
            )
        self._read: dict[str, list[tuple[Path, Record]]] = {}

    @classmethod
    def given(cls, experiment: str, runs: Sequence[Record]) -> Records:
        """Return records of one experiment that were read before, of no folder."""
        records = cls.__new__(cls)
        records.where = Path()
        records._read = {f"{experiment}-*": [(Path(), run) for run in runs]}
        return records

    def of(self, experiment: str, named: str = "*", **settings: Any) -> list[Record]:
        """Return the records of an experiment whose settings have the given values.

        Args:
            experiment: Its name.
            named: A pattern of what follows it in a file's name: of hundreds few are then read.
            **settings: As recorded.
        """
        key = f"{experiment}-{named}"
        if key not in self._read:
            paths = [*self.where.glob(f"{key}.json"), *self.where.glob(f"{experiment}/{key}.json")]
            paths.sort(key=lambda path: path.name)
            read = ((path, record.read(path)) for path in paths)
            # What a record says of itself counts, not its file's name.
            self._read[key] = [pair for pair in read if pair[1]["experiment"] == experiment]
        read = (one for _, one in self._read[key])
        return [one for one in read if settings.items() <= one["settings"].items()]

    def files(self, runs: Sequence[Record]) -> dict[str, str]:
        """Return the files of records, from their names to their SHA-256."""
        wanted = {id(run) for run in runs}
        results = [p for read in self._read.values() for p, run in read
                 if p.name and id(run) in wanted]  # fmt: skip
        return {
            path.relative_to(self.where).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(results)
        }


@dataclass(frozen=True)
class Finding:
    """One measurement on a claim.

    Attributes:
        what: What was compared, where, in words.
        differences: One a seed, below 0 where the claim is true; infinite where something was
            never reached, NaN where a run ended without a number. Of an exact statement the single
            number that is to be 0 at most.
        unit: Of the differences.
        shares: The same as shares of what is compared with, the unit that all claims have in
            common; ``None`` where there is none.
        runs: The records behind it.
        counts: Whether the label of the claim rests on it; others stand beside.
        exact: Whether it is computed, not trained: then one number decides.
        turned: Whether more is better: a reader is told the differences with the other sign.
        untestable: Why it cannot be tested here, such as :data:`lnlab.comparison.NO_PLATEAU`.
        corrected: The p value, corrected for all comparisons of the page.
    """

    what: str
    differences: np.ndarray
    unit: str
    shares: np.ndarray | None = None
    runs: tuple[Record, ...] = ()
    counts: bool = True
    exact: bool = False
    turned: bool = False
    untestable: str = ""
    corrected: float | None = None

    @property
    def label(self) -> comparison.Label:
        """What can be said by this measurement."""
        if self.untestable:
            return comparison.untestable(self.untestable)
        if self.exact:
            return comparison.exact(self.differences)
        return comparison.label(self.differences, self.corrected)

    @property
    def seeds(self) -> int:
        """How many."""
        return len(self.differences)

    def range(self, shares: bool = False) -> tuple[float, float, float]:
        """Return mean, lower and upper bound of the differences, or of the shares."""
        values = self.shares if shares else self.differences
        with np.errstate(invalid="ignore"):  # never for one, and for the baseline
            return float(values.mean()), *comparison.limits(values)


@dataclass(frozen=True)
class Claim:
    """A sentence that could be false of the world.

    Attributes:
        name: For addresses.
        section: Of the paper; of tutorials, the word ``tutorials``.
        quote: The words, a phrase at most.
        says: The claim as a whole sentence.
        there: At which scale it was found there.
        here: What stands in for that here.
        page: The chapter that goes into it.
        experiments: Whose records decide; none if it is computed, or open.
        evaluate: From the records to what they say; nothing where they are missing.
        beside: What was different here, or what limits the claim.
    """

    name: str
    section: str
    quote: str
    says: str
    there: str
    here: str
    page: str
    experiments: tuple[str, ...] = ()
    evaluate: Callable[[Records], list[Finding]] = field(default=lambda records: [])
    beside: str = ""

    @property
    def commands(self) -> list[str]:
        """What records the runs behind it."""
        return [f"python -m lnlab replay {name}" for name in self.experiments]


@dataclass(frozen=True)
class ClaimResult:
    """A claim with what was found on it; the findings that count come first."""

    claim: Claim
    findings: tuple[Finding, ...]
    files: dict[str, str]

    @property
    def counting(self) -> list[Finding]:
        """The findings on which the label rests."""
        return [finding for finding in self.findings if finding.counts]

    @property
    def label(self) -> comparison.Label:
        """What all findings that count come to together."""
        if not self.counting:
            missing = bool(self.claim.experiments)
            return comparison.untestable(
                comparison.NOT_RECORDED if missing else comparison.NOT_MEASURED
            )
        return comparison.together([finding.label for finding in self.counting])

    @property
    def seeds(self) -> str:
        """How many seeds there are, from the fewest to the most; empty of exact statements."""
        seeds = sorted({finding.seeds for finding in self.counting if not finding.exact})
        if not seeds:
            return ""
        count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        return f"{count} seed{'s' * (seeds[-1] > 1)}"

    @property
    def scale(self) -> str:
        """What was recorded: seeds, size against the paper, device; empty where nothing was."""
        runs = [run for finding in self.counting for run in finding.runs]
        if not runs:
            return ""
        devices = sorted({run["provenance"]["device"] for run in runs})
        return f"{self.seeds}; {relative(runs)}; {', '.join(devices)}"

    @property
    def evidence(self) -> str:
        """What a line says beside its label: its seeds, and the size against the paper."""
        runs = [run for finding in self.counting for run in finding.runs]
        if not self.seeds:
            exact = self.label.evidence is comparison.Evidence.EXACT
            return "computed" if exact else self.label.evidence.value
        return f"{self.seeds}; {relative(runs) if runs else 'without training'}"


def evaluate(claim: Claim, records: Records) -> ClaimResult:
    """Weigh one claim by the records of a folder."""
    findings = claim.evaluate(records)
    findings = tuple(sorted(findings, key=lambda finding: not finding.counts))
    runs = [run for finding in findings for run in finding.runs]
    return ClaimResult(claim, findings, records.files(runs))


def corrected(weighed: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Correct the p values of all findings that count and have ten seeds or more, by Holm.

    A measurement that stands under two claims is one comparison.
    """
    tested = {_key(one): one.differences for one in comparisons(weighed)}
    p_values = dict(zip(tested, comparison.corrected_p_values([*tested.values()]), strict=True))
    return [
        dataclasses.replace(one, findings=tuple(
            dataclasses.replace(finding, corrected=p_values.get(_key(finding)))
            for finding in one.findings
        ))
        for one in weighed
    ]  # fmt: skip


def comparisons(weighed: Sequence[ClaimResult]) -> list[Finding]:
    """Return the findings that are tested, each once."""
    tested = [finding for one in weighed for finding in one.counting
              if finding.label.evidence is comparison.Evidence.MANY]  # fmt: skip
    return list({_key(finding): finding for finding in tested}.values())


def _key(finding: Finding) -> tuple[str, bytes]:
    return finding.what, finding.differences.tobytes()
