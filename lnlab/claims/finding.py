"""Claims, findings on them and their labels."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lnlab import comparison, experiments
from lnlab import records as record
from lnlab.claims.scale import relative

Record = dict[str, Any]


class Records:
    """The records of a folder, which are read when they are needed.

    Args:
        where: The folder; the book's if ``None``.
    """

    def __init__(self, where: Path | str | None = None) -> None:
        self.where = record.installed() if where is None else Path(where)
        if not self.where.is_dir():
            raise ValueError(
                f"claims: runs must be a folder of records, got {str(where)!r}; python -m lnlab "
                "replay book creates one"
            )
        self._read: dict[str, list[tuple[Path, Record]]] = {}

    @classmethod
    def from_runs(cls, experiment: str, runs: Sequence[Record]) -> Records:
        """Return an instance with records of one experiment that are already in memory."""
        records = cls.__new__(cls)
        records.where = Path()
        records._read = {f"{experiment}-*": [(Path(), run) for run in runs]}
        return records

    def select(self, experiment: str, named: str = "*", **settings: Any) -> list[Record]:
        """Return the records of an experiment whose settings have the given values.

        Args:
            experiment: Name of the experiment.
            named: Pattern of the rest of the file name, to read only some of many files.
            **settings: Values of settings to select by.
        """
        key = f"{experiment}-{named}"
        if key not in self._read:
            paths = [*self.where.glob(f"{key}.json"), *self.where.glob(f"{experiment}/{key}.json")]
            paths.sort(key=lambda path: path.name)
            read = ((path, record.read(path)) for path in paths)
            # The pattern also matches other experiments whose name begins with this one.
            self._read[key] = [pair for pair in read if pair[1]["experiment"] == experiment]
        return [run for _, run in self._read[key] if settings.items() <= run["settings"].items()]

    def files(self, runs: Sequence[Record]) -> dict[str, str]:
        """Return the SHA-256 of the files of some records, by file name.

        A record may have been cut: it shares its provenance with the record that was read.
        """
        ids = {id(run["provenance"]) for run in runs}
        paths = [
            path for read in self._read.values() for path, run in read
            if path.name and id(run["provenance"]) in ids
        ]  # fmt: skip
        return {
            path.relative_to(self.where).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(paths)
        }


@dataclass(frozen=True)
class Finding:
    """One measurement that tests a claim.

    Attributes:
        description: Description of the comparison.
        differences: One per seed, negative if the claim is true; infinite if a target was never
            reached, NaN if a run has no value. An exact statement has one number, which must not be
            above 0.
        unit: Unit of the differences.
        shares: The differences relative to the baseline, or ``None`` if this is not meaningful.
        runs: The records that were used.
        counts: Whether the label of the claim is based on it; other findings are only shown.
        exact: Whether it is computed without training, so that one number decides.
        turned: Whether higher is better: differences are then printed with the opposite sign.
        untestable: Why it cannot be tested here, such as :data:`lnlab.comparison.NO_PLATEAU`.
        corrected: The p value, corrected for all comparisons of the page.
        epochs: The number of epochs to which the runs were cut, so that all are equally long.
    """

    description: str
    differences: np.ndarray
    unit: str
    shares: np.ndarray | None = None
    runs: tuple[Record, ...] = ()
    counts: bool = True
    exact: bool = False
    turned: bool = False
    untestable: str = ""
    corrected: float | None = None
    epochs: float = math.inf

    @property
    def compared(self) -> list[Record]:
        """The records, of which the epochs end where the runs were cut."""
        return [
            run | {"curves": {"epoch": [e for e in run["curves"]["epoch"] if e <= self.epochs]}}
            for run in self.runs
        ]

    @property
    def label(self) -> comparison.Label:
        """The label of this finding."""
        if self.untestable:
            return comparison.untestable(self.untestable)
        if self.exact:
            return comparison.exact(self.differences)
        return comparison.label(self.differences, self.corrected)

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.differences)

    def range(self, shares: bool = False) -> tuple[float, float, float]:
        """Return mean, lower and upper bound of the differences, or of the shares."""
        values = self.shares if shares else self.differences
        with np.errstate(invalid="ignore"):  # inf - inf, if both signs are among the differences
            return float(values.mean()), *comparison.limits(values)


@dataclass(frozen=True)
class Claim:
    """An empirical or mathematical claim of the paper or of tutorials.

    Attributes:
        name: Identifier, used in addresses of pages.
        section: Section of the paper, or ``tutorials``.
        quote: The source's words, at most a phrase.
        statement: The claim as a complete sentence.
        paper_setup: The model and data of the source.
        book_setup: The model and data of the book.
        page: The chapter about it.
        experiments: Experiments whose records test it; none if it is computed or not tested.
        evaluate: Returns the findings from the records; none if records are missing.
        caveat: A limitation, or a difference from the source.
    """

    name: str
    section: str
    quote: str
    statement: str
    paper_setup: str
    book_setup: str
    page: str
    experiments: tuple[str, ...] = ()
    evaluate: Callable[[Records], list[Finding]] = field(default=lambda records: [])
    caveat: str = ""

    @property
    def commands(self) -> list[str]:
        """The commands that record the runs."""
        return [experiments.find(name).main_command for name in self.experiments]


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its findings, those that count first."""

    claim: Claim
    findings: tuple[Finding, ...]
    files: dict[str, str]

    @property
    def counting(self) -> list[Finding]:
        """The findings on which the label is based."""
        return [finding for finding in self.findings if finding.counts]

    def matching(self, text: str) -> list[Finding]:
        """Return the findings on which the label is based and whose description has this text."""
        return [finding for finding in self.counting if text in finding.description]

    @property
    def label(self) -> comparison.Label:
        """The combined label of all findings that count."""
        if not self.counting:
            missing = bool(self.claim.experiments)
            return comparison.untestable(
                comparison.NOT_RECORDED if missing else comparison.NOT_MEASURED
            )
        return comparison.together([finding.label for finding in self.counting])

    @property
    def seeds(self) -> str:
        """Number of seeds, or its range, in words; empty for exact statements."""
        recorded = [x for x in self.counting if x.untestable != comparison.NOT_RECORDED]
        seeds = sorted({finding.seeds for finding in recorded if not finding.exact})
        if not seeds:
            return ""
        count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        return f"{count} seed{'s' * (seeds[-1] > 1)}"

    @property
    def scale(self) -> str:
        """Seeds, size compared with the paper, and devices of the runs; empty without runs."""
        runs = [run for finding in self.counting for run in finding.compared]
        if not runs:
            return ""
        devices = sorted({run["provenance"]["device"] for run in runs})
        return f"{self.seeds}; {relative(runs)}; {', '.join(devices)}"

    @property
    def evidence(self) -> str:
        """Seeds and size compared with the paper, as shown next to the label."""
        runs = [run for finding in self.counting for run in finding.compared]
        if not self.seeds:
            exact = self.label.evidence is comparison.Evidence.EXACT
            return "computed" if exact else self.label.evidence.value
        return f"{self.seeds}; {relative(runs) if runs else 'without training'}"


