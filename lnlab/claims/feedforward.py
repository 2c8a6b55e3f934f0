"""Evaluation of claims about other networks, from records.

These are the claims of sections 1, 3, 5.2, 6.6 and 6.7, and of tutorials.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from lnlab.claims import trained
from lnlab.claims.finding import Finding, Record, Records
from lnlab.claims.trained import (
    RECURRENT,
    Evaluator,
    RunGroup,
    Value,
    arm_name,
    end,
    final_metric_difference,
    no_plateau,
    run_groups,
    secondary,
    steps_to_target_ratio,
    to_targets,
)
from lnlab.comparison import WORSENS
from lnlab.experiments._arms import Arm, paired, shared_seeds
from lnlab.experiments._task import LAYER, NO_NORM, curve, first_epochs
from lnlab.experiments.convnet.results import NLL

# Section 1, batch norm; section 3 and tutorials, loss landscape of a small network.


def sgd(records: Records) -> list[Finding]:
    """Compare the updates of SGD with and without batch norm, each at its best learning rate."""
    results = []
    for group in run_groups(records, "landscape", "none", "batch")[:1]:
        results += steps_to_target_ratio(group, "batch")
        for norm in ("layer", "rms"):
            results += (
                secondary(steps_to_target_ratio(group, norm)) if group.has(NO_NORM, norm) else []
            )
    return results


def regularizer(records: Records) -> list[Finding]:
    """Compare the final gap between test and training NLL with and without batch norm."""

    def gap(run: Record) -> float:
        return end("test_nll")(run) - end("train_nll")(run)

    return [
        mnist_end(arms, gap, "nats", f"batches of {size}: test minus training NLL",
                  plateau_curves=("train_nll", "test_nll"))
        for size in (128, 4)
        for arms in [mnist_arms(records, "none", "batch", size)]
        if arms
    ]  # fmt: skip


LANDSCAPE = {
    "smoothness": "effective smoothness",
    "gradient_change": "change of the gradient",
    "loss_range": "range of the loss",
}
SHIFT = {"shift": "shift of the gradients", "moments": "shift of the moments"}


def landscape(measures: dict[str, str], rate: float = 0.1) -> Evaluator:
    """Return an evaluator of measures of the loss landscape with and without a norm.

    The findings on layer norm count; those on the other norms are secondary.

    Args:
        measures: Maps the name of a curve to its description.
        rate: The learning rate of all runs.
    """

    def evaluate(records: Records) -> list[Finding]:
        results = []
        for norm in ("layer", "batch", "rms"):
            pairs = pairs_by_seed(*(records.select("landscape", learning_rate=rate, norm=n)
                             for n in ("none", norm)))  # fmt: skip
            if len(pairs) < 2:
                continue
            for name, description in measures.items():
                d = np.array([_mean_over_training(b, name) / _mean_over_training(a, name) - 1
                              for a, b in pairs])  # fmt: skip
                runs = tuple(run for pair in pairs for run in pair)
                what = f"{description}, {arm_name(norm)} versus no norm"
                results.append(Finding(what, d, "of that without a norm", d, runs, norm == "layer"))
        return results

    return evaluate


def pairs_by_seed(
    runs_a: Iterable[Record], runs_b: Iterable[Record]
) -> list[tuple[Record, Record]]:
    """Return pairs of runs with the same seed.

    Raises:
        ValueError: If two runs of the same argument have the same seed.
    """
    a, b = by_seed(runs_a), by_seed(runs_b)
    return [(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]


def by_seed(runs: Iterable[Record]) -> dict[int, Record]:
    """Return a dictionary from seed to run.

    Raises:
        ValueError: If two runs have the same seed.
    """
    results: dict[int, Record] = {}
    for run in runs:
        if run["seed"] in results:
            raise ValueError(
                f"claims: runs of {run['experiment']} that are compared must differ in the seed, "
                f"got two with seed {run['seed']}; keep one of them in the folder"
            )
        results[run["seed"]] = run
    return results


def _mean_over_training(run: Record, name: str) -> float:
    """Return the geometric mean of a curve, or of the curves of all layers."""
    names = (
        [name] if name in run["curves"] else [k for k in run["curves"] if k.startswith(f"{name}_")]
    )
    values = np.array([curve(run, k) for k in names])
    return float(np.exp(np.nanmean(np.log(values))))


# Section 5.2.2.


def harder_to_turn(records: Records) -> list[Finding]:
    """Compare by how many degrees an update turns weights of four times the norm."""
    results = []
    for norm in ("layer", "batch", "none"):
        pairs = pairs_by_seed(*(
            [run for run in records.select("weights", norm=norm, optimizer="sgd", scale=scale)
             if "magnitude" not in run["settings"]]
            for scale in (1.0, 4.0)
        ))  # fmt: skip
        if len(pairs) < 2:
            continue
        d = np.array([np.nanmean(curve(y, "turn_1")) / np.nanmean(curve(x, "turn_1")) - 1
                      for x, y in pairs])  # fmt: skip
        what = (
            f"{arm_name(norm)}: angle of an update in layer 1, initial weights four times as large"
        )
        runs = tuple(run for pair in pairs for run in pair)
        results.append(Finding(what, d, "of that of unscaled weights", d, runs, norm != "none"))
    return results


# Section 6.6.


RATE = 1e-3  # learning rate of Adam in all runs with ten seeds; it was not tuned
UNTUNED = f"All at rate {RATE:g}, which was not tuned."


def mnist_arms(records: Records, a: str, b: str, size: int) -> tuple[Arm, Arm] | None:
    """Return the longest runs of two norms at one batch size, if they have two seeds in common."""
    arms = []
    for norm in (a, b):
        runs = records.select("mnist", norm=norm, batch_size=size, learning_rate=RATE, data="mnist")
        epochs = max((run["settings"]["epochs"] for run in runs), default=0)
        longest = [run for run in runs if run["settings"]["epochs"] == epochs]
        arms.append(Arm(dict(sorted(by_seed(longest).items())), RATE, {}))
    return tuple(arms) if len(shared_seeds(*arms)) > 1 else None


def mnist_end(
    arms: tuple[Arm, Arm], name: str | Value, unit: str, what: str, *,
    plateau_curves: Sequence[str] = (), factor: float = 1.0, counts: bool = True,
) -> Finding:  # fmt: skip
    """Return the difference of the final values, second arm minus first, for each seed.

    If one arm was trained for longer, both are cut to the epochs that both have. All
    ``plateau_curves``, by default the curve of this name, must have a plateau in both arms.
    """
    value = end(name) if isinstance(name, str) else name
    runs = tuple(run for arm in arms for run in arm.runs.values())
    arms = equally_long(arms)
    baseline, changed = paired(*arms, value)
    d = changed - baseline
    reasons = (no_plateau(arms, name) for name in plateau_curves or (name,))
    return Finding(what, factor * d, unit, d / baseline, runs, counts, epochs=_last_epoch(arms),
                   untestable=next(filter(None, reasons), ""))  # fmt: skip


def faster_than_batch_norm(size: int) -> Evaluator:
    """Return an evaluator of the updates to the targets of the training NLL.

    It is measured in eval mode, where batch norm's running averages lag behind at first, and on the
    batches in train mode; both count. Updates to the targets of the test error, and both final
    values, are secondary.
    """

    def evaluate(records: Records) -> list[Finding]:
        arms = mnist_arms(records, "batch", "layer", size)
        if not arms:
            return []
        nll, batches, error = (
            to_targets(
                *arms,
                lambda run, n=name: curve(run, n),
                _mnist_updates,
                f"{description}, layer norm versus batch norm",
            )
            for name, description in (
                ("train_nll", "training NLL"),
                ("batch_nll", "training NLL on batches in train mode"),
                ("test_error", "test error"),
            )
        )
        return [
            *nll,
            *batches,
            *secondary(error),
            mnist_end(arms, "train_nll", "nats", "training NLL at the end", counts=False),
            mnist_end(arms, "test_error", "points", "test error at the end", factor=100,
                       counts=False),
        ]  # fmt: skip

    return evaluate


def _mnist_updates(run: Record) -> np.ndarray:
    updates = run["data"]["cases"]["train"] // run["settings"]["batch_size"]
    return (curve(run, "epoch") * updates).round()


def robust(records: Records) -> list[Finding]:
    """Compare how much smaller batches change the final values, with layer and batch norm.

    All runs are cut to the number of epochs of the shortest.
    """
    by_size = {size: mnist_arms(records, "layer", "batch", size) for size in (128, 4)}
    if not all(by_size.values()):
        return []
    arms = [by_size[size][k] for k in (0, 1) for size in (128, 4)]
    seeds = shared_seeds(*arms)
    if len(seeds) < 2:
        return []
    results, runs = [], tuple(arm.runs[seed] for seed in seeds for arm in arms)
    arms = equally_long(arms)
    shortest = _last_epoch(arms)
    for name, description, unit, factor in (
        ("train_nll", f"training NLL from batches of 128 to 4, {shortest:g} epochs", "nats", 1),
        ("test_error", f"test error from batches of 128 to 4, {shortest:g} epochs", "points", 100),
    ):
        ends = np.array([[end(name)(arm.runs[seed]) for seed in seeds] for arm in arms])
        layer, batch = np.abs(ends[1::2] - ends[::2])
        d = layer - batch
        results.append(Finding(f"change of the {description}", factor * d, unit, d / batch, runs,
                               untestable=no_plateau(arms, name), epochs=shortest))  # fmt: skip
    return results


def _last_epoch(arms: Sequence[Arm]) -> float:
    """Return the last epoch of the shortest run."""
    return min(run["curves"]["epoch"][-1] for arm in arms for run in arm.runs.values())


def equally_long(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Return arms whose runs are all cut to the length of the shortest run."""
    shortest = _last_epoch(arms)
    return tuple(
        arm._replace(runs={seed: first_epochs(run, shortest) for seed, run in arm.runs.items()})
        for arm in arms
    )


