"""Pre-norm and post-norm: figures, sentences and labels, for synthetic records."""

import base64
import gzip
import itertools
import json
import math
import re
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.pre_norm_post_norm import (
    ablation,
    claims,
    first_gradients,
    live,
    residual_stream,
    runs,
    stream,
    trained,
)
from lnbook.diagrams import residual_streams
from lnlab import records as record
from lnlab.datasets import Text, load
from lnlab.experiments.transformer import ABLATIONS, Settings
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.live import short_run
from lnlab.experiments.transformer.run import TransformerRun
from lnlab.training import train
from tests.cases.drawn import check_band, check_inside, lines
from tests.cases.oracle import parsed
from tests.cases.protocol import Answer, holm, key, outcome

SEEDS = (2, 0, 1)
DEPTHS = (2, 6, 12, 24)
EPOCHS = (0.0, 0.25, 1.0, 3.0, 6.0)
KINDS = {
    "pre": {}, "post": {"place": "post"}, "sandwich": {"place": "sandwich"},
    "none": {"norm": "none"}, "rms": {"norm": "rms"}, "tanh": {"norm": "tanh"},
    "qk": {"qk_norm": "layer"}, "no last": {"last_norm": False},
}  # fmt: skip
LABELS = {"post": "post-norm", "pre": "pre-norm", "none": "no norm"}
UNIGRAM, BIGRAM = 3.347, 2.482  # nats
STARTS = ("xavier", "normal", "pytorch")


def made(rng, initialization, kind, depth, seed, *, rate=1e-3, warm_up=0, begun=False, level=None):
    settings = {
        "initialization": initialization, "place": "pre", "norm": "layer", "depth": depth,
        "learning_rate": rate, "warm_up": warm_up, "last_norm": True, "qk_norm": "none",
        "updates_an_epoch": 1 if begun else 100, "ablate": False,
    } | KINDS[kind]  # fmt: skip
    epochs = (0.0, 1.0) if begun else EPOCHS
    level = rng.uniform(2.2, 4.0) if level is None else level
    curves = {"epoch": list(epochs),
              "val_nll": list(np.sort(level + rng.uniform(0, 0.3, len(epochs)))[::-1])}  # fmt: skip
    for k in range(depth + 1):
        curves[f"deviation_{k}"] = list(rng.uniform(0.9, 1.1, len(epochs)) * math.sqrt(k + 1))
        curves[f"mean_share_{k}"] = list(rng.uniform(0.001, 0.04, len(epochs)))
        if k:
            curves[f"gradient_{k}"] = list(rng.uniform(0.02, 1, len(epochs)))
    return {"settings": settings, "seed": seed, "curves": curves}


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    results = [
        made(rng, initialization, kind, depth, seed, begun=True)
        for initialization, kind, depth, seed in itertools.product(
            STARTS, ("pre", "post"), DEPTHS, range(10)
        )
    ]
    for initialization, kind, rate, warm_up in itertools.product(
        STARTS[:2], KINDS, (3e-4, 1e-3, 3e-3), (0, 60)
    ):
        levels = rng.choice([2.2, 2.4, 3.31, 4.5], size=3)
        if rng.random() < 0.6:  # in most groups all seeds are similar
            levels[:] = levels[0]
        results += [made(rng, initialization, kind, 12, seed, rate=rate, warm_up=warm_up,
                         level=level)
                  for seed, level in zip(SEEDS, levels, strict=True)]  # fmt: skip
    return results


@pytest.fixture(scope="module")
def known(records):
    return runs.TransformerRuns(records)


def of(records, initialization, kind, depth, *, begun=False, rate=1e-3, warm_up=0):
    """The runs of a group by seed."""
    wanted = {"initialization": initialization, "depth": depth, "learning_rate": rate,
              "warm_up": warm_up, "updates_an_epoch": 1 if begun else 100}  # fmt: skip
    plain = {"place": "pre", "norm": "layer", "last_norm": True, "qk_norm": "none"}
    wanted |= plain | KINDS[kind]
    return sorted((r for r in records if all(r["settings"][k] == v for k, v in wanted.items())),
                  key=lambda r: r["seed"])  # fmt: skip


