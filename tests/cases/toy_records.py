"""Synthetic records of every experiment that claims are based on, with a known ranking.

In a *case*, the arm favored by a claim is ``better`` (faster and lower), ``worse`` (it never
reaches the targets), ``later`` (lower at the end, but after more updates), ``early`` (the same, but
stopped before a plateau), or ``mixed`` (better or worse by seed, and one run diverges). Every value
has its own noise, so that no two numbers of a folder are equal and means differ from medians. Arms
have different sets of seeds, and two or three learning rates with all seeds and one with a single
seed.
"""

import fnmatch
import json
import math
import zlib
from pathlib import Path

import numpy as np

from lnlab.claims import Records
from lnlab.experiments import find

CASES = ("better", "worse", "later", "early", "mixed")
EPOCHS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 12.0, 13.5, 15.0, 16.0)
POINTS = len(EPOCHS)
LOW, MIDDLE, HIGH, LONELY = 0.01, 0.02, 0.03, 0.1  # learning rates
SWEPT = ("landscape", "order_embeddings", "convnet")  # have all of them
REFERENCE_SEEDS, FAVORED_SEEDS = (0, 1, 2, 3), (4, 3, 2, 1)
RECURRENT = ("order_embeddings", "attentive_reader", "skip_thoughts", "draw", "handwriting")
ARMS = {
    "order_embeddings": {"none": {"norm": "none"}, "layer": {"norm": "layer"}},
    "attentive_reader": {
        "none": {"norm": "none", "start": "usual"},
        "none, tuned initialization": {"norm": "none", "start": "chosen"},
        "layer, gain 0.1": {"norm": "layer", "start": "usual", "gain": 0.1},
        "batch norm in the LSTM": {"norm": "batch", "gain": 0.1},
        "batch norm everywhere": {"norm": "batch_everywhere", "gain": 0.1},
        "layer": {"norm": "layer", "start": "usual", "gain": 1.0},
    },
    "skip_thoughts": {
        "none": {"norm": "none", "start": "code"},
        "none, tuned initialization": {"norm": "none", "start": "scaled"},
        "layer": {"norm": "layer", "start": "code"},
    },
    "draw": {
        "none": {"norm": "none", "start": "usual"},
        "none, tuned initialization": {"norm": "none", "start": "chosen"},
        "layer": {"norm": "layer", "start": "usual"},
    },
    "convnet": {
        "none": {"norm": "none", "initialization": "uniform"},
        "none, tuned initialization": {"norm": "none", "initialization": "he"},
        "batch": {"norm": "batch"},
        "layer": {"norm": "layer"},
        "channel": {"norm": "channel"},
        "group": {"norm": "group"},
        "instance": {"norm": "instance"},
    },
    "landscape": {norm: {"norm": norm} for norm in ("none", "batch", "layer", "rms")},
}
ARMS["handwriting"] = ARMS["draw"]
#: Settings of a second group of runs, which has longer sequences or smaller batches.
OTHER_SETTINGS = {
    "order_embeddings": {"batch_size": 8},
    "attentive_reader": {"max_length": 100},
    "skip_thoughts": {"length": 50},
    "draw": {"glimpses": 16},
    "handwriting": {"length": 1400},
    "convnet": {"batch_size": 4},
}
#: Number of training captions; examples of each sentence task, and of its larger class.
COUNTS = {"train_captions": 3200, "mr": 10, "mr_most": 6, "cr": 8, "cr_most": 5, "subj": 4,
          "subj_most": 3, "caption_pairs": 9, "caption_pairs_most": 7, "different": 65}  # fmt: skip
MANY_SEEDS = "draw"  # has enough seeds for a 95% interval
SPLITS = ("val_seen", "val_new", "test_new")


def make(experiment, seed, curves, **settings):
    """Return a complete record."""
    about = find(experiment)
    chosen = about.settings(**about.main | settings)
    training = ("train", "train_images", "train_questions", "train_pieces")
    cases = dict.fromkeys((*training, "val", "test"), 640)
    return {
        "format": 2,
        "experiment": experiment,
        "paper": {"section": "6"},
        "settings": chosen.as_dict(),
        "seed": seed,
        "data": {"name": "toy", "sha256": "0" * 64, "cases": cases | COUNTS},
        "curves": {"x": "epoch"} | curves,
        "arrays": {},
        "units": dict.fromkeys(curves, "toys"),
        "provenance": {
            "lnlib": "0", "commit": "0", "python": "3", "torch": "2", "numpy": "2",
            "device": "CPU: toy", "threads": 1, "date": "2026-01-01T00:00:00", "wall_s": 1.0,
            "command": "toy",
        },
        "stem": about.stem(chosen, seed),
    }  # fmt: skip