def one_by_one(records: Records) -> list[Finding]:
    """Compare the final error of layer norm with batch size 1 and batch norm with batch size 2."""
    layer = by_seed(records.select("mnist", norm="layer", batch_size=1, data="mnist"))
    results = []
    for norm, size in (("batch", 2), ("none", 1)):
        other = by_seed(records.select("mnist", norm=norm, batch_size=size, data="mnist"))
        if len(layer.keys() & other.keys()) < 2:
            continue
        what = f"test error at the end, batches of 1, versus {arm_name(norm)} with {size}"
        arms = Arm(other, RATE, {}), Arm(layer, RATE, {})
        results.append(mnist_end(arms, "test_error", "points", what, factor=100,
                                counts=norm == "batch"))  # fmt: skip
    return results


# Section 6.7.


def outperforms(records: Records) -> list[Finding]:
    """Compare the final test error and test NLL of batch norm with those of every other arm.

    Learning rates are chosen by validation error for the one, by validation NLL for the other.
    """
    results = []
    for groups in zip(
        run_groups(records, "convnet", "batch", NO_NORM),
        run_groups(records, "convnet", "batch", NO_NORM, metric=NLL),
        strict=True,
    ):
        findings = [
            _test_end(group, what, other)
            for group, what in zip(groups, ("error", "NLL"), strict=True)
            for other in group.arms if other != "batch" and group.has("batch", other)
        ]  # fmt: skip
        results += secondary(findings) if results else findings
    return results


