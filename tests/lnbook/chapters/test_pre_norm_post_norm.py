"""What is drawn and said is what was recorded."""

import base64
import gzip
import json
import re

import numpy as np
import pytest

from lnbook.chapters.pre_norm_post_norm import (
    ablation,
    claims,
    live,
    residual_stream,
    runs,
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


@pytest.fixture(scope="module")
def book():
    """The records of the book, as files have them, and as the chapter reads them."""
    records = record.read_all("transformer")
    return records, runs.TransformerRuns(records)


def settings(**changed):
    """Settings of a run that need not have been."""
    return {
        "initialization": "xavier", "place": "pre", "norm": "layer", "depth": 2,
        "learning_rate": 1e-3, "warm_up": 0, "last_norm": True, "qk_norm": "none",
        "updates_an_epoch": 100, "ablate": False,
    } | changed  # fmt: skip


def made(seed=0, loss=2.0, depth=2, **changed):
    """A record that need not have been: gradient k in block k, std 10 + k after it."""
    curves = {"epoch": [0, 6], "val_nll": [4.0, loss]}
    for k in range(depth + 1):
        curves |= {f"deviation_{k}": [10 + k, 20 + k], f"mean_share_{k}": [0.1 * k, 0.2]}
        if k:
            curves[f"gradient_{k}"] = [float(k), -1.0]
    return {"settings": settings(depth=depth, **changed), "seed": seed, "curves": curves}


def begun(**changed):
    """A record of one update."""
    one = made(**changed)
    one["settings"]["updates_an_epoch"] = 1
    return one


def test_residual_scaling_is_another_initialization():
    scaled = made(depth=12, loss=3.0, initialization="gpt2", residual_scaling=True)
    default = made(depth=12, loss=2.0, initialization="gpt2", residual_scaling=False)
    few = runs.TransformerRuns([begun(), scaled, default])
    assert few.loss(runs.RunKey("gpt2", "pre", 12)).tolist() == [2]
    assert few.loss(runs.RunKey("gpt2 scaled", "pre", 12)).tolist() == [3]
    names = ["GPT-2, no residual scaling", "GPT-2, residual scaling"]
    assert [*trained.trained_starts(few)] == names
    assert claims.trained(few).columns[1:] == names


def test_each_place_is_shown_at_its_best_of_the_rates_that_all_places_have():
    ends = {
        ("pre", 1e-3): 2.4, ("pre", 3e-3): 2.6, ("post", 1e-3): 3.34, ("post", 3e-3): 3.35,
        ("none", 1e-3): 9.0, ("none", 3e-3): 2.5,
        ("pre", 3e-4): 2.0,  # no other place was trained at this rate
    }  # fmt: skip
    how = {"pre": {}, "post": {"place": "post"}, "none": {"norm": "none"}}
    few = [made(depth=12, loss=loss, learning_rate=rate, **how[kind])
           for (kind, rate), loss in ends.items()]  # fmt: skip
    few += [made(depth=6, loss=2.2, warm_up=60), made(depth=24, loss=np.nan)]
    few += [made(depth=24, loss=2.3, place="post")]
    table = trained.at_best(runs.TransformerRuns([begun(), *few]))
    columns = ["Initialization", "blocks", "settings", "post-norm", "pre-norm", "no norm"]
    assert table.columns == columns
    assert table.rows == [
        ["Xavier", "6", "1", "not recorded", "2.20 at 0.001 with warm-up", "not recorded"],
        ["Xavier", "12", "2", "stuck at every rate", "2.40 at 0.001", "2.50 at 0.003"],
        ["Xavier", "24", "1", "2.30 at 0.001", "diverged at every rate", "not recorded"],
    ]


def test_every_ablation_that_is_recorded_is_shown_once(book):
    shown = [name for group in ablation.ABLATION_GROUPS.values() for name in group]
    assert sorted(shown) == sorted(ABLATIONS)
    (figure,) = ablation.draw_ablation(book[1], "remove norms")
    pages = [r for r in book[0] if r["settings"]["ablate"]]
    removed = sorted(r["curves"]["nll_removed"][-1] for r in pages)
    assert sorted(figure.data[1].x) == removed
    assert len(removed) == 3


# The residual stream.


def shapes(place, widths=(1, 1, 2), bars=(1, 0.5), layout=residual_streams.WIDE):
    state = residual_streams.State("", widths, bars, {"a": 2.0, "b": 3.0})
    return residual_streams._shape(
        layout, place, state, len(bars), residual_streams.Gauge("", 2, 3, {})
    )


def norms(shape):
    return [rect for rect in shape["rects"][:5]]


@pytest.mark.parametrize(
    "layout", [residual_streams.WIDE, residual_streams.TALL], ids=["wide", "tall"]
)
def test_only_post_norm_and_the_last_norm_are_on_the_residual_stream(layout):
    def on_stream(rect):
        x, y, w, h, opacity = rect
        low, size = (x, w) if layout.portrait else (y, h)
        return bool(opacity) and low < layout.stream < low + size

    results = {
        p: [on_stream(norm) for norm in norms(shapes(p, layout=layout))]
        for p in residual_streams.PLACEMENTS
    }
    assert results["post"] == [True, False, True, False, False]
    assert results["pre"] == results["sandwich"] == [False, False, False, False, True]
    assert not any(results["none"])


def test_the_stream_is_as_wide_as_its_std_and_bars_as_high_as_the_gradient():
    numbers = np.array(re.findall(r"-?[\d.]+", shapes("pre")["outline"]), float).reshape(-1, 2)
    assert np.ptp(numbers[numbers[:, 0] == numbers[:, 0].max()][:, 1]) == pytest.approx(
        2 * residual_streams.WIDE.wide
    )
    assert np.ptp(numbers[numbers[:, 0] == numbers[:, 0].min()][:, 1]) == pytest.approx(
        residual_streams.WIDE.wide
    )
    lengths = [rect[3] for rect in shapes("pre", bars=(1, 0.1))["rects"][5:]]
    decades = np.log10(residual_streams.BARS[1] / residual_streams.BARS[0])
    assert lengths[0] - lengths[1] == pytest.approx(residual_streams.WIDE.high / decades, abs=0.1)


def test_every_state_has_the_same_shapes_and_the_marks_are_on_the_gauge(book):
    html = residual_stream.residual_stream(book[1]).to_html()
    packed = re.search(r'class="ln-diagram-data">(.*?)</script>', html, re.S)[1]
    states = json.loads(gzip.decompress(base64.b64decode(packed)))
    sizes = {
        (len(re.findall(r"[\d.]+", shape["outline"])), *(len(shape[k]) for k in
                                                       ("rects", "circles", "texts")))
        for state in states.values() for shape in state["shapes"]
    }  # fmt: skip
    assert len(sizes) == 1
    assert {name.split("|")[0] for name in states} == set(residual_streams.PLACEMENTS)
    left, right, _ = residual_streams.WIDE.gauge
    alone, warm = states["post|Xavier"]["shapes"][0]["circles"]
    assert left < warm[0] < alone[0] < right
    loss = book[1].loss(runs.RunKey("xavier", "post", 12, 1e-3, 0)).mean()
    text = re.sub(r"<[^>]+>", "", states["post|Xavier"]["said"])
    assert f"{loss:.2f} without warm-up (stuck" in text


# A short run.


def test_a_short_run_ends_where_the_experiment_does():
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
def test_the_two_lines_are_those_of_tiny_shakespeare():
    lines = baselines(load("tiny_shakespeare"))
    assert round(lines["unigram"], 3) == runs.UNIGRAM
    assert round(lines["bigram"], 3) == runs.BIGRAM