class Source:
    """The random curves of one run.

    Args:
        case: One of :data:`CASES`.
        favored: 0 for the arm that is compared with, 1 for the arm of a claim, 2 for an even better
            one.
        seed: The seed of the run.
        is_other_group: Whether the run belongs to the second group.
        key: Further values that the noise depends on.
    """

    def __init__(self, case, favored, seed, is_other_group, *key):
        self.rng = np.random.default_rng(zlib.crc32(repr((case, seed, *key)).encode()))
        self.explodes = case == "mixed" and favored > 0 and seed == 2
        if case == "mixed":
            case = "worse" if seed % 2 else "better"
        self.case, self.favored, self.level = case, favored, 1.0
        self.speed = {
            "better": 2.0 * (1 + is_other_group) if favored else 0.5,
            "worse": 0.5 if favored else 2.0,
            "later": 1.0 - 0.3 * is_other_group if favored else 2.0,
            "early": 0.1 if favored else 0.15,
        }[case]
        if favored:
            self.level = {"better": 0.8, "worse": 1.6}.get(case, 0.85)
            if seed == 3:  # an outlier, so that the mean over seeds is not their median
                self.level = {"better": 1.05, "worse": 1.25}.get(case, 0.95)
            if favored == 2:
                self.level *= {"better": 0.75, "worse": 1.25}.get(case, 0.85)

    def wins(self):
        """Return whether the arm of a claim is better than the one it is compared with."""
        return self.case != "worse"

    def number(self, low, high):
        """Draw a number."""
        return float(self.rng.uniform(low, high))

    def falling(self, scale=1.0, shift=0.0):
        """Draw a curve that falls."""
        t = np.array(EPOCHS)
        values = (
            self.level * (0.3 + np.exp(-self.speed * t)) * self.rng.uniform(0.995, 1.005, POINTS)
        )
        return [float(v) for v in shift + scale * values]

    def finish(self, curves):
        """Add the axis and the times; set values after a divergence to NaN."""
        if self.explodes:
            curves = {name: values[:3] + [None] * (POINTS - 3) for name, values in curves.items()}
        pace = self.number(1.0, 1.2)
        seconds = [0.3 + pace * epoch for epoch in EPOCHS]
        return {"epoch": list(EPOCHS), "wall_s": seconds} | curves


def curves(experiment, of):
    """Return the curves of a run of one of :data:`ARMS`."""
    better = bool(of.favored) == of.wins()  # whether this run is of the better arm of its pair
    if experiment == "order_embeddings":
        results = {}
        for split in ("val", "test"):
            for way in ("image", "caption"):
                for cut, scale in ((1, 0.2), (5, 0.18), (10, 0.15)):
                    recall = of.falling(-scale, 0.5)
                    # After its best value, which the better arm reaches earlier, it gets slightly
                    # worse.
                    late = [max(0, t - (6 if better else 12)) for t in EPOCHS]
                    if split == "val":
                        recall = [v - 0.002 * scale * t for v, t in zip(recall, late, strict=True)]
                    results[f"{split}_{way}_recall_{cut}"] = recall
                results[f"{split}_{way}_mean_rank"] = of.falling(20)
    elif experiment == "attentive_reader":
        results = {f"{split}_error": of.falling(0.6) for split in ("val", "test")}
        results["val_nll"] = of.falling(2)
        for split in ("val", "test"):
            grows = of.number(0.02, 0.04) if better else of.number(0.1, 0.2)
            longer = [value + grows for value in results[f"{split}_error"]]
            results[f"{split}_longer_error"] = longer
            for rule in ("random", "frequent", "last", "frequent_unasked"):
                results[f"{split}_{rule}_error"] = [of.number(0.7, 0.9)] * POINTS
    elif experiment == "skip_thoughts":
        results = {"val_nll": of.falling(5)}
        for task in ("mr", "cr", "subj", "caption_pairs"):
            for prefix in ("", "bag_"):
                # Words alone are worth less, but as much as a sentence when little is trained.
                less = 0.1 if prefix and of.case != "early" else 0
                values = of.falling(-0.3, 0.9 - less)
                values[1] = values[3] = None  # judged now and then
                results[prefix + task] = values
        slow = 1.0 if not of.favored else {"better": 1.03, "worse": 1.5}.get(of.case, 0.6)
        results["update_ms"] = [None, *(slow * of.number(9.9, 10.1) for _ in range(POINTS - 1))]
    elif experiment == "draw":
        results = {name: of.falling(100) for name in ("val_bound", "test_bound")}
        results["test_bound_of_all"] = [None] * (POINTS - 1) + [of.falling(100)[-1]]
    elif experiment == "handwriting":
        names = [f"{split}_{what}" for split in SPLITS for what in ("nll", "window_off")]
        results = {name: of.falling(2, -2 if name.endswith("nll") else 0) for name in names}
        results["batch_nll"] = [None, *of.falling(2, -2)[1:]]
    elif experiment == "convnet":
        results = {"val_error": of.falling(0.4), "test_error": of.falling(0.4),
                 "test_nll": of.falling(1), "val_nll": of.falling(1)}  # fmt: skip
        for layer in (1, 2, 3):
            inner = [of.number(0.4, 0.5) for _ in EPOCHS]
            share = of.number(0.5, 0.8) if of.wins() else of.number(1.1, 1.4)
            apart = of.number(0.15, 0.3) if of.wins() else of.number(0.01, 0.08)
            sign = -1 if layer == 2 else 1
            results |= {f"inner_on_{layer}": inner,
                       f"border_on_{layer}": [share * v for v in inner],
                       f"border_deviation_{layer}": [1 + sign * apart] * POINTS}  # fmt: skip
    else:
        results = {"train_nll": of.falling(2), "test_nll": of.falling(2),
                  "test_error": of.falling(0.3)}  # fmt: skip
        for name in ("smoothness", "gradient_change", "loss_range", "shift_1", "shift_2",
                     "moments_1", "moments_2"):  # fmt: skip
            level = of.number(1, 2) if better else of.number(4, 8)
            results[name] = [level * of.number(0.5, 2) for _ in EPOCHS]
            results[name][1] = None
    return results


