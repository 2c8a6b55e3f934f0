"""Compare two methods that ran with the same seeds: the protocol, and one label for every claim.

The protocol was written down before its results were looked at. All pages and commands use it.

**Labels.** An exact statement *holds* or *does not hold*. Paired runs of ten seeds or more are
*supported*, *contradicted* or *undecided* at 5 %: by a paired t test, or a sign test where
something was never reached, with Holm's correction over all findings of a page that count and have
as many seeds. The 95 % interval beside the label is not corrected. Fewer seeds have no verdict:
*3 of 3 seeds* counts those that agree with the claim. *Not testable here* has a reason.

**Faster.** Three targets lie 50, 75 and 90 % of the way from the baseline's initial value to the
level where it plateaus, both means over its seeds, so that all seeds have the same targets. A
curve is smoothed over three measuring points, and the first crossing is interpolated. What is told
is the ratio of updates, method by baseline, seed by seed.

**The end** is the mean of the last quarter of the measuring points, of three at least.

**Plateau.** An arm's mean over its seeds has leveled off if its mean over the last eighth of the
updates differs from that over the eighth before by less than 2 % of its whole improvement. A level
that drifts by 2 % moves the last target, which leaves 10 % of the way, by a fifth of what is left;
more would make it another target. Without a plateau neither the end nor the targets can be tested.
It is a plateau at the scale of the run, not of the paper's training, which is told beside it.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import math
from collections.abc import Sequence

import numpy as np

DRAWS = 20_000
EXACT = 6  # up to 6 differences all resamples are listed, 46,656 of them
ENOUGH = 10  # seeds, from which on there is a test and an interval
LEVEL = 0.05  # of the test, after Holm's correction

HOLDS, FAILS = "holds", "does not hold"
SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"
UNTESTABLE = "not testable here"
NOT_RECORDED, NOT_MEASURED = "not recorded yet", "nothing here measures it"
NO_PLATEAU, WORSENS = "stopped before a plateau", "gets worse before it levels off"
NO_PROGRESS, DIVERGED = "no improvement on the initial value", "diverged"
BUSY = "times of two implementations, on a busy machine"
TRIVIAL = "model below a trivial baseline"


class Evidence(enum.StrEnum):
    """What a label rests on, the strongest first."""

    EXACT = "exact"
    MANY = "ten seeds or more"
    FEW = "few seeds"
    NONE = "not testable"


@dataclasses.dataclass(frozen=True)
class Label:
    """What can be said on a claim.

    Attributes:
        evidence: What it rests on.
        text: The words, such as ``supported`` or ``3 of 3 seeds``.
        side: 1 for the claim, -1 against it, 0 neither; of few seeds, where all agree.
        reason: Why it is not testable.
    """

    evidence: Evidence
    text: str
    side: int = 0
    reason: str = ""

    @property
    def group(self) -> str:
        """The words by which labels are counted: a count of seeds is no verdict."""
        few = self.evidence is Evidence.FEW
        return "a count of few seeds" if few else self.text

    def __str__(self) -> str:
        """Return the words, with the reason."""
        return f"{self.text}: {self.reason}" if self.reason else self.text


def untestable(reason: str) -> Label:
    """Return the label of what cannot be tested here.

    Example:
        >>> str(untestable(NO_PLATEAU))
        'not testable here: stopped before a plateau'
    """
    return Label(Evidence.NONE, UNTESTABLE, 0, reason)


def exact(differences: np.ndarray) -> Label:
    """Return the label of an exact statement, none of whose numbers may be above 0."""
    good = bool((np.asarray(differences) <= 0).all())
    return Label(Evidence.EXACT, HOLDS if good else FAILS, 1 if good else -1)


def label(differences: np.ndarray, p: float | None = None) -> Label:
    """Map paired differences, below 0 where a claim is true, to a label.

    Args:
        differences: One a seed, shape ``(n,)``, in any unit; infinite where something was never
            reached, NaN where a run ended without a number.
        p: The corrected p value, from :func:`holm`; :func:`p_value`'s, of this comparison alone,
            if ``None``.

    Raises:
        ValueError: If ``differences`` are not real numbers on one axis, or masked, or none.

    Example:
        >>> str(label(np.array([-3.0, -1.0, 2.0]))), str(label(-np.arange(1.0, 11)))
        ('2 of 3 seeds', 'supported')
    """
    d = _checked("label", differences)
    agree, n = int((d < 0).sum()), len(d)
    if np.isnan(d).all():
        return untestable("no run has a number")
    if n < ENOUGH:
        side = 1 if agree == n else -1 if (d > 0).all() else 0
        return Label(Evidence.FEW, f"{agree} of {n} seed{'s' * (n > 1)}", side)
    p = p_value(d) if p is None else p
    if p >= LEVEL:
        return Label(Evidence.MANY, UNDECIDED)
    side = 1 if _direction(d) < 0 else -1
    return Label(Evidence.MANY, SUPPORTED if side > 0 else CONTRADICTED, side)


def labels(rows: Sequence[np.ndarray | str]) -> list[Label]:
    """Map the rows of one table to labels, with Holm's correction over those that are tested.

    Args:
        rows: Of each its differences, as :func:`label` takes them, or why it cannot be tested.

    Example:
        >>> [str(one) for one in labels([np.array([-3.0, -1.0]), -np.arange(1.0, 11), NO_PLATEAU])]
        ['2 of 2 seeds', 'supported', 'not testable here: stopped before a plateau']
    """
    results = [untestable(row) if isinstance(row, str) else label(row) for row in rows]
    tested = [k for k, one in enumerate(results) if one.evidence is Evidence.MANY]
    for k, p in zip(tested, corrected_p_values([rows[k] for k in tested]), strict=True):
        results[k] = label(rows[k], p)
    return results


def together(found: Sequence[Label]) -> Label:
    """Return the label of a claim all of whose measurements must agree with it.

    Of exact statements one exception is enough. Where one of several cannot be tested the whole
    cannot; where one has few seeds, the whole is a count: the fewest and the most that agree.

    Example:
        >>> few = [label(np.array([-3.0, -1.0, 2.0])), label(np.array([-3.0, -1.0, -2.0]))]
        >>> str(together(few))
        '2 to 3 of 3 seeds'
    """
    kinds = {one.evidence for one in found}
    if Evidence.NONE in kinds:
        missing = [one for one in found if one.evidence is Evidence.NONE]
        reasons = "; ".join(dict.fromkeys(one.reason for one in missing))
        part = f"{len(missing)} of {len(found)} measures: " if len(found) > len(missing) else ""
        return untestable(part + reasons)
    texts, sides = {one.text for one in found}, {one.side for one in found}
    if kinds == {Evidence.EXACT}:
        return min(found, key=lambda one: one.side)
    if len(texts) == 1:
        return found[0]
    side = sides.pop() if len(sides) == 1 else 0
    if Evidence.FEW not in kinds:
        words = {1: SUPPORTED, -1: CONTRADICTED, 0: UNDECIDED}
        return Label(Evidence.MANY, words[side], side)
    counts = [one.text.split() for one in found if one.evidence is Evidence.FEW]
    if len({words[2] for words in counts}) == 1 and kinds == {Evidence.FEW}:
        agree = sorted(int(words[0]) for words in counts)
        return Label(Evidence.FEW, f"{agree[0]} to {' '.join([str(agree[-1]), *counts[0][1:]])}",
                     side)  # fmt: skip
    for_it = sum(one.side > 0 for one in found)
    return Label(Evidence.FEW, f"all seeds in {for_it} of {len(found)} measures", side)


def _checked(name: str, differences: np.ndarray) -> np.ndarray:
    d = np.asarray(differences)
    if not _real(differences) or not len(d):
        raise ValueError(
            f"{name}: differences must be real, without a mask, and of shape (n,), one a seed, got "
            f"{type(differences).__name__} of {d.dtype} {d.shape}; judge each column alone"
        )
    return d.astype(float)


def _real(differences: np.ndarray) -> bool:
    """Say whether these are real numbers on one axis, with no mask, which would be lost."""
    d = np.asarray(differences)
    return not np.ma.isMaskedArray(differences) and d.dtype.kind in "fiub" and d.ndim == 1


def _direction(d: np.ndarray) -> float:
    """Return the sign of what a test found: of the mean, or of most where one is infinite."""
    return float(np.sign(d.mean() if np.isfinite(d).all() else np.nansum(np.sign(d))))


# The test: a paired t test, a sign test, and Holm's correction.


def p_value(differences: np.ndarray) -> float:
    """Return the two-sided p value of a paired t test, or of a sign test.

    The sign test, of the differences that are not 0, is for those of which one is not finite.

    Example:
        >>> round(p_value(np.array([-3.0, -1.0, -2.0])), 4)
        0.0742
    """
    d = _checked("p_value", differences)
    if not np.isfinite(d).all():
        less, more = int((d < 0).sum()), int((d > 0).sum())
        tail = sum(math.comb(less + more, k) for k in range(min(less, more) + 1))
        return min(1.0, 2 * tail / 2 ** (less + more))
    mean, error = d.mean(), d.std(ddof=1) / math.sqrt(len(d)) if len(d) > 1 else math.inf
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return t_tails(mean / error, len(d) - 1)


def t_tails(t: float, freedom: int) -> float:
    """Return the probability that Student's t is as far from 0 as ``t`` or farther.

    ``t = sqrt(freedom) tan(a)`` turns the density into cos(a)^(freedom - 1), which Gauss-Legendre
    integrates; tested against SciPy.
    """
    if freedom < 1:
        return 1.0
    nodes, weights = np.polynomial.legendre.leggauss(80)

    def area(low: float) -> float:
        half = (math.pi / 2 - low) / 2
        return float(half * (weights @ np.cos(low + half * (nodes + 1)) ** (freedom - 1)))

    return area(math.atan(abs(t) / math.sqrt(freedom))) / area(0.0)


def t_interval(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a mean by Student's t: what the t test at 5 % does not reject."""
    d = _checked("t_interval", differences)
    low, high = 0.0, 1e3
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tails(middle, len(d) - 1) > LEVEL else (low, middle)
    unit = max(np.abs(d).max(), 1e-300)  # or squares overflow
    half = high * (d / unit).std(ddof=1) / math.sqrt(len(d))
    return float(unit * ((d / unit).mean() - half)), float(unit * ((d / unit).mean() + half))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number, by Holm's method.

    ::

        the k-th lowest of m counts (m - k + 1) times, but not less than a lower one, at most 1

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
    """Return the p values of several comparisons, corrected for their number by :func:`holm`.

    Args:
        comparisons: Of each its differences, as :func:`p_value` takes them.
    """
    return holm([p_value(differences) for differences in comparisons])