def blocks(cell, name, depth, first, at):
    """A measure by seed and block."""
    return [[r["curves"][f"{name}_{k}"][at] for k in range(first, depth + 1)] for r in cell]


def mean_of(rows, column):
    return fmean(row[column] for row in rows)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("initialization", STARTS)
def test_initial_gradients_are_drawn_by_block_and_by_depth(records, known, initialization, depth):
    by_block, by_depth = first_gradients.draw_first_gradients(known, initialization, depth)
    text = first_gradients.describe_first_gradients(known, initialization, depth)
    wanted = []
    for kind in ("post", "pre"):
        cell = of(records, initialization, kind, depth, begun=True)
        rows = blocks(cell, "gradient", depth, 1, 0)
        check_band(lines(by_block)[LABELS[kind]], range(1, depth + 1), rows)
        wanted += [mean_of(rows, 0), mean_of(rows, -1)]
        lasts = [[r["curves"][f"gradient_{d}"][0] for r in
                  of(records, initialization, kind, d, begun=True)] for d in DEPTHS]  # fmt: skip
        check_band(lines(by_depth)[LABELS[kind]], DEPTHS, [*zip(*lasts, strict=True)])
    dotted, *_ = lines(by_depth)["1/√depth"]
    wanted_line = [fmean(lasts[0]) * math.sqrt(2 / d) for d in DEPTHS]
    np.testing.assert_allclose(dotted.y, wanted_line)
    numbers = parsed(text.partition("update: ")[2])
    np.testing.assert_allclose(numbers, wanted, rtol=0.06)
    shallow = first_gradients.draw_first_gradients(known, initialization, DEPTHS[0])
    for figure, other in zip((by_block, by_depth), shallow, strict=True):
        check_inside(figure, but=("1/√depth",))
        assert figure.layout.yaxis.range == other.layout.yaxis.range  # the slider moves no axis


@pytest.mark.parametrize("kind", ["pre", "sandwich", "none"])
@pytest.mark.parametrize("initialization", STARTS[:2])
def test_the_stream_is_drawn_before_and_after_training_and_stated_after_the_last_block(
    records, known, initialization, kind
):
    figures = stream.draw_stream(known, kind, initialization)
    text = stream.describe_stream(known, kind, initialization)
    ends = {}
    for figure, name, factor in zip(figures, ("deviation", "mean_share"), (1, 100), strict=True):
        low, high = {"deviation": (0.02, 24), "mean_share": (0.04, 6)}[name]
        begun = of(records, initialization, kind, 12, begun=True)
        begun = begun or of(records, initialization, kind, 12, rate=3e-4)
        after = of(records, initialization, kind, 12, warm_up=60)
        for when, cell, at in (("before training", begun, 0), ("after training", after, -1)):
            rows = [[factor * v for v in row] for row in blocks(cell, name, 12, 0, at)]
            ends[when, name] = mean_of(rows, -1)
            clipped = [[min(max(v, low), high) for v in row] for row in rows]
            check_band(lines(figure)[when], range(13), clipped)
        check_inside(figure)
    wanted = [ends[when, name] for when in ("before training", "after training")
              for name in ("deviation", "mean_share")]  # fmt: skip
    np.testing.assert_allclose(parsed(text.partition("block: ")[2]), wanted, atol=0.0051)


def within(values, margin):
    """Differences that are negative if the mean is within ``margin`` of 0."""
    return [math.copysign(1, fmean(values)) * v - margin for v in values]