def is_favored(experiment, arm):
    if experiment == "convnet":
        return {"batch": 2, "layer": 1}.get(arm, 0)
    if experiment == "landscape":
        return int(arm != "none")
    return int(arm == "layer")


def levels_by_rate(case, seed, favored):
    """Return the factor of a run's level at each rate: the right rate has 1."""
    if case == "mixed":
        case = "worse" if seed % 2 else "better"
    right = HIGH if bool(favored) == (case != "worse") else LOW
    return {rate: 1.0 if rate == right else 1.2 for rate in (LOW, MIDDLE, HIGH)}


def of_arms(case, experiment, more_seeds=()):
    """Yield the records of one of :data:`ARMS`, which share three seeds and ``more_seeds``."""
    changes = [{}, OTHER_SETTINGS[experiment]] if experiment in OTHER_SETTINGS else [{}]
    for changed in changes:
        for arm, settings in ARMS[experiment].items():
            favored = is_favored(experiment, arm)
            seeds = (*(FAVORED_SEEDS if favored else REFERENCE_SEEDS), *more_seeds)
            rates = (LOW, MIDDLE, HIGH) if experiment in SWEPT else (LOW, HIGH)
            planned = [(seed, rate) for seed in seeds for rate in rates]
            alone = 4 if favored else 0  # a seed that the other arms do not have
            planned += [(alone, LONELY)] if experiment != "landscape" else []
            for seed, rate in planned:
                of = Source(
                    case, favored, seed, bool(changed), experiment, arm, rate, bool(changed)
                )
                of.level *= {LONELY: 0.01}.get(rate) or levels_by_rate(case, seed, favored)[rate]
                if (case, experiment, arm, changed) == (
                    "better",
                    "draw",
                    "none, tuned initialization",
                    {},
                ):
                    # Layer norm is faster than this arm, but needs more than 60% of its updates.
                    of.speed = 1.5
                measured = of.finish(curves(experiment, of))
                yield make(experiment, seed, measured, **settings, **changed, learning_rate=rate)
    if experiment == "landscape":  # the rate at which the landscape is compared
        for norm in ARMS["landscape"]:
            for seed in FAVORED_SEEDS if norm != "none" else REFERENCE_SEEDS:
                of = Source(case, int(norm != "none"), seed, False, "rate", norm)
                of.level = 9.0  # never the best rate
                measured = of.finish(curves(experiment, of))
                yield make(experiment, seed, measured, norm=norm, learning_rate=0.1)


def _mnist(case):
    for norm, sizes in (("layer", (128, 4, 1)), ("batch", (128, 4, 2)), ("none", (128, 4, 1))):
        for size in sizes:
            for seed in FAVORED_SEEDS if norm == "layer" else REFERENCE_SEEDS:
                of = Source(case, 0, seed, False, "mnist", norm, size)
                win = of.wins()
                level = {"layer": 1.0 if win else 2.0, "batch": 1.5, "none": 1.7}[norm]
                steady = (norm == "layer") == win
                level *= (1.03 if steady else 1.3) if size == 4 else 1.0
                gap = of.number(0.05, 0.1) if (norm == "batch") == win else of.number(0.3, 0.5)
                of.level, of.speed = level, 0.1 if case == "early" else 1.0
                nll = of.falling(0.4)
                curves = {"train_nll": nll, "test_nll": [value + gap for value in nll],
                          "test_error": of.falling(0.1),
                          "batch_nll": [None, *of.falling(0.4)[1:]]}  # fmt: skip
                of.explodes = False
                given = {"norm": norm, "batch_size": size, "first_epoch_points": 2}
                yield make("mnist", seed, of.finish(curves), epochs=16, **given)
                if size in (128, 4):  # a shorter run, which is not compared
                    short = {name: [9.0, 9.1, 9.2] for name in curves}
                    short |= {"epoch": [0.0, 0.5, 1.0], "wall_s": [0.0, 1.0, 2.0]}
                    yield make("mnist", seed, short, epochs=1, norm=norm, batch_size=size)


