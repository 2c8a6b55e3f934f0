"""Compare two methods that were trained with the same seeds; assign one label to every claim.

All pages and commands use this protocol. It was fixed on 25 November 2026, when most of the book's
runs had been recorded and compared by another rule. Only records with a later date are of runs that
were not known then.

**Labels.** An exact statement *holds* or *does not hold*. For paired runs with ten seeds or more,
a claim is *supported*, *contradicted* or *undecided* at the 5% level: by a paired t test, or by a
sign test if a target was never reached, with Holm's correction over all findings of a page that
count and have as many seeds. The 95% interval next to the label is not corrected. With fewer seeds
there is no test: *3 of 3 seeds* counts those that agree with the claim. *Not testable here* comes
with a reason.

**Faster.** Three targets are 50, 75 and 90% of the way from the baseline's initial value to its
plateau. Both are means over the baseline's seeds, so that all seeds have the same targets. Curves
are smoothed over three measuring points, and the first crossing is interpolated. The result is the
ratio of updates, method to baseline, for each seed.

**The end** is the mean of the last quarter of the measuring points, at least three of them.

**Plateau.** The mean curve over seeds has leveled off if its mean over the last quarter of the
updates differs from that over the quarter before by less than 2% of its total improvement. A drift
of 2% moves the last target, which leaves 10% of the way, by a fifth of the remaining distance; a
larger drift would make it another target. Without a plateau, neither the end nor the targets can be
tested. It is a plateau at the scale of this run, not of the paper's training; the paper's number of
updates is shown next to it. Until 28 November 2026, when all runs were known, the last two eighths
were compared. Curves that still fell by almost 2% per eighth passed, such as DRAW's with batches
of 8.
"""

import dataclasses
import enum
import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr, stdtrit

NUM_RESAMPLES = 20_000
MAX_ENUMERATED = 6  # up to this many differences, all n^n resamples are enumerated: 46,656 for 6
MIN_SEEDS = 10  # fewer seeds have neither a test nor an interval
SIGNIFICANCE_LEVEL = 0.05  # of the test, after Holm's correction

HOLDS, FAILS = "holds", "does not hold"
SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"
UNTESTABLE = "not testable here"
NOT_RECORDED, NOT_MEASURED = "not recorded yet", "nothing here measures it"
NO_PLATEAU, WORSENS = "stopped before a plateau", "gets worse before it levels off"
NO_PROGRESS, DIVERGED = "no improvement on the initial value", "diverged"
BUSY = "times of two implementations, on a busy machine"
TRIVIAL = "model below a trivial baseline"


class Evidence(enum.StrEnum):
    """The kind of evidence behind a label, strongest first."""

    EXACT = "exact"
    MANY = "ten seeds or more"
    FEW = "few seeds"
    NONE = "not testable"


@dataclasses.dataclass(frozen=True)
class Label:
    """The verdict on a claim.

    Attributes:
        evidence: The kind of evidence.
        text: The verdict in words, such as ``supported`` or ``3 of 3 seeds``.
        side: 1 for the claim, -1 against it, 0 for neither. With few seeds, 1 or -1 only if all
            seeds agree.
        reason: Why it is not testable.
    """

    evidence: Evidence
    text: str
    side: int = 0
    reason: str = ""

    @property
    def group(self) -> str:
        """The text under which labels are counted; all counts of seeds are one group."""
        few = self.evidence is Evidence.FEW
        return "a count of few seeds" if few else self.text

    def __str__(self) -> str:
        """Return the text, with the reason if there is one."""
        return f"{self.text}: {self.reason}" if self.reason else self.text


def untestable(reason: str) -> Label:
    """Return the label of a claim that cannot be tested here.

    Example:
        >>> str(untestable(NO_PLATEAU))
        'not testable here: stopped before a plateau'
    """
    return Label(Evidence.NONE, UNTESTABLE, 0, reason)


def exact(differences: np.ndarray) -> Label:
    """Return the label of an exact statement, which holds if no difference is above 0."""
    holds = bool((np.asarray(differences) <= 0).all())
    return Label(Evidence.EXACT, HOLDS if holds else FAILS, 1 if holds else -1)


