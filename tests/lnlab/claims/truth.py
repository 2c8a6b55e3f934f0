"""What every claim comes to on synthetic records, by the plain loops of the oracle."""

import functools
import itertools
import math
from statistics import fmean

from tests.cases import toy_records
from tests.cases.oracle import at_best, has_default_settings, matching
from tests.cases.protocol import (
    NAN,
    Answer,
    arm,
    at_one_rate,
    both_groups,
    common,
    end,
    faster,
    final,
    known,
    numbers,
    ratios,
    reason,
    score,
    speedup,
    to_targets,
    updates,
    within,
)
from tests.cases.toy_records import ARMS, RECURRENT, SWEPT

# Sections 1 and 7: over all recurrent experiments.


def untimed(runs, name):
    a, b = (arm(runs, name, norm, "main") for norm in ("none", "layer"))
    why = "times of two implementations, on a busy machine"
    return Answer([NAN] * len(common(a, b)), "of its time", untestable=why,
                  runs=[*a.values(), *b.values()])  # fmt: skip


def training_time(runs):
    return [untimed(runs, name) for name in RECURRENT]


def of_end(name):
    return lambda run: end(numbers(run, name))


def sum_of_recalls(run, value=lambda run, name: end(numbers(run, name))):
    names = [f"test_{way}_recall_{k}" for way in ("image", "caption") for k in (1, 5, 10)]
    return sum(value(run, name) for name in names)


def generalization(runs):
    return [
        final(runs, "order_embeddings", sum_of_recalls, "points", factor=-100),
        final(runs, "attentive_reader", of_end("test_error"), "points", factor=100),
        final(runs, "skip_thoughts", of_end("val_nll"), "nats per word"),
        final(runs, "draw", of_end("test_bound"), "nats"),
        final(runs, "handwriting", of_end("test_new_nll"), "nats per point", share=False),
    ]  # fmt: skip


def long_and_small(runs):
    results = []
    for name in RECURRENT:
        if name == "attentive_reader":
            continue  # its other group is trained on short passages
        arms = [arm(runs, name, norm, group) for group in ("main", "other")
                for norm in ("none", "layer")]  # fmt: skip
        seeds = common(*arms)
        arms = [{s: of[s] for s in seeds} for of in arms]
        used = [run for of in arms for run in of.values()]
        why = reason([arms[0], arms[2]], score, updates)
        if why:
            results.append(Answer([NAN] * len(seeds), "of the updates", untestable=why, runs=used))
            continue
        ours, theirs = (ratios(*arms[k : k + 2], score, updates) for k in (0, 2))
        for a, b in zip(ours, theirs, strict=True):
            d = [y - x for x, y in zip(a, b, strict=True)]
            results.append(Answer(d, "of the updates", d, runs=used))
    for cell in ("lstm", "gru", "rnn"):
        used, arms = [], {}
        for run in matching(runs, "sequence", cell=cell, held_out=False):
            used.append(run)
            key = run["settings"]["step"], run["settings"]["norm"]
            arms.setdefault(key, {})[run["seed"]] = run
        of = {key: {s: end(numbers(run, "test_nll")) for s, run in runs_.items()}
              for key, runs_ in arms.items()}  # fmt: skip
        d = [of["pixel", "layer"][s] - of["pixel", "none"][s]
             - (of["row", "layer"][s] - of["row", "none"][s]) for s in (1, 2, 3)]  # fmt: skip
        order = [arms[step, norm] for step in ("row", "pixel") for norm in ("none", "layer")]
        why = reason(order, lambda run: numbers(run, "test_nll"), epochs)
        results.append(Answer(d, "nats", untestable=why, runs=used))
    return results


def epochs(run):
    return run["curves"]["epoch"]


# Section 1: batch norm; section 3 and tutorials: the landscape.


def sgd(runs):
    return [one for norm in ("batch", "layer", "rms")
            for one in faster(runs, "landscape", other=norm, counts=norm == "batch")]  # fmt: skip


def geometric_mean(run, names):
    logs = [fmean(math.log(v) for v in known(numbers(run, name))) for name in names]
    return math.exp(fmean(logs))


def landscape(*measures):
    def answers(runs):
        results = []
        for norm in ("layer", "batch", "rms"):
            none, other = ({run["seed"]: run for run in
                            matching(runs, "landscape", norm=n, learning_rate=0.1)}
                           for n in ("none", norm))  # fmt: skip
            for names in measures:
                d = [geometric_mean(other[s], names) / geometric_mean(none[s], names) - 1
                     for s in (1, 2, 3)]  # fmt: skip
                used = [of[s] for s in (1, 2, 3) for of in (none, other)]
                results.append(Answer(d, "of that without a norm", d, norm == "layer", runs=used))
        return results

    return answers


