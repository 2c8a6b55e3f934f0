"""What every claim comes to on synthetic records, by the plain loops of the oracle."""

import functools
import math
from statistics import fmean

from tests.cases import toy_records
from tests.cases.oracle import (
    Answer,
    arm,
    at_best,
    both_kinds,
    common,
    known,
    lower,
    lowest,
    matching,
    numbers,
    place_of_lowest,
    score,
    seconds,
    sooner,
    speedup,
    updates,
    usual,
    within,
)
from tests.cases.toy_records import ARMS, RECURRENT

# Sections 1 and 7: over all recurrent experiments.


def training_time(runs):
    return [sooner(runs, name, axis=seconds) for name in RECURRENT]


def sum_of_recalls(run):
    return sum(at_best(run, f"test_{way}_recall_{k}")
               for way in ("image", "caption") for k in (1, 5, 10))  # fmt: skip


def generalization(runs):
    return [
        lower(runs, "order_embeddings", sum_of_recalls, "points", factor=-100),
        lower(runs, "attentive_reader", lambda r: at_best(r, "test_error"), "points", factor=100),
        lower(runs, "skip_thoughts", lambda r: at_best(r, "val_nll"), "nats a word"),
        lower(runs, "draw", lambda r: at_best(r, "test_bound"), "nats"),
        lower(runs, "handwriting", lambda r: at_best(r, "test_new_nll"), "nats a point",
              share=False),
    ]  # fmt: skip


def long_and_small(runs):
    found = []
    for name in RECURRENT:
        if name == "attentive_reader":
            continue  # its other kind is trained on short passages
        ours, theirs = sooner(runs, name), sooner(runs, name, "other")
        if all(math.isfinite(d) for d in ours.differences):
            d = [b - a for a, b in zip(ours.differences, theirs.differences, strict=True)]
            found.append(Answer(d, "of its updates", d, runs=ours.runs + theirs.runs))
    for cell in ("lstm", "gru", "rnn"):
        used, last = [], {}
        for run in matching(runs, "sequence", cell=cell, held_out=False):
            used.append(run)
            key = run["settings"]["norm"], run["settings"]["step"], run["seed"]
            last[key] = run["curves"]["test_nll"][-1]
        d = [last["layer", "pixel", s] - last["none", "pixel", s]
             - (last["layer", "row", s] - last["none", "row", s]) for s in (1, 2, 3)]  # fmt: skip
        found.append(Answer(d, "nats", runs=used))
    return found


# Section 1: batch norm; section 3 and tutorials: the landscape.


def sgd(runs):
    return [sooner(runs, "landscape", other=norm, counts=norm == "batch")
            for norm in ("batch", "layer", "rms")]  # fmt: skip


def geometric_mean(run, names):
    logs = [fmean(math.log(v) for v in known(numbers(run, name))) for name in names]
    return math.exp(fmean(logs))


def landscape(*measures):
    def answers(runs):
        found = []
        for norm in ("layer", "batch", "rms"):
            none, other = ({run["seed"]: run for run in
                            matching(runs, "landscape", norm=n, learning_rate=0.1)}
                           for n in ("none", norm))  # fmt: skip
            for names in measures:
                d = [geometric_mean(other[s], names) / geometric_mean(none[s], names) - 1
                     for s in (1, 2, 3)]  # fmt: skip
                used = [of[s] for s in (1, 2, 3) for of in (none, other)]
                found.append(Answer(d, "of none's", d, norm == "layer", runs=used))
        return found

    return answers


SHIFTS = (("shift_1", "shift_2"), ("moments_1", "moments_2"))
SMOOTHNESS = (("smoothness",), ("gradient_change",), ("loss_range",))


# Section 6.6 and others: MNIST.


def mnist(runs, norm, size):
    found = matching(runs, "mnist", norm=norm, batch_size=size)
    return {run["seed"]: run for run in found if run["curves"]["epoch"][-1] == 4}


def after(run, name, epoch):
    return run["curves"][name][run["curves"]["epoch"].index(epoch)]