def test_the_table_of_initial_gradients_has_measures_and_labels(records, known):
    table = claims.at_start(known)
    means, answers = [], []
    for name in STARTS:

        def at(kind, depth, block, curve="gradient", name=name):
            cell = of(records, name, kind, depth, begun=True)
            return np.array([r["curves"][f"{curve}_{block}"][0] for r in cell])

        squares = [at("pre", 12, k, "deviation") ** 2 for k in (0, 6, 12)]
        deeper = {kind: at(kind, 24, 24) / at(kind, 2, 2) for kind in ("post", "pre")}
        measures = [
            deeper["post"],
            deeper["pre"] * math.sqrt(24 / 2),
            at("post", 12, 12) / at("pre", 12, 12),
            np.log2((squares[2] - squares[0]) / (squares[1] - squares[0])),
            at("post", 12, 12) / at("post", 12, 1),
            at("pre", 12, 1) / at("pre", 12, 12),
        ]
        means.append([fmean(v) for v in measures])
        logs = [np.log(v) for v in measures]
        same, longer = {0, 1, 5}, {2, 4}
        answers += [
            Answer(
                within(logs[k], math.log(1.1)) if k in same
                else list(-logs[k]) if k in longer else within(measures[k] - 1, 0.25),
                "", what=f"{name} {k}",
            )
            for k in range(6)
        ]  # fmt: skip
    p = holm(answers)
    wanted = {one.what: outcome(one, p[key(one)]) for one in answers}
    assert {"supported", "contradicted", "undecided"} == set(wanted.values())
    assert "corrected for all 18" in table.caption
    for k, (claim, *badges) in enumerate(table.rows):
        reported = parsed(claim.rpartition("(")[2])
        np.testing.assert_allclose(reported, [column[k] for column in means], atol=0.0051)
        assert [badge[2:] for badge in badges] == [wanted[f"{name} {k}"] for name in STARTS]


def test_the_table_of_training_counts_seeds_for_each_claim(records, known):
    def ends(name, kind, rate, warm_up):
        cell = of(records, name, kind, 12, rate=rate, warm_up=warm_up)
        return [r["curves"]["val_nll"][-1] for r in cell]

    def is_stuck(loss):
        return UNIGRAM - 0.05 < loss < 4.174

    def reported(true):
        return f"{sum(true)} of {len(true)} seeds"

    table = claims.trained(known)
    assert table.columns == ["Trained", "Xavier", "N(0, 0.02)"]
    for column, name in enumerate(STARTS[:2], 1):
        without, warm = (ends(name, "post", 1e-3, k) for k in (0, 60))
        small = ends(name, "post", 3e-4, 0)
        pre = [ends(name, "pre", 1e-3, k) for k in (0, 60)]
        high = [ends(name, kind, 3e-3, k) for kind in ("post", "pre") for k in (0, 60)]
        wanted = [
            reported([is_stuck(a) and not is_stuck(b) for a, b in zip(without, warm, strict=True)]),
            reported([not is_stuck(a) and a > b for a, b in zip(small, warm, strict=True)]),
            reported([abs(a - b) < 0.05 for a, b in zip(*pre, strict=True)]),
            reported([is_stuck(a) and is_stuck(b) and not is_stuck(c) and not is_stuck(d)
                  for a, b, c, d in zip(*high, strict=True)]),
        ]  # fmt: skip
        assert [row[column] for row in table.rows] == wanted


@pytest.mark.parametrize("initialization", STARTS[:2])
def test_the_map_shows_means_and_hover_labels_show_ranges(records, known, initialization):
    names = {trained.short(kind): kind for kind in KINDS}
    for warm_up, figure in zip((0, 60), trained.draw_losses(known, initialization, 12),
                               strict=True):  # fmt: skip
        heat = figure.data[0]
        for name, z, texts, hovers in zip(heat.y, heat.z, heat.text, heat.customdata, strict=True):
            for k, rate in enumerate((3e-4, 1e-3, 3e-3)):
                cell = of(records, initialization, names[name], 12, rate=rate, warm_up=warm_up)
                ends = [r["curves"]["val_nll"][-1] for r in cell]
                if max(ends) >= 4.174:
                    assert (texts[k], z[k]) == ("diverged", 0.4)
                    continue
                count = sum(v > UNIGRAM - 0.05 for v in ends)
                if 0 < count < 3:
                    assert texts[k] == f"{count} of 3<br>stuck"
                else:
                    assert float(texts[k]) == pytest.approx(fmean(ends), abs=0.0051)
                assert z[k] == pytest.approx(fmean(ends) - BIGRAM)
                wanted = [fmean(ends), 3, min(ends), max(ends)]
                np.testing.assert_allclose(parsed(hovers[k]), wanted, atol=0.00051)


