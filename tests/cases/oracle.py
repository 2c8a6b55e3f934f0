"""A second, independent reader of recorded runs: arms at their best rates, and their curves.

It imports nothing from the tested code, and is as slow and as obvious as possible.
"""

import math
import re
from statistics import fmean

from tests.cases.toy_records import ARMS, OTHER_SETTINGS

NAN = math.nan


def numbers(run, name):
    return [NAN if value is None else value for value in run["curves"][name]]


def known(values):
    return [value for value in values if not math.isnan(value)]


def place_of_lowest(values):
    return values.index(min(known(values)))


def score(run):
    """The curve by which the runs of an experiment are compared; lower is better."""
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
        each = run["settings"]["updates_per_epoch"]
    else:
        each = (5 if name == "order_embeddings" else 1) * (640 // size)  # five captions per image
    return [round(each * epoch) for epoch in run["curves"]["epoch"]]


def at_best(run, name):
    return numbers(run, name)[place_of_lowest(score(run))]


def by_seed(runs, **settings):
    """The runs with these settings, by seed and in its order."""
    of = {run["seed"]: run for run in runs if settings.items() <= run["settings"].items()}
    return dict(sorted(of.items()))


def matching(runs, experiment, **settings):
    return [
        run
        for run in runs
        if run["experiment"] == experiment
        and all(run["settings"][name] == value for name, value in settings.items())
    ]


def has_default_settings(run):
    """Whether a run belongs to the main group, with default settings."""
    others = OTHER_SETTINGS.get(run["experiment"], {})
    return all(run["settings"][name] != value for name, value in others.items())


def arm(runs, experiment, name, group, of=None):
    """The runs of an arm at its best rate, by seed; ``of`` or the score selects the rate."""
    by = of or score
    rates = {}
    for run in matching(runs, experiment, **ARMS[experiment][name]):
        if has_default_settings(run) != (group == "main"):
            continue
        rates.setdefault(run["settings"]["learning_rate"], {})[run["seed"]] = run
    fewest = min(3, max(len(result) for result in rates.values()))
    rates = {rate: result for rate, result in rates.items() if len(result) >= fewest}
    seeds = [seed for seed in range(99) if all(seed in result for result in rates.values())]
    means = {
        rate: fmean(min(known(by(result[seed]))) for seed in seeds)
        for rate, result in rates.items()
    }
    best = min(means, key=lambda rate: means[rate])
    return rates[best]


def common(*arms):
    return sorted(set.intersection(*(set(one) for one in arms)))


def parsed(text):
    """Return the numbers in a text, in order."""
    plain = text.replace("−", "-").replace(",", "").replace("\u00a0", " ")
    return [float(n) for n in re.findall(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", plain)]