def compared(runs, a, b, size, value, unit="nats", factor=1, counts=True):
    one, other = mnist(runs, a, size), mnist(runs, b, size)
    seeds = common(one, other)
    d = [factor * (value(one[s]) - value(other[s])) for s in seeds]
    shares = [(value(one[s]) - value(other[s])) / value(other[s]) for s in seeds]
    return Answer(d, unit, shares, counts, runs=[of[s] for s in seeds for of in (one, other)])


def regularizer(runs):
    def gap(run):
        return after(run, "test_nll", 4) - after(run, "train_nll", 4)

    return [compared(runs, "batch", "none", size, gap) for size in (128, 4)]


def faster(size):
    def answers(runs):
        given = runs, "layer", "batch", size
        return [
            compared(*given, lambda run: after(run, "train_nll", 1)),
            compared(*given, lambda run: after(run, "train_nll", 4), counts=False),
            compared(*given, lambda run: after(run, "test_error", 4), "points", 100, counts=False),
        ]

    return answers


def robust(runs):
    found, used = [], []
    of = {(norm, size): mnist(runs, norm, size) for norm in ("layer", "batch") for size in (128, 4)}
    for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100)):
        d, shares = [], []
        for seed in (1, 2, 3):
            used += [group[seed] for group in of.values()]
            layer, batch = (abs(after(of[norm, 4][seed], name, 4)
                                - after(of[norm, 128][seed], name, 4))
                            for norm in ("layer", "batch"))  # fmt: skip
            d.append(factor * (layer - batch))
            shares.append((layer - batch) / batch)
        found.append(Answer(d, unit, shares, runs=used))
    return found


def one_by_one(runs):
    found, layer = [], mnist(runs, "layer", 1)
    for norm, size in (("batch", 2), ("none", 1)):
        other = mnist(runs, norm, size)
        pairs = [(layer[s], other[s]) for s in (1, 2, 3)]
        errors = [[after(run, "test_error", 1) for run in pair] for pair in pairs]
        found.append(Answer([100 * (a - b) for a, b in errors], "points",
                            [(a - b) / b for a, b in errors], norm == "batch",
                            runs=[run for pair in pairs for run in pair]))  # fmt: skip
    return found


# Section 5.2.


def harder_to_turn(runs):
    found = []
    for norm in ("layer", "batch", "none"):
        short, long = ({run["seed"]: run for run in
                        matching(runs, "weights", norm=norm, optimizer="sgd", scale=scale)
                        if "magnitude" not in run["settings"]}
                       for scale in (1, 4))  # fmt: skip
        d = [fmean(known(numbers(long[s], "turn_1"))) / fmean(known(numbers(short[s], "turn_1")))
             - 1 for s in (1, 2, 3)]  # fmt: skip
        used = [of[s] for s in (1, 2, 3) for of in (short, long)]
        found.append(Answer(d, "of what it was", d, norm != "none", runs=used))
    return found


def unevenness(run):
    """How much more, or less, the logarithm falls from epoch 3 to 4 than from 2 to 3."""
    at = dict(zip(run["curves"]["epoch"], run["curves"]["train_nll"], strict=True))
    two, three, four = (math.log(at[epoch]) for epoch in (2, 3, 4))
    return abs((four - three) - (three - two))


def last_turn(run):
    return fmean(run["curves"]["turn_1"][-3:])


def early_stopping(runs):
    found = []
    for norm in ("layer", "batch"):
        grown, fixed = ({run["seed"]: run for run in
                         matching(runs, "weights", norm=norm, optimizer="sgd", scale=1)
                         if run["settings"].get("magnitude") == magnitude}
                        for magnitude in (None, "fixed"))  # fmt: skip
        for value in (last_turn, unevenness):
            d = [value(grown[s]) / value(fixed[s]) - 1 for s in (1, 2, 3)]
            used = [of[s] for s in (1, 2, 3) for of in (grown, fixed)]
            found.append(Answer(d, "of the fixed", d, runs=used))
    return found


def figure_6_gains(size):
    def answers(runs):
        return [
            compared(runs, "layer", rival, size,
                     lambda run, name=name: fmean(run["curves"][name][-3:]), unit, factor)
            for rival in ("none", "batch")
            for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100))
        ]  # fmt: skip

    return answers