def label(differences: np.ndarray, p: float | None = None) -> Label:
    """Map paired differences, which are negative where a claim is true, to a label.

    Args:
        differences: One per seed, shape ``(n,)``, in any unit; infinite if a target was never
            reached, NaN if a run has no value.
        p: The corrected p value, from :func:`holm`. If ``None``, the uncorrected :func:`p_value`.

    Raises:
        ValueError: If ``differences`` is not a one-dimensional array, or is empty.

    Example:
        >>> str(label(np.array([-3.0, -1.0, 2.0]))), str(label(-np.arange(1.0, 11)))
        ('2 of 3 seeds', 'supported')
    """
    d = _check_differences("label", differences)
    agree, n = int((d < 0).sum()), len(d)
    if np.isnan(d).all():
        return untestable("no run has a number")
    if n < MIN_SEEDS:
        side = 1 if agree == n else -1 if (d > 0).all() else 0
        return Label(Evidence.FEW, f"{agree} of {n} seed{'s' * (n > 1)}", side)
    p = p_value(d) if p is None else p
    if p >= SIGNIFICANCE_LEVEL:
        return Label(Evidence.MANY, UNDECIDED)
    side = 1 if _direction(d) < 0 else -1
    return Label(Evidence.MANY, SUPPORTED if side > 0 else CONTRADICTED, side)


def labels(rows: Sequence[np.ndarray | str]) -> list[Label]:
    """Map the rows of a table to labels, with Holm's correction over those that are tested.

    Args:
        rows: The differences of each row, as for :func:`label`, or why it cannot be tested.

    Example:
        >>> list(map(str, labels([np.array([-3.0, -1.0]), -np.arange(1.0, 11), NO_PLATEAU])))
        ['2 of 2 seeds', 'supported', 'not testable here: stopped before a plateau']
    """
    results = [untestable(row) if isinstance(row, str) else label(row) for row in rows]
    tested = [k for k, label in enumerate(results) if label.evidence is Evidence.MANY]
    for k, p in zip(tested, corrected_p_values([rows[k] for k in tested]), strict=True):
        results[k] = label(rows[k], p)
    return results


def together(parts: Sequence[Label]) -> Label:
    """Combine labels into that of a claim with which all of the measurements must agree.

    One exact statement that does not hold is enough for the claim not to hold. If one measurement
    cannot be tested, the claim cannot; if one has few seeds, the result is a count: the lowest and
    the highest number of seeds that agree.

    Example:
        >>> few = [label(np.array([-3.0, -1.0, 2.0])), label(np.array([-3.0, -1.0, -2.0]))]
        >>> str(together(few))
        '2 to 3 of 3 seeds'
    """
    kinds = {part.evidence for part in parts}
    if Evidence.NONE in kinds:
        missing = [part for part in parts if part.evidence is Evidence.NONE]
        reasons = "; ".join(dict.fromkeys(part.reason for part in missing))
        part = f"{len(missing)} of {len(parts)} measures: " if len(parts) > len(missing) else ""
        return untestable(part + reasons)
    texts, sides = {part.text for part in parts}, {part.side for part in parts}
    if kinds == {Evidence.EXACT}:
        return min(parts, key=lambda part: part.side)
    if len(texts) == 1:
        return parts[0]
    side = sides.pop() if len(sides) == 1 else 0
    if Evidence.FEW not in kinds:
        texts_by_side = {1: SUPPORTED, -1: CONTRADICTED, 0: UNDECIDED}
        return Label(Evidence.MANY, texts_by_side[side], side)
    counts = [part.text.split() for part in parts if part.evidence is Evidence.FEW]
    if len({fields[2] for fields in counts}) == 1 and kinds == {Evidence.FEW}:
        agree = sorted(int(fields[0]) for fields in counts)
        return Label(Evidence.FEW, f"{agree[0]} to {' '.join([str(agree[-1]), *counts[0][1:]])}",
                     side)  # fmt: skip
    for_it = sum(part.side > 0 for part in parts)
    return Label(Evidence.FEW, f"all seeds in {for_it} of {len(parts)} measures", side)


def _check_differences(name: str, differences: np.ndarray) -> np.ndarray:
    d = np.asarray(differences, float)
    if d.ndim != 1 or not len(d):
        raise ValueError(
            f"{name}: differences must be of shape (n,), one per seed, got {d.shape}; test each "
            "column separately"
        )
    return d


def _direction(d: np.ndarray) -> float:
    """Return the sign of the mean, or that of the majority if a difference is not finite."""
    return float(np.sign(d.mean() if np.isfinite(d).all() else np.nansum(np.sign(d))))