def _test_end(group: RunGroup, what: str, plain: str) -> Finding:
    name, unit, factor = {"error": ("test_error", "points", 100), "NLL": ("test_nll", "nats", 1)}[
        what
    ]
    text = f"test {what} at the end versus {arm_name(plain)}"
    return final_metric_difference(group, name, unit, text, "batch", plain, factor=factor,
                                   plateau_score=lambda run: curve(run, name))  # fmt: skip


def border(name: str) -> Evaluator:
    """Return an evaluator that compares units at the border of the image with interior units.

    Args:
        name: ``on``, how often units are active, or ``deviation``, their std over images.
    """

    def evaluate(records: Records) -> list[Finding]:
        results = []
        for group in run_groups(records, "convnet", LAYER)[:1]:
            for layer in (1, 2, 3):
                arm = group.arms[LAYER]
                ends = {k: np.array([curve(run, f"{k}_{layer}")[-1] for run in arm.runs.values()])
                        for k in ("border_on", "inner_on", "border_deviation")}  # fmt: skip
                ratio = ends["border_on"] / ends["inner_on"]
                if name == "deviation":
                    distance = np.abs(ends["border_deviation"] - 1)
                    what = (
                        f"layer {layer}: relative difference between border and interior std, "
                        "minus 10% (above 0: they differ by more than a tenth)"
                    )
                    results.append(Finding(what, 0.1 - distance, "of the interior's", None,
                                         tuple(arm.runs.values()), turned=True))  # fmt: skip
                else:
                    what = f"layer {layer}: fraction of images that activate a border unit"
                    results.append(Finding(what, ratio - 1, "of the interior's", ratio - 1,
                                         tuple(arm.runs.values())))  # fmt: skip
        return results

    return evaluate


# Tutorials.


def higher_rates(records: Records) -> list[Finding]:
    """Compare the best learning rates with and without layer norm, of three or more.

    The better one of two rates says little about where the best one is.
    """
    results = []
    for name in ("landscape", *RECURRENT, "convnet"):
        for group in run_groups(records, name):
            if min(len(group.arms[arm].rates) for arm in (NO_NORM, LAYER)) > 2:
                results.append(trained.best_rates(group, records))
                break
    return results + _rates_of_digits(records)


def _rates_of_digits(records: Records) -> list[Finding]:
    results = []
    for cell in ("lstm", "gru", "rnn"):
        best: dict[str, dict[int, float]] = {}
        runs = records.select("sequence", cell=cell, step="row", held_out=True, gain=1.0)
        for norm in ("none", "layer"):
            by_norm = [run for run in runs if run["settings"]["norm"] == norm]
            for seed in {run["seed"] for run in by_norm}:
                candidates = [run for run in by_norm if run["seed"] == seed]
                run = min(candidates, key=lambda run: curve(run, "test_nll").min())
                best.setdefault(norm, {})[seed] = run["settings"]["learning_rate"]
        seeds = sorted(best.get("none", {}).keys() & best.get("layer", {}).keys())
        if len(seeds) > 1:
            a, b = (np.array([best[norm][seed] for seed in seeds]) for norm in ("layer", "none"))
            typical = [f"{np.exp(np.log(rates).mean()):.2g}" for rates in (a, b)]
            what = f"digits, {cell.upper()}: best rate {typical[0]} versus {typical[1]}"
            results.append(Finding(what, np.log10(b / a), "powers of ten", None, tuple(runs)))
    return results