def evaluate(claim: Claim, records: Records) -> ClaimResult:
    """Evaluate one claim with the records of a folder."""
    findings = claim.evaluate(records)
    findings = tuple(sorted(findings, key=lambda finding: not finding.counts))
    runs = [run for finding in findings for run in finding.runs]
    return ClaimResult(claim, findings, records.files(runs))


def corrected(results: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Apply Holm's correction to all findings that count and have ten seeds or more.

    A finding that belongs to two claims is one comparison.
    """
    tested = {_key(finding): finding.differences for finding in comparisons(results)}
    p_values = dict(zip(tested, comparison.corrected_p_values([*tested.values()]), strict=True))
    return [
        dataclasses.replace(result, findings=tuple(
            dataclasses.replace(finding, corrected=p_values.get(_key(finding)))
            for finding in result.findings
        ))
        for result in results
    ]  # fmt: skip


def comparisons(results: Sequence[ClaimResult]) -> list[Finding]:
    """Return the findings that are tested, each once."""
    tested = [finding for result in results for finding in result.counting
              if finding.label.evidence is comparison.Evidence.MANY]  # fmt: skip
    return list({_key(finding): finding for finding in tested}.values())


def _key(finding: Finding) -> tuple[str, bytes]:
    return finding.description, finding.differences.tobytes()