SHIFTS = (("shift_1", "shift_2"), ("moments_1", "moments_2"))
SMOOTHNESS = (("smoothness",), ("gradient_change",), ("loss_range",))


# Section 6.6 and others: MNIST.


def mnist(runs, norm, size):
    result = matching(runs, "mnist", norm=norm, batch_size=size)
    return {run["seed"]: run for run in result if run["curves"]["epoch"][-1] == 16}


def compared(runs, a, b, size, value, unit="nats", factor=1, counts=True, judged="train_nll"):
    one, other = (mnist(runs, norm, size) for norm in (a, b))
    return of_two(one, other, value, unit, factor, counts, judged)


def of_two(one, other, value, unit, factor, counts, judged):
    seeds = common(one, other)
    d = [factor * (value(one[s]) - value(other[s])) for s in seeds]
    shares = [(value(one[s]) - value(other[s])) / value(other[s]) for s in seeds]
    names = [judged] if isinstance(judged, str) else judged
    whys = [reason([other, one], lambda run, name=name: numbers(run, name), epochs)
            for name in names]  # fmt: skip
    why = next((why for why in whys if why), "")
    return Answer(d, unit, shares, counts, untestable=why, runs=[*one.values(), *other.values()])


def regularizer(runs):
    def gap(run):
        return of_end("test_nll")(run) - of_end("train_nll")(run)

    both = "train_nll", "test_nll"
    return [compared(runs, "batch", "none", size, gap, judged=both) for size in (128, 4)]


def faster_at(size):
    def answers(runs):
        layer, batch = (mnist(runs, norm, size) for norm in ("layer", "batch"))

        def at(run):
            return [round(640 // size * epoch) for epoch in epochs(run)]

        given = runs, "layer", "batch", size
        return [
            *(one for name in ("train_nll", "batch_nll", "test_error") for one in to_targets(
                batch, layer, lambda run, name=name: numbers(run, name), at,
                counts=name != "test_error")),
            compared(*given, of_end("train_nll"), counts=False),
            compared(*given, of_end("test_error"), "points", 100, counts=False,
                     judged="test_error"),
        ]  # fmt: skip

    return answers


def robust(runs):
    result, seeds = [], (1, 2, 3)
    of = {(norm, size): mnist(runs, norm, size) for norm in ("layer", "batch") for size in (128, 4)}
    used = [group[seed] for group in of.values() for seed in seeds]
    for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100)):
        d, shares, value = [], [], of_end(name)
        for seed in seeds:
            layer, batch = (abs(value(of[norm, 4][seed]) - value(of[norm, 128][seed]))
                            for norm in ("layer", "batch"))  # fmt: skip
            d.append(factor * (layer - batch))
            shares.append((layer - batch) / batch)
        why = reason(of.values(), lambda run, name=name: numbers(run, name), epochs)
        result.append(Answer(d, unit, shares, untestable=why, runs=used))
    return result


def one_by_one(runs):
    layer = mnist(runs, "layer", 1)
    return [of_two(layer, mnist(runs, norm, size), of_end("test_error"), "points", 100,
                   norm == "batch", "test_error")
            for norm, size in (("batch", 2), ("none", 1))]  # fmt: skip


# Section 5.2.


def harder_to_turn(runs):
    results = []
    for norm in ("layer", "batch", "none"):
        short, long = ({run["seed"]: run for run in
                        matching(runs, "weights", norm=norm, optimizer="sgd", scale=scale)
                        if "magnitude" not in run["settings"]}
                       for scale in (1, 4))  # fmt: skip
        d = [fmean(known(numbers(long[s], "turn_1"))) / fmean(known(numbers(short[s], "turn_1")))
             - 1 for s in (1, 2, 3)]  # fmt: skip
        used = [of[s] for s in (1, 2, 3) for of in (short, long)]
        results.append(Answer(d, "of that of unscaled weights", d, norm != "none", runs=used))
    return results


def unevenness(run):
    """How differently the logarithm falls from one whole epoch to the next, in the last half."""
    at = dict(zip(run["curves"]["epoch"], run["curves"]["train_nll"], strict=True))
    logs = [math.log(at[epoch]) for epoch in (9, 12, 15, 16)]
    falls = [b - a for a, b in itertools.pairwise(logs)]
    return fmean(abs(b - a) for a, b in itertools.pairwise(falls))