def p_value(differences: np.ndarray) -> float:
    """Return the two-sided p value of a paired t test, or of a sign test.

    The sign test, of the nonzero differences, is used if any difference is not finite.

    Example:
        >>> round(p_value(np.array([-3.0, -1.0, -2.0])), 4)
        0.0742
    """
    d = _check_differences("p_value", differences)
    if not np.isfinite(d).all():
        below, above = int((d < 0).sum()), int((d > 0).sum())
        tail = sum(math.comb(below + above, k) for k in range(min(below, above) + 1))
        return min(1.0, 2 * tail / 2 ** (below + above))
    if len(d) < 2:
        return 1.0
    mean, error = d.mean(), d.std(ddof=1) / math.sqrt(len(d))
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(len(d) - 1, -abs(mean / error)))


def t_interval(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95% confidence interval of a mean by Student's t distribution."""
    d = _check_differences("t_interval", differences)
    high = stdtrit(len(d) - 1, 1 - SIGNIFICANCE_LEVEL / 2)
    half = high * d.std(ddof=1) / math.sqrt(len(d))
    return float(d.mean() - half), float(d.mean() + half)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for multiple testing by Holm's method.

    ::

        corrected p_(k) = min(1, max over j <= k of (m - j + 1) p_(j)), p_(1) <= ... <= p_(m)

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[k]))
        corrected[k] = highest
    return corrected


def corrected_p_values(comparisons: Sequence[np.ndarray]) -> list[float]:
    """Return the p values of several comparisons, corrected by :func:`holm`.

    Args:
        comparisons: The differences of each comparison, as for :func:`p_value`.
    """
    return holm([p_value(differences) for differences in comparisons])


def interval(differences: np.ndarray, *, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean.

    ::

        draw n of the n differences with replacement and take their mean, many times
        low, high = the (1 - level)/2 and (1 + level)/2 quantiles of these means

    For up to six differences, all n^n resamples are enumerated; otherwise they are drawn with seed
    0. For few differences, the coverage is below ``level``: for samples from a normal distribution,
    the 95% interval contains the true mean in about 90% of cases for n = 10, 75% for n = 3.

    Args:
        differences: One per seed, shape ``(n,)``, in any unit.
        level: The confidence level, between 0 and 1.

    Returns:
        ``(low, high)`` in the unit of ``differences``.

    Raises:
        ValueError: If there are fewer than two differences, one is not finite, or ``level`` is
            not between 0 and 1.

    Example:
        >>> interval(np.array([-3.0, -1.0, -2.0]))
        (-3.0, -1.0)
    """
    d = np.asarray(differences, float)
    if d.ndim != 1 or len(d) < 2 or not np.isfinite(d).all():
        raise ValueError(
            "interval: differences must be two or more finite numbers, one per seed, got "
            f"{differences!r}; record more seeds"
        )
    if not 0 < level < 1:
        raise ValueError(f"interval: level must lie between 0 and 1, such as 0.95, got {level!r}")
    n = len(d)
    if n <= MAX_ENUMERATED:
        indices = np.array(list(itertools.product(range(n), repeat=n)))
    else:
        indices = np.random.default_rng(0).integers(n, size=(NUM_RESAMPLES, n))
    # Sorted, so that the mean of a resample does not depend on the order of summation.
    means = np.sort(d)[np.sort(indices, axis=1)].mean(axis=1)
    # No interpolation: each limit is the mean of a resample.
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low), float(high)


def limits(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95% t interval of ten or more differences, else their minimum and maximum.

    The minimum and maximum are also returned if a difference is infinite.

    Raises:
        ValueError: If ``differences`` is not a one-dimensional array, or is empty.

    Example:
        >>> limits(np.array([-3.0, -1.0, -2.0]))
        (-3.0, -1.0)
    """
    d = _check_differences("limits", differences)
    if len(d) >= MIN_SEEDS and np.isfinite(d).all():
        return t_interval(d)
    return float(d.min()), float(d.max())


def limits_name(n: int) -> str:
    """Return in words what :func:`limits` returns for ``n`` differences.

    Example:
        >>> limits_name(3), limits_name(10)
        ('lowest to highest', '95% interval')
    """
    return "95% interval" if n >= MIN_SEEDS else "lowest to highest"