def _weights(case):
    for norm in ("layer", "batch", "none"):
        for optimizer in ("sgd", "adam"):
            for scale, magnitude in ((1.0, None), (4.0, None), (1.0, "fixed")):
                if (norm, magnitude) == ("none", "fixed"):
                    continue
                is_default = (scale, magnitude) == (1.0, None)
                for seed in REFERENCE_SEEDS if is_default else FAVORED_SEEDS:
                    of = Source(case, 0, seed, False, "weights", norm, optimizer, scale, magnitude)
                    less = of.wins() == (scale == 4) and norm != "none" and optimizer == "sgd"
                    turns = [(0.5 if less else 3) * of.number(0.8, 1.2) for _ in EPOCHS]
                    if magnitude:
                        turns = [(9 if of.wins() else 0.2) * turn for turn in turns]
                    # Alternating around a falling curve.
                    uneven = (
                        of.number(0.1, 0.15) if is_default == of.wins() else of.number(0.3, 0.4)
                    )
                    sides = [(-1) ** round(t / 3) for t in EPOCHS]
                    speed = 0.1 if case == "early" else 1.0
                    nll = [(0.03 + math.exp(-speed * t)) * (1 + uneven * side)
                           for t, side in zip(EPOCHS, sides, strict=True)]  # fmt: skip
                    curves = of.finish({"turn_1": [None, *turns[1:]], "train_nll": nll})
                    yield make("weights", seed, curves, norm=norm, optimizer=optimizer,
                               scale=scale, magnitude=magnitude)  # fmt: skip


def _sequence(case):
    for cell in ("lstm", "gru", "rnn"):
        for norm in ("none", "layer"):
            for step in ("row", "pixel"):
                for held_out in (False, True) if step == "row" else (False,):
                    for seed in FAVORED_SEEDS if norm == "layer" else REFERENCE_SEEDS:
                        rates = (LOW, HIGH) if held_out else (LOW,)
                        for rate in rates:
                            of = Source(case, 0, seed, False, "sequence", cell, norm, step,
                                        held_out, rate)  # fmt: skip
                            gain = 0.6 if of.case == "better" else 1.3
                            of.level = gain if (norm, step) == ("layer", "pixel") else 1.0
                            if held_out:
                                of.level = levels_by_rate(case, seed, norm == "layer")[rate]
                            of.speed = 0.1 if case == "early" else 1.0
                            nll = of.falling()
                            if norm == "layer" and step == "row" and not held_out:
                                nll = [value - 0.1 for value in nll]
                            # The better the training loss, the worse the test loss: rates are
                            # chosen by the test loss.
                            training = [value + 3 - 2 * min(nll) for value in nll]
                            curves = of.finish({"test_nll": nll, "train_nll": training})
                            yield make("sequence", seed, curves, cell=cell, norm=norm, step=step,
                                       held_out=held_out, learning_rate=rate)  # fmt: skip


def records(case):
    """Return all records of a case, in arbitrary order."""
    more = {MANY_SEEDS: range(5, 12)}
    made = [run for name in ARMS for run in of_arms(case, name, more.get(name, ()))]
    made += [*_mnist(case), *_weights(case), *_sequence(case)]
    order = np.random.default_rng(0).permutation(len(made))
    return [made[k] for k in order]


def write(runs, where: Path):
    """Write records into a folder, in the format of a run."""
    for run in runs:
        content = {name: value for name, value in run.items() if name != "stem"}
        path = where / run["experiment"] / f"{run['stem']}.json"
        path.parent.mkdir(exist_ok=True)
        assert not path.exists(), path
        path.write_text(json.dumps(content), "utf-8")


class InMemory(Records):
    """Records that are not in files."""

    def __init__(self, runs):
        self.runs = runs

    def select(self, experiment, named="*", **settings):
        """Return the records of an experiment, as for a folder."""
        pattern = f"{experiment}-{named}"
        return [
            run
            for run in sorted(self.runs, key=lambda run: run["stem"])
            if run["experiment"] == experiment
            and fnmatch.fnmatch(run["stem"], pattern)
            and settings.items() <= run["settings"].items()
        ]

    def files(self, runs):
        """Return nothing: there are no files."""
        return {}
