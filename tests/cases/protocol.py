"""A second, independent implementation of the comparison protocol, with plain loops.

Only the words of labels are imported from the tested code. It is as slow and as obvious as
possible; the t test is SciPy's.
"""

import itertools
import math
from dataclasses import dataclass, field
from statistics import fmean, stdev

import numpy as np
from scipy import stats

from lnlab import comparison
from tests.cases.oracle import common, known

NAN = math.nan


@dataclass
class Answer:
    """The expected result of one measurement about a claim."""

    differences: list
    unit: str
    shares: list | None = None
    counts: bool = True
    turned: bool = False
    exact: bool = False
    untestable: str = ""
    runs: list = field(default_factory=list)
    what: str = ""


def ends(values):
    """Lowest and highest of few numbers; for ten or more, the 95% t interval of the mean."""
    if len(values) < 10 or not np.isfinite(values).all():
        return min(values), max(values)
    middle, error = fmean(values), stdev(values) / math.sqrt(len(values))
    if error == 0:
        return middle, middle
    return stats.t.interval(0.95, len(values) - 1, middle, error)


def p_value(values):
    if np.isfinite(values).all():
        error = stdev(values) / math.sqrt(len(values))
        if error == 0:
            return float(fmean(values) == 0)
        return 2 * stats.t.sf(abs(fmean(values)) / error, len(values) - 1)
    less, more = sum(v < 0 for v in values), sum(v > 0 for v in values)
    return stats.binomtest(less, less + more).pvalue if less + more else 1.0


def outcome(answer, p=None):
    """The text of the label of an answer, given its corrected p value."""
    values = answer.differences
    if answer.untestable:
        return f"not testable here: {answer.untestable}"
    if answer.exact:
        return comparison.FAILS if max(values) > 0 else comparison.HOLDS
    if all(map(math.isnan, values)):
        return "not testable here: no run has a number"
    if len(values) < 10:
        return f"{sum(v < 0 for v in values)} of {len(values)} seeds"
    if (p_value(values) if p is None else p) >= 0.05:
        return "undecided"
    if np.isfinite(values).all():
        return "supported" if fmean(values) < 0 else "contradicted"
    return (
        "supported" if sum(v < 0 for v in values) > sum(v > 0 for v in values) else "contradicted"
    )


def tested(answers):
    """The answers that are tested: they count, and have ten seeds or more."""
    return [one for one in answers if one.counts and not one.exact and not one.untestable
            and len(one.differences) >= 10 and known(one.differences)]  # fmt: skip


def key(answer):
    """What identifies a comparison."""
    return answer.what, tuple(answer.differences)


def holm(answers):
    """The corrected p value of each tested answer, by :func:`key`, without duplicates."""
    p = {key(one): p_value(one.differences) for one in tested(answers)}
    result, highest = {}, 0.0
    for rank, one in enumerate(sorted(p, key=p.get)):
        highest = max(highest, min(1.0, (len(p) - rank) * p[one]))
        result[one] = highest
    return result


def mean_curve(runs, of):
    points = zip(*(of(run) for run in runs), strict=True)
    return [fmean(known(point)) if known(point) else NAN for point in points]


def level(at, values, start, stop):
    """The mean of a piecewise linear curve, computed with many small steps."""
    points = [(a, v) for a, v in zip(at, values, strict=True) if not math.isnan(v)]
    total, steps = 0.0, 60
    for k in range(steps):
        x = start + (stop - start) * (k + 0.5) / steps
        for (a, v), (b, w) in itertools.pairwise(points):
            if a <= x <= b:
                total += v + (w - v) * (x - a) / (b - a)
                break
    return total / steps


def no_plateau(at, values):
    if len(known(values)) < 2 or math.isnan(values[-1]):
        return "diverged"
    end = at[-1]
    last, before = level(at, values, 3 / 4 * end, end), level(at, values, 1 / 2 * end, 3 / 4 * end)
    improved = known(values)[0] - last
    if improved <= 0:
        return "no improvement on the initial value"
    if abs(before - last) < 0.02 * improved:
        return ""
    return "stopped before a plateau" if before > last else "gets worse before it levels off"


def reason(arms, of, axis):
    """Why one of the arms has not reached a plateau."""
    results = [no_plateau(axis(next(iter(arm.values()))), mean_curve(arm.values(), of))
             for arm in arms]  # fmt: skip
    return next((one for one in results if one), "")


def end(values):
    if math.isnan(values[-1]):
        return NAN
    return fmean(known(values)[-max(3, round(len(known(values)) / 4)) :])


def steps(at, values, target):
    points = [(a, v) for a, v in zip(at, values, strict=True) if not math.isnan(v)]
    smooth = [v if k == 0 else fmean(w for _, w in points[k - 1 : k + 2])
              for k, (_, v) in enumerate(points)]  # fmt: skip
    for k, value in enumerate(smooth):
        if value <= target:
            if k == 0:
                return points[0][0]
            part = (smooth[k - 1] - target) / (smooth[k - 1] - value)
            return points[k - 1][0] + part * (points[k][0] - points[k - 1][0])
    return math.inf


def ratios(plain, other, of, axis):
    """The ratio of updates to each of the three targets, by seed."""
    mean, result = mean_curve(plain.values(), of), []
    for part in (0.5, 0.75, 0.9):
        target = known(mean)[0] + part * (end(mean) - known(mean)[0])
        row = []
        for seed in common(plain, other):
            mine, theirs = (steps(axis(arm[seed]), of(arm[seed]), target) for arm in (other, plain))
            if math.isinf(theirs):
                row.append(NAN if math.isinf(mine) else -math.inf)
            else:
                row.append(mine / theirs)
        result.append(row)
    return result


def to_targets(a, b, of, axis, limit=1.0, counts=True):
    """The answers on the updates of arm b relative to arm a: three, or one with a reason."""
    runs, why = [*a.values(), *b.values()], reason([a], of, axis)
    if why:
        nothing = [NAN] * len(common(a, b))
        return [Answer(nothing, "of the updates", None, counts, untestable=why, runs=runs)]
    return [Answer([r - limit for r in row], "of the updates", [r - 1 for r in row], counts,
                   runs=runs) for row in ratios(a, b, of, axis)]  # fmt: skip