def test_the_sentence_on_the_map_states_the_lowest_loss_and_failed_runs(known):
    text = trained.describe_losses(known, "xavier", 12)
    maps = [figure.data[0] for figure in trained.draw_losses(known, "xavier", 12)]
    cells = [(name, cell) for heat in maps
             for name, row in zip(heat.y, heat.text, strict=True) for cell in row]  # fmt: skip
    lowest = min(float(cell) for _, cell in cells if re.fullmatch(r"[\d.]+", cell))
    assert f"the lowest loss is {lowest:.2f} nats" in text
    for head, word in (("Stuck in some seeds", "stuck"), ("Diverged", "diverged")):
        listed = re.search(rf"{head}: (.*?)\.( |$)", text)[1]
        names = {part.partition(" at ")[0] for part in listed.split("; ")}
        assert names == {name for name, cell in cells if word in cell}


@pytest.mark.parametrize("initialization", STARTS[:2])
@pytest.mark.parametrize("warm_up", [0, 60])
def test_training_curves_are_means_with_the_range_over_seeds(
    records, known, initialization, warm_up
):
    (figure,) = trained.draw_curves(known, 1e-3, warm_up, initialization)
    text = trained.describe_curves(known, 1e-3, warm_up, initialization)
    wanted = []
    for kind, label in LABELS.items():
        cell = of(records, initialization, kind, 12, warm_up=warm_up)
        curves = [r["curves"]["val_nll"] for r in cell]
        check_band(lines(figure)[label], [100 * e for e in EPOCHS],
                   [[min(v, 4.4) for v in row] for row in curves])  # fmt: skip
        wanted.append(mean_of(curves, -1))
    assert [lines(figure)[f"{name}"][0].y for name in ("unigram", "bigram")] == [
        (UNIGRAM, UNIGRAM), (BIGRAM, BIGRAM),
    ]  # fmt: skip
    reported = text.rpartition("warm-up: ")[2]
    np.testing.assert_allclose(parsed(reported), wanted, atol=0.0051)


@pytest.mark.parametrize("place", ["post", "pre", "sandwich", "none"])
def test_the_diagram_of_the_stream_shows_means_over_seeds(records, known, place):
    state = residual_stream.state(known, place, "xavier")
    cell = of(records, "xavier", place, 12, begun=True)
    cell = cell or of(records, "xavier", place, 12, rate=3e-4)
    widths, bars = (blocks(cell, n, 12, f, 0) for n, f in (("deviation", 0), ("gradient", 1)))
    np.testing.assert_allclose(state.widths, [fmean(c) for c in zip(*widths, strict=True)])
    np.testing.assert_allclose(state.bars, [fmean(c) for c in zip(*bars, strict=True)])
    losses = {}
    for warm_up, label in ((0, "no warm-up"), (60, "warm-up")):
        of_place = of(records, "xavier", place, 12, warm_up=warm_up)
        losses[label] = fmean(r["curves"]["val_nll"][-1] for r in of_place)
    assert state.marks == pytest.approx(losses)
    stuck = state.description.count("stuck at the unigram entropy")
    assert stuck == sum(value > UNIGRAM - 0.05 for value in losses.values())


@pytest.mark.parametrize("group", ablation.ABLATION_GROUPS)
def test_ablations_are_drawn_per_model_and_stated_as_means(group):
    rng = np.random.default_rng(1)
    names = ablation.ABLATION_GROUPS[group]
    models = [
        {"settings": {"ablate": True, "updates_an_epoch": 300}, "seed": seed,
         "curves": {"epoch": [0, 1], "val_nll": [4.0, rng.uniform(1.5, 2)],
                    **{f"nll_{n}": [9.0, rng.uniform(2, 60)] for n in names}}}
        for seed in range(3)
    ]  # fmt: skip
    known = type("Known", (), {"model": models})
    (figure,) = ablation.draw_ablation(known, group)
    text = ablation.describe_ablation(known, group)
    columns = {"as trained": [m["curves"]["val_nll"][-1] for m in models]}
    columns |= {label: [m["curves"][f"nll_{n}"][-1] for m in models] for n, label in names.items()}
    for trace, (label, values) in zip(figure.data, columns.items(), strict=True):
        assert set(trace.y) == {label}
        np.testing.assert_allclose(trace.x, values)
    check_inside(figure)
    first, *others = text.partition(" nats; ")[::2]
    assert parsed(first) == [pytest.approx(fmean(columns["as trained"]), abs=0.0051)]
    parts = others[0].rstrip(".")
    for label, values in list(columns.items())[1:]:
        reported = float(re.search(rf"{re.escape(label)} ([\d.]+)(?:, |$)", parts)[1])
        assert reported == pytest.approx(fmean(values), rel=1e-3)