def interval(
    differences: np.ndarray, *, level: float = 0.95, rng: np.random.Generator | None = None
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean.

    ::

        resample n of the n differences with replacement, take the mean; again and again
        low, high = the (1 - level)/2 and (1 + level)/2 quantiles of these means

    Up to six differences every resample is listed once, n^n of them, and nothing is random. Of few
    differences it promises more than it keeps: drawn from a normal distribution, ten of them give
    an interval that holds the true mean in about 90 % of cases, three in 75 %.

    Args:
        differences: One a seed, shape ``(n,)``, in any unit.
        level: Share of the means that lie inside, between 0 and 1.
        rng: Draws the resamples where they are too many to list. ``None`` means seed 0.

    Returns:
        ``(low, high)`` in the unit of ``differences``.

    Raises:
        ValueError: If there are fewer than two differences, one is not finite, or ``level`` is
            not between 0 and 1.

    Example:
        >>> interval(np.array([-3.0, -1.0, -2.0]))
        (-3.0, -1.0)
    """
    d = np.asarray(differences)
    if not _real(differences) or len(d) < 2 or not np.isfinite(d).all():
        raise ValueError(
            "interval: differences must be two or more finite numbers, one a seed, got "
            f"{differences!r}; record more seeds"
        )
    if not 0 < level < 1:
        raise ValueError(f"interval: level must lie between 0 and 1, such as 0.95, got {level!r}")
    n, d = len(d), d.astype(float)
    if n <= EXACT:
        drawn = np.array(list(itertools.product(range(n), repeat=n)))
    else:
        drawn = np.random.default_rng(0 if rng is None else rng).integers(n, size=(DRAWS, n))
    # Sorted first: the same three numbers in another order must not differ in the last digit.
    unit = 2.0 ** n.bit_length() if np.abs(d).max() > 1e300 else 1.0  # or their sum overflows
    means = np.sort(d / unit)[np.sort(drawn, axis=1)].mean(axis=1)
    # No interpolation: a quantile is a mean that was drawn.
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low * unit), float(high * unit)


def limits(differences: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest of few differences, the 95 % interval of ten or more.

    Nor have those an interval of which one is infinite, where something was never reached.

    Raises:
        ValueError: If ``differences`` are not real numbers on one axis, or masked, or none.

    Example:
        >>> limits(np.array([-3.0, -1.0, -2.0]))
        (-3.0, -1.0)
    """
    d = _checked("limits", differences)
    if len(d) >= ENOUGH and np.isfinite(d).all():
        return t_interval(d)
    return float(d.min()), float(d.max())


def limits_name(n: int) -> str:
    """Return what :func:`limits` gives for ``n`` differences, in words.

    Example:
        >>> limits_name(3), limits_name(10)
        ('lowest to highest', '95 % interval')
    """
    return "95 % interval" if n >= ENOUGH else "lowest to highest"