def early_stopping(runs):
    results = []
    for norm in ("layer", "batch"):
        grown, fixed = ({run["seed"]: run for run in
                         matching(runs, "weights", norm=norm, optimizer="sgd", scale=1)
                         if run["settings"].get("magnitude") == magnitude}
                        for magnitude in (None, "fixed"))  # fmt: skip
        pairs = [{s: of[s] for s in (1, 2, 3)} for of in (grown, fixed)]
        why = reason(pairs, lambda run: numbers(run, "train_nll"), epochs)
        used = [run for of in pairs for run in of.values()]
        for value in (of_end("turn_1"), unevenness):
            d = [value(grown[s]) / value(fixed[s]) - 1 for s in (1, 2, 3)]
            results.append(Answer(d, "of that with fixed norm", d, untestable=why, runs=used))
    return results


def figure_6_gains(size):
    def answers(runs):
        return [
            compared(runs, "layer", rival, size, of_end(name), unit, factor, judged=name)
            for rival in ("none", "batch")
            for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100))
        ]  # fmt: skip

    return answers


# Section 6.1.


def recall_speedup(runs, name="order_embeddings"):
    def recall(k):
        return lambda run: [-value for value in numbers(run, f"val_image_recall_{k}")]

    return both_groups(name, lambda group: [
        one for k in (1, 5, 10) for one in faster(runs, name, group, of=recall(k))
    ]) + same_rate(runs, name)  # fmt: skip


def same_rate(runs, name, limit=1.0):
    return [answer for at_rate in at_one_rate(runs, name)
            for answer in faster(at_rate, name, limit=limit, counts=False)]  # fmt: skip


def own_best(runs):
    def when(run, width):  # of the window on both sides
        known = [pair for pair in zip(updates(run), score(run), strict=True) if pair[1] == pair[1]]
        at, low = zip(*known, strict=True)
        near = [fmean(low[k - width : k + width + 1] if k else low[:1]) for k in range(len(low))]
        return at[near.index(min(near))]

    return [final(runs, "order_embeddings", lambda run, width=width: when(run, width), "updates",
                  early=True) for width in (0, 1)]  # fmt: skip


def table_2(runs, name="order_embeddings"):
    results = []
    for way in ("image", "caption"):
        for measure in ("recall_1", "recall_5", "recall_10", "mean_rank"):
            of = f"test_{way}_{measure}"
            unit, factor = ("places", 1) if measure == "mean_rank" else ("points", -100)
            results.append(final(runs, name, lambda r, of=of: at_best(r, of),
                                 unit, factor=factor, early=True))  # fmt: skip
    total = functools.partial(sum_of_recalls, value=at_best)
    return results + [
        final(at_rate, name, total, "points", factor=-100, early=True, counts=False)
        for at_rate in at_one_rate(runs, name)
    ]


# Sections 6.2 to 6.5.


def reader(runs, group, plain, counts=True, name="val_error"):
    unit, factor = ("points", 100) if name == "val_error" else ("nats", 1)
    return final(runs, "attentive_reader", of_end(name), unit, group, plain=plain, factor=factor,
                 counts=counts, judged=lambda run: numbers(run, name))  # fmt: skip


def reader_better(runs):
    plains = "none", "batch norm in the LSTM", "batch norm everywhere"
    return both_groups("attentive_reader", lambda group: [
        *(reader(runs, group, plain) for plain in plains),
        *(reader(runs, group, plain, False, "val_nll") for plain in plains),
        reader(runs, group, "none, tuned initialization", False),
    ])  # fmt: skip


def reader_gain(runs):
    return both_groups("attentive_reader", lambda group: [
        reader(runs, group, "layer, gain 0.1"),
        reader(runs, group, "layer, gain 0.1", False, "val_nll"),
    ])  # fmt: skip


def reader_longer(runs):
    def grows(run):
        return of_end("val_longer_error")(run) - of_end("val_error")(run)

    return [final(runs, "attentive_reader", grows, "points", "other",
                  plain="batch norm in the LSTM", factor=100, share=False)]  # fmt: skip