# Section 6.1.


def recall_speedup(runs):
    def recall(k):
        return lambda run: [-value for value in numbers(run, f"val_image_recall_{k}")]

    return both_kinds("order_embeddings", lambda kind: [
        sooner(runs, "order_embeddings", kind, of=recall(k)) for k in (1, 5, 10)
    ])  # fmt: skip


def own_best(runs):
    def when(axis):
        return lambda run: axis(run)[place_of_lowest(score(run))]

    return [lower(runs, "order_embeddings", when(updates), "updates"),
            lower(runs, "order_embeddings", when(seconds), "s", counts=False)]  # fmt: skip


def table_2(runs):
    found = []
    for way in ("image", "caption"):
        for measure in ("recall_1", "recall_5", "recall_10", "mean_rank"):
            name, rank = f"test_{way}_{measure}", measure == "mean_rank"
            found.append(lower(runs, "order_embeddings", lambda run, name=name: at_best(run, name),
                               "places" if rank else "points", factor=1 if rank else -100)
                         )  # fmt: skip
    return found


# Sections 6.2 to 6.5.


def reader_better(runs):
    given = runs, "attentive_reader", lowest, "points"
    plains = "none", "batch norm in the LSTM", "batch norm everywhere"
    return both_kinds("attentive_reader", lambda kind: [
        *(lower(*given, kind, plain=plain, factor=100) for plain in plains),
        lower(*given, kind, plain="none, chosen start", factor=100, counts=False),
    ])  # fmt: skip


def reader_gain(runs):
    given = runs, "attentive_reader", lowest, "points"
    return both_kinds("attentive_reader", lambda kind: [
        lower(*given, kind, plain="layer, gain 0.1", factor=100)
    ])  # fmt: skip


def reader_longer(runs):
    def grows(run):
        return at_best(run, "val_longer_error") - at_best(run, "val_error")

    return [lower(runs, "attentive_reader", grows, "points", "other",
                  plain="batch norm in the LSTM", factor=100, share=False)]  # fmt: skip


def skip_time(runs):
    one = lower(runs, "skip_thoughts", lambda run: seconds(run)[-1], "of its time")
    one.differences = one.shares
    return [within(one, 0.1, "of its time")]


def skip_better(runs):
    return [lower(runs, "skip_thoughts", lambda run, task=task: known(numbers(run, task))[-1],
                  "points", factor=-100)
            for task in ("mr", "cr", "subj", "caption_pairs")]  # fmt: skip


def draw_bound(runs):
    def last(run):
        return numbers(run, "test_bound_of_all")[-1]

    return both_kinds("draw", lambda kind: [
        lower(runs, "draw", last, "nats", kind),
        lower(runs, "draw", last, "nats", kind, plain="none, chosen start", counts=False),
    ])  # fmt: skip


def comparable(runs):
    one = lower(runs, "handwriting", lowest, "nats a point", share=False)
    beside = lower(runs, "handwriting", lowest, "nats a point", share=False, counts=False)
    return [within(one, 0.1, "nats a point"), beside]


# Section 6.7.


def conv_batch(runs):
    def error(run):
        return at_best(run, "test_error")

    others = [name for name in ARMS["convnet"] if name != "batch"]
    return both_kinds("convnet", lambda kind: [
        lower(runs, "convnet", error, "points", kind, plain=name, other="batch", factor=100)
        for name in others
    ])  # fmt: skip


def border(measure):
    def answers(runs):
        layer_norm, found = arm(runs, "convnet", "layer", "usual"), []
        for layer in (1, 2, 3):
            ends = [
                [numbers(layer_norm[s], f"{name}_{layer}")[-1]
                 for name in ("border_on", "inner_on", "border_deviation")]
                for s in sorted(layer_norm)
            ]  # fmt: skip
            if measure == "on":
                d = [on / inner - 1 for on, inner, _ in ends]
                found.append(Answer(d, "of the rest's", d, runs=[*layer_norm.values()]))
            else:
                d = [0.1 - abs(ratio - 1) for _, _, ratio in ends]
                found.append(Answer(d, "of the rest's", runs=[*layer_norm.values()]))
        return found

    return answers