BROKEN = "the baseline starts above chance level"
ABOVE_CHANCE = 0.5  # nats by which the initial loss of a valid baseline may exceed chance level


# Initialization, number of blocks, norm placement. The label is based on the first with 24 blocks
# and pre-norm that is recorded.
DEEP = (
    ("gpt2", 24, "pre"), ("xavier", 24, "pre"),
    ("gpt2", 24, "post"), ("gpt2", 12, "pre"), ("gpt2", 12, "post"),
    ("xavier", 12, "pre"), ("xavier", 6, "pre"),
)  # fmt: skip
INITIALIZATIONS = {
    "gpt2": "GPT-2's initialization with residual scaling",
    "xavier": "Xavier initialization",
}
Schedule = tuple[float, int]  # learning rate and warm-up


def deep(records: Records) -> list[Finding]:
    """Compare deep transformers with and without layer norm, each at its best rate and warm-up.

    The best are chosen among the rates and warm-ups at which both were trained. The label is based
    on pre-norm and 24 blocks, with GPT-2's initialization and residual scaling if that is recorded,
    else with Xavier initialization. The loss of the baseline must start at chance level, and both
    losses must have reached a plateau or increase at the end.
    """
    results: list[Finding] = []
    for initialization, depth, placement in DEEP:
        with_norm = _runs_by_schedule(records, "layer", initialization, depth, placement)
        without = _runs_by_schedule(records, "none", initialization, depth, "pre")
        common = with_norm.keys() & without.keys()
        if not common:
            continue
        best = [min(sorted(common), key=lambda schedule, runs=runs: _mean_lowest(runs[schedule]))
                for runs in (with_norm, without)]  # fmt: skip
        arms = [with_norm[best[0]], without[best[1]]]
        seeds = sorted(arms[0].keys() & arms[1].keys())
        if len(seeds) < 2:
            continue
        a, b = (np.array([_lowest(arm[seed]) for seed in seeds]) for arm in arms)
        runs = tuple(arm[seed] for arm in arms for seed in seeds)
        rates = [*map(_format_schedule, best)]
        what = (
            f"{depth} blocks, {INITIALIZATIONS[initialization]}: lowest validation loss, "
            f"{placement}-norm at rate {rates[0]} versus no norm at {rates[1]}"
        )
        counts = (depth, placement) == (24, "pre") and not any(
            finding.counts for finding in results
        )
        reason = _not_comparable(arms)
        results.append(Finding(what, a - b, "nats", (a - b) / b, runs, counts, untestable=reason))
    return results


def _format_schedule(schedule: Schedule) -> str:
    rate, warm_up = schedule
    return f"{rate:g}" + " with warm-up" * bool(warm_up)


def _not_comparable(arms: list[dict[int, Record]]) -> str:
    if any(map(_is_broken, arms[1].values())):
        return BROKEN
    reasons = (no_plateau([Arm(arm, 0, {})], "val_nll") for arm in arms)
    return next((reason for reason in reasons if reason not in ("", WORSENS)), "")


def _runs_by_schedule(
    records: Records, norm: str, initialization: str, depth: int, placement: str
) -> dict[Schedule, dict[int, Record]]:
    """Return the runs of one network, by learning rate and warm-up, then by seed."""
    named = f"{initialization}-{placement}-{norm}-L{depth}-rate*-warm*"
    scaled = initialization == "gpt2"
    results: dict[Schedule, dict[int, Record]] = {}
    for run in records.select("transformer", named, last_norm=True, qk_norm="none", norm=norm):
        s = run["settings"]
        # Older records lack the setting residual_scaling.
        if s["updates_per_epoch"] > 1 and s.get("residual_scaling", False) == scaled:
            results.setdefault((s["learning_rate"], s["warm_up"]), {})[run["seed"]] = run
    return results


def _is_broken(run: Record) -> bool:
    """Return whether the loss before the first update is above chance level."""
    chance = np.log(run["data"]["cases"]["different"])
    return not curve(run, "val_nll")[0] <= chance + ABOVE_CHANCE


def _lowest(run: Record) -> float:
    return float(np.nanmin(curve(run, "val_nll")))


def _mean_lowest(runs: dict[int, Record]) -> float:
    return float(np.mean([_lowest(run) for run in runs.values()]))
