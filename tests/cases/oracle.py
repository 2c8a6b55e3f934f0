"""How runs are compared, written a second time as plain loops: arms, rates, races, paired runs.

Nothing but the words of verdicts is imported from what is tested. Everything is as slow and as
obvious as possible.
"""

import itertools
import math
import re
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from lnlib.compare import FAILS, HOLDS, UNDECIDED
from tests.cases.toy_records import ARMS, OTHER_KIND

NAN = math.nan


@dataclass
class Answer:
    """One measurement on a claim: what a finding must have."""

    differences: list
    unit: str
    shares: list | None = None
    counts: bool = True
    turned: bool = False
    exact: bool = False
    runs: list = field(default_factory=list)


def numbers(run, name):
    return [NAN if value is None else value for value in run["curves"][name]]


def known(values):
    return [value for value in values if not math.isnan(value)]


def ends(values):
    """Lowest and highest of few numbers; of six the 95 % interval, from all resamples."""
    if len(values) < 6 or not np.isfinite(values).all():
        return min(values), max(values)
    assert len(values) == 6
    means = np.sort(np.array([*itertools.product(values, repeat=6)]).mean(1))
    # The first that at least so large a share of the means does not exceed.
    return tuple(means[math.ceil(share * len(means)) - 1] for share in (0.025, 0.975))


def outcome(values):
    """Say on which side of 0 all of it lies."""
    if any(math.isnan(value) for value in values):
        return UNDECIDED
    low, high = ends(values)
    return HOLDS if high < 0 else FAILS if low > 0 else UNDECIDED


def place_of_lowest(values):
    return values.index(min(known(values)))


def score(run):
    """The curve by which runs of an experiment are compared; the lower, the better."""
    name = run["experiment"]
    if name == "order_embeddings":
        recalls = [numbers(run, f"val_image_recall_{k}") for k in (1, 5, 10)]
        return [-100 * (a + b + c) for a, b, c in zip(*recalls, strict=True)]
    return numbers(run, {
        "attentive_reader": "val_error", "skip_thoughts": "val_nll", "draw": "val_bound",
        "handwriting": "val_new_nll", "convnet": "val_error", "landscape": "train_nll",
    }[name])  # fmt: skip


def lowest(run):
    return min(known(score(run)))


def updates(run):
    size, name = run["settings"]["batch_size"], run["experiment"]
    if name in ("skip_thoughts", "draw", "handwriting"):
        each = run["settings"]["updates_an_epoch"]
    else:
        each = (5 if name == "order_embeddings" else 1) * (640 // size)  # five captions an image
    return [round(each * epoch) for epoch in run["curves"]["epoch"]]


def seconds(run):
    if run["experiment"] != "skip_thoughts":
        return numbers(run, "wall_s")
    time, found, before = 0.0, [], 0
    for ms, now in zip(run["curves"]["update_ms"], updates(run), strict=True):
        time += (ms or 0.0) * (now - before) / 1000
        before = now
        found.append(time)
    return found


def at_best(run, name):
    return numbers(run, name)[place_of_lowest(score(run))]


def matching(runs, experiment, **settings):
    return [
        run
        for run in runs
        if run["experiment"] == experiment
        and all(run["settings"][name] == value for name, value in settings.items())
    ]


def usual(run):
    """Whether a run is of the kind with usual settings."""
    others = OTHER_KIND.get(run["experiment"], {})
    return all(run["settings"][name] != value for name, value in others.items())


def arm(runs, experiment, name, kind):
    """The runs of an arm at its best rate, by seed."""
    of = [run for run in matching(runs, experiment, **ARMS[experiment][name])
          if usual(run) == (kind == "usual")]  # fmt: skip
    rates = {}
    for run in of:
        rates.setdefault(run["settings"]["learning_rate"], {})[run["seed"]] = run
    seeds = max(len(found) for found in rates.values())
    means = {
        rate: fmean(min(known(score(run))) for run in found.values())
        for rate, found in rates.items()
        if len(found) == seeds
    }
    best = min(means, key=lambda rate: means[rate])
    return rates[best]


def common(*arms):
    return sorted(set.intersection(*(set(one) for one in arms)))


def race(plain, other, axis, of=score):
    """How much of the plain run's way the other needs to the plain run's best."""
    shares = []
    for seed in common(plain, other):
        values = of(plain[seed])
        k = place_of_lowest(values)
        there = [at for at, value in zip(axis(other[seed]), of(other[seed]), strict=True)
                 if value <= values[k]]  # fmt: skip
        shares.append(min(there) / axis(plain[seed])[k] if there else math.inf)
    return shares


def sooner(runs, experiment, kind="usual", *, plain="none", other="layer", axis=updates, of=score,
           limit=1.0, counts=True):  # fmt: skip
    a, b = (arm(runs, experiment, name, kind) for name in (plain, other))
    shares = race(a, b, axis, of)
    unit = "of its updates" if axis is updates else "of its seconds"
    return Answer([s - limit for s in shares], unit, [s - 1 for s in shares], counts,
                  runs=[*a.values(), *b.values()])  # fmt: skip


def lower(runs, experiment, value, unit, kind="usual", *, plain="none", other="layer", factor=1,
          share=True, counts=True):  # fmt: skip
    """How far a value of the other arm lies below the plain arm's, whichever way is better."""
    a, b = (arm(runs, experiment, name, kind) for name in (plain, other))
    differences, shares = [], []
    for seed in common(a, b):
        less = value(b[seed]) - value(a[seed])
        differences.append(factor * less)
        shares.append((1 if factor > 0 else -1) * less / abs(value(a[seed])))
    return Answer(differences, unit, shares if share else None, counts, factor < 0,
                  runs=[*a.values(), *b.values()])  # fmt: skip


def within(answer, margin, unit):
    return Answer([abs(d) - margin for d in answer.differences], unit, runs=answer.runs)


def kinds(experiment):
    return ["usual", "other"] if experiment in OTHER_KIND else ["usual"]


def both_kinds(experiment, make):
    """The same measurement on the usual runs, which decide, and on the others beside them."""
    found = []
    for kind in kinds(experiment):
        for answer in make(kind):
            answer.counts = answer.counts and kind == "usual"
            found.append(answer)
    return found


def speedup(experiment, limit=1.0):
    def answers(runs):
        return both_kinds(experiment, lambda kind: [
            sooner(runs, experiment, kind, limit=limit),
            sooner(runs, experiment, kind, plain="none, chosen start", limit=limit, counts=False),
        ])  # fmt: skip

    return answers


def parsed(text):
    """Return the numbers of a text, in its order."""
    plain = text.replace("−", "-").replace(",", "").replace("\u00a0", " ")
    return [float(n) for n in re.findall(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", plain)]