@pytest.fixture(scope="module")
def book():
    return runs.TransformerRuns(record.read_all("transformer"))


def toy(loss=2.0, **changed):
    """A synthetic record: gradient k in block k, std 10 + k after it."""
    settings = {
        "initialization": "xavier", "place": "pre", "norm": "layer", "depth": 2,
        "learning_rate": 1e-3, "warm_up": 0, "last_norm": True, "qk_norm": "none",
        "updates_an_epoch": 100, "ablate": False,
    } | changed  # fmt: skip
    curves = {"epoch": [0, 6], "val_nll": [4.0, loss]}
    for k in range(settings["depth"] + 1):
        curves |= {f"deviation_{k}": [10 + k, 20 + k], f"mean_share_{k}": [0.1 * k, 0.2]}
        curves[f"gradient_{k}"] = [float(k), -1.0]
    return {"settings": settings, "seed": 0, "curves": curves}


def test_residual_scaling_counts_as_another_initialization():
    scaled = toy(depth=12, loss=3.0, initialization="gpt2", residual_scaling=True)
    default = toy(depth=12, loss=2.0, initialization="gpt2", residual_scaling=False)
    few = runs.TransformerRuns([toy(updates_an_epoch=1), scaled, default])
    assert few.loss(runs.RunKey("gpt2", "pre", 12)).tolist() == [2]
    assert few.loss(runs.RunKey("gpt2 scaled", "pre", 12)).tolist() == [3]
    names = ["GPT-2, no residual scaling", "GPT-2, residual scaling"]
    assert [*trained.trained_starts(few)] == names
    assert claims.trained(few).columns[1:] == names


def test_each_placement_is_shown_at_its_best_common_rate():
    ends = {
        ("pre", 1e-3): 2.4, ("pre", 3e-3): 2.6, ("post", 1e-3): 3.34, ("post", 3e-3): 3.35,
        ("none", 1e-3): 9.0, ("none", 3e-3): 2.5,
        ("pre", 3e-4): 2.0,  # no other placement was trained at this rate
    }  # fmt: skip
    how = {"pre": {}, "post": {"place": "post"}, "none": {"norm": "none"}}
    few = [toy(depth=12, loss=loss, learning_rate=rate, **how[kind])
           for (kind, rate), loss in ends.items()]  # fmt: skip
    few += [toy(depth=6, loss=2.2, warm_up=60), toy(depth=24, loss=np.nan)]
    few += [toy(depth=24, loss=2.3, place="post")]
    table = trained.at_best(runs.TransformerRuns([toy(updates_an_epoch=1), *few]))
    columns = ["Initialization", "blocks", "settings", "post-norm", "pre-norm", "no norm"]
    assert table.columns == columns
    assert table.rows == [
        ["Xavier", "6", "1", "not recorded", "2.20 at 0.001 with warm-up", "not recorded"],
        ["Xavier", "12", "2", "stuck at every rate", "2.40 at 0.001", "2.50 at 0.003"],
        ["Xavier", "24", "1", "2.30 at 0.001", "diverged at every rate", "not recorded"],
    ]


def test_every_recorded_ablation_is_shown_once():
    shown = [name for group in ablation.ABLATION_GROUPS.values() for name in group]
    assert sorted(shown) == sorted(ABLATIONS)