def skip_better(runs):
    results = []
    for task in ("mr", "cr", "subj", "caption_pairs"):
        one = final(runs, "skip_thoughts", of_end(task), "points", factor=-100,
                    judged=lambda run, task=task: [-v for v in numbers(run, task)])  # fmt: skip
        above = [of_end(task)(run) - of_end(f"bag_{task}")(run)
                 for run in arm(runs, "skip_thoughts", "layer", "main").values()]  # fmt: skip
        if not fmean(known(above)) > 0:
            one.untestable = "model below a trivial baseline"
        results.append(one)
    return results


def draw_bound(runs):
    value = of_end("test_bound_of_all")
    return both_groups("draw", lambda group: [
        final(runs, "draw", value, "nats", group),
        final(runs, "draw", value, "nats", group, plain="none, tuned initialization", counts=False),
    ])  # fmt: skip


def comparable(runs):
    given = runs, "handwriting", of_end("val_new_nll"), "nats per point"
    one, secondary = final(*given, share=False), final(*given, share=False, counts=False)
    return [within(one, 0.1, "nats per point"), secondary]


def conv_batch(runs):
    others = [name for name in ARMS["convnet"] if name != "batch"]

    def ends(group, what, unit, factor):
        test, val = (lambda run, of=of: numbers(run, f"{of}_{what}") for of in ("test", "val"))
        return [final(runs, "convnet", of_end(f"test_{what}"), unit, group, plain=plain, by=val,
                      other="batch", factor=factor, judged=test) for plain in others]  # fmt: skip

    return both_groups("convnet", lambda group: [
        *ends(group, "error", "points", 100), *ends(group, "nll", "nats", 1)
    ])  # fmt: skip


def border(measure):
    def answers(runs):
        layer_norm, result = arm(runs, "convnet", "layer", "main"), []
        for layer in (1, 2, 3):
            ends = [
                [numbers(layer_norm[s], f"{name}_{layer}")[-1]
                 for name in ("border_on", "inner_on", "border_deviation")]
                for s in sorted(layer_norm)
            ]  # fmt: skip
            if measure == "on":
                d = [on / inner - 1 for on, inner, _ in ends]
                result.append(Answer(d, "of the interior's", d, runs=[*layer_norm.values()]))
            else:
                d = [0.1 - abs(ratio - 1) for _, _, ratio in ends]
                result.append(Answer(d, "of the interior's", runs=[*layer_norm.values()]))
        return result

    return answers


# Tutorials.


def best_rate(runs, seed, curve):
    lows = [(min(known(curve(run))), run["settings"]["learning_rate"])
            for run in runs if run["seed"] == seed and known(curve(run))]  # fmt: skip
    return min(lows)[1]


def higher_rates(runs):
    results = []
    for name in SWEPT:  # the others have two rates
        of = [[run for run in matching(runs, name, **ARMS[name][norm]) if has_default_settings(run)]
              for norm in ("none", "layer")]  # fmt: skip
        arms = [arm(runs, name, norm, "main") for norm in ("none", "layer")]
        seeds, why = common(*arms), reason(arms, score, updates)
        d = [math.log10(best_rate(of[0], s, score) / best_rate(of[1], s, score)) for s in seeds]
        results.append(Answer(d, "powers of ten", untestable=why, runs=of[0] + of[1]))
    for cell in ("lstm", "gru", "rnn"):
        of = [matching(runs, "sequence", cell=cell, norm=norm, held_out=True)
              for norm in ("none", "layer")]  # fmt: skip
        loss = functools.partial(numbers, name="test_nll")
        d = [math.log10(best_rate(of[0], s, loss) / best_rate(of[1], s, loss)) for s in (1, 2, 3)]
        results.append(Answer(d, "powers of ten", runs=of[0] + of[1]))
    return results


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
    "reader-scale": lambda runs: [],  # the cases have no batch norm with gain 1
    "skip-time": lambda runs: [untimed(runs, "skip_thoughts")],
    "skip-speedup": speedup("skip_thoughts"),
    "skip-better": skip_better,
    "draw-twice": lambda runs: speedup("draw", 0.6)(runs) + same_rate(runs, "draw", 0.6),
    "draw-bound": draw_bound,
    "pen-comparable": comparable,
    "pen-faster": speedup("handwriting"),
    "robust": robust,
    "faster-at-128": faster_at(128),
    "faster-at-4": faster_at(4),
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
    "deep-transformers": lambda runs: [],  # has its own cases, in test_deep.py
}


@functools.cache
def records(case):
    """The synthetic records of a case."""
    return toy_records.records(case)


@functools.cache
def expected(name, case):
    """The findings that a claim must have, those first on which the verdict rests."""
    return sorted(RECORDED[name](records(case)), key=lambda one: not one.counts)