# Tutorials.


def best_rate(runs, seed, curve):
    lows = [(min(known(curve(run))), run["settings"]["learning_rate"])
            for run in runs if run["seed"] == seed and known(curve(run))]  # fmt: skip
    return min(lows)[1]


def higher_rates(runs):
    found = []
    for name in ("landscape", *RECURRENT, "convnet"):
        of = [[run for run in matching(runs, name, **ARMS[name][norm]) if usual(run)]
              for norm in ("none", "layer")]  # fmt: skip
        seeds = common(*({run["seed"] for run in arm(runs, name, norm, "usual").values()}
                         for norm in ("none", "layer")))  # fmt: skip
        d = [math.log10(best_rate(of[0], s, score) / best_rate(of[1], s, score)) for s in seeds]
        found.append(Answer(d, "powers of ten", runs=of[0] + of[1]))
    for cell in ("lstm", "gru", "rnn"):
        of = [matching(runs, "sequence", cell=cell, norm=norm, held_out=True)
              for norm in ("none", "layer")]  # fmt: skip

        def loss(run):
            return numbers(run, "test_nll")

        d = [math.log10(best_rate(of[0], s, loss) / best_rate(of[1], s, loss)) for s in (1, 2, 3)]
        found.append(Answer(d, "powers of ten", runs=of[0] + of[1]))
    return found


def deep(runs):
    found = []
    for depth in (24, 12, 6):
        arms = []
        for norm in ("layer", "none"):
            ways = {}
            for run in matching(runs, "transformer", depth=depth, norm=norm, updates_an_epoch=100):
                way = run["settings"]["learning_rate"], run["settings"]["warm_up"]
                low = min(known(numbers(run, "val_nll")))
                ways.setdefault(way, {})[run["seed"]] = (low, run)
            arms.append(min(ways.values(), key=lambda way: fmean(low for low, _ in way.values())))
        pairs = [(arms[0][s][0], arms[1][s][0]) for s in (1, 2, 3)]
        found.append(Answer([a - b for a, b in pairs], "nats", [(a - b) / b for a, b in pairs],
                            depth == 24, runs=[of[s][1] for of in arms for s in (1, 2, 3)])
                     )  # fmt: skip
    return found


#: Of every claim that rests on records.
RECORDED = {
    "training-time": training_time,
    "generalization": generalization,
    "batch-norm-sgd": sgd,
    "regularizer": regularizer,
    "covariate-shift": landscape(*SHIFTS),
    "batch-of-one": one_by_one,
    "long-weights": harder_to_turn,
    "early-stopping": early_stopping,
    "recall-speedup": recall_speedup,
    "sixty-percent": own_best,
    "table-2": table_2,
    "reader-faster": speedup("attentive_reader"),
    "reader-better": reader_better,
    "reader-gain": reader_gain,
    "reader-longer": reader_longer,
    "skip-time": skip_time,
    "skip-speedup": speedup("skip_thoughts"),
    "skip-better": skip_better,
    "draw-twice": speedup("draw", 0.6),
    "draw-bound": draw_bound,
    "pen-comparable": comparable,
    "pen-faster": speedup("handwriting"),
    "robust": robust,
    "faster-at-128": faster(128),
    "faster-at-4": faster(4),
    "conv-speedup": speedup("convnet"),
    "conv-batch": conv_batch,
    "conv-border": border("on"),
    "conv-statistics": border("deviation"),
    "long-and-small": long_and_small,
    "higher-rates": higher_rates,
    "smoother": landscape(*SMOOTHNESS),
    "less-shift": landscape(*SHIFTS),
    "any-batch": robust,
    "gains-at-128": figure_6_gains(128),
    "gains-at-4": figure_6_gains(4),
    "deep-transformers": deep,
}


@functools.cache
def records(case):
    """The synthetic records of a case."""
    return toy_records.records(case)


@functools.cache
def expected(name, case):
    """The findings that a claim must have, those first on which the verdict rests."""
    return sorted(RECORDED[name](records(case)), key=lambda one: not one.counts)