def shapes(place, widths=(1, 1, 2), bars=(1, 0.5), layout=residual_streams.WIDE):
    state = residual_streams.State("", widths, bars, {"a": 2.0, "b": 3.0})
    return residual_streams._shape(
        layout, place, state, len(bars), residual_streams.Gauge("", 2, 3, {})
    )


@pytest.mark.parametrize(
    "layout", [residual_streams.WIDE, residual_streams.TALL], ids=["wide", "tall"]
)
def test_only_post_norm_and_the_final_norm_are_on_the_residual_stream(layout):
    def on_stream(rect):
        x, y, w, h, opacity = rect
        low, size = (x, w) if layout.portrait else (y, h)
        return bool(opacity) and low < layout.stream < low + size

    results = {place: [*map(on_stream, shapes(place, layout=layout)["rects"][:5])]
               for place in residual_streams.PLACEMENTS}  # fmt: skip
    assert results["post"] == [True, False, True, False, False]
    assert results["pre"] == results["sandwich"] == [False, False, False, False, True]
    assert not any(results["none"])


def test_stream_width_and_bar_heights_show_std_and_gradients():
    x, y = np.array(re.findall(r"-?[\d.]+", shapes("pre")["outline"]), float).reshape(-1, 2).T
    assert np.ptp(y[x == x.max()]) == pytest.approx(2 * residual_streams.WIDE.wide)
    assert np.ptp(y[x == x.min()]) == pytest.approx(residual_streams.WIDE.wide)
    lengths = [rect[3] for rect in shapes("pre", bars=(1, 0.1))["rects"][5:]]
    decades = np.log10(residual_streams.BARS[1] / residual_streams.BARS[0])
    assert lengths[0] - lengths[1] == pytest.approx(residual_streams.WIDE.high / decades, abs=0.1)


def test_every_state_has_the_same_shapes_and_the_marks_are_on_the_gauge(book):
    html = residual_stream.residual_stream(book).to_html()
    packed = re.search(r'class="ln-diagram-data">(.*?)</script>', html, re.S)[1]
    states = json.loads(gzip.decompress(base64.b64decode(packed)))
    sizes = {(len(re.findall(r"[\d.]+", shape["outline"])), *map(len, (shape["rects"],
              shape["circles"], shape["texts"])))
             for state in states.values() for shape in state["shapes"]}  # fmt: skip
    assert len(sizes) == 1
    assert {name.split("|")[0] for name in states} == set(residual_streams.PLACEMENTS)
    left, right, _ = residual_streams.WIDE.gauge
    alone, warm = states["post|Xavier"]["shapes"][0]["circles"]
    assert left < warm[0] < alone[0] < right
    loss = book.loss(runs.RunKey("xavier", "post", 12, 1e-3, 0)).mean()
    text = re.sub(r"<[^>]+>", "", states["post|Xavier"]["said"])
    assert f"{loss:.2f} without warm-up (stuck" in text


def test_short_runs_end_like_those_of_the_experiment():
    text = Text.split("python_topics", "to be or not to be that is the question " * 40)
    small = {"depth": 1, "width": 8, "heads": 2, "length": 8, "windows": 4, "batch_size": 2}
    points = list(short_run(text, "post", 2, **small, epochs=2, updates_an_epoch=4))
    assert [p["updates"] for p in points][-2:] == [4, 8]
    chosen = Settings(place="post", warm_up=2, data="python_topics", **small, updates_an_epoch=4)
    *_, last = train(TransformerRun(chosen, text), epochs=2)
    assert points[-1]["loss"] == last["val_nll"]
    assert points[0]["unigram"] > points[0]["bigram"] > 0
    assert "Python's own help, post-norm, after 8 updates" in live.describe_live(points, "post", 2)
    (figure,) = live.draw_live(points, "post", 2)
    assert list(figure.data[0].y) == [min(p["loss"], live.TOP) for p in points]


@pytest.mark.needs_data("tiny_shakespeare")
def test_both_reference_lines_are_entropies_of_tiny_shakespeare():
    lines = baselines(load("tiny_shakespeare"))
    assert round(lines["unigram"], 3) == runs.UNIGRAM
    assert round(lines["bigram"], 3) == runs.BIGRAM
