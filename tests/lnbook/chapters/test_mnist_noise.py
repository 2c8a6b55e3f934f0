"""Figures and sentences about noise show the recorded numbers."""

import numpy as np
import pytest

from lnbook.chapters.mnist import noise

EPOCHS = [0.0, 0.5, 1.0]
NUMBERS = {"batch": (1, 2, 3), "layer": (1, 2), "none": ()}


def run(norm, seed):
    """Synthetic curves in which every number identifies its origin."""
    rng = np.random.default_rng([seed, list(NUMBERS).index(norm)])

    def curve(low, high):
        return rng.uniform(low, high, len(EPOCHS)).round(4).tolist()

    curves = {"x": "epoch", "epoch": EPOCHS, "train_nll": [2.3, 0.5, 0.1 + 0.1 * seed]}
    curves |= {"gradient_noise": curve(10, 500)}
    arrays = {}
    kinds = ("test", "batches", "averages", "true") if norm == "batch" else ("test",)
    for kind in kinds:
        curves |= {f"{kind}_nll": curve(0.1, 2), f"{kind}_error": curve(0.02, 0.9)}
    for i in NUMBERS[norm]:
        curves[f"moves_{i}"] = curve(0.4, 0.6) if norm == "batch" else [0.0] * len(EPOCHS)
        arrays[f"mean_{i}"] = rng.uniform(-1, 1, (len(EPOCHS), 4)).round(4)
        arrays[f"std_{i}"] = rng.uniform(0.5, 1.5, (len(EPOCHS), 4)).round(4)
        if norm == "batch":
            curves |= {f"miss_{i}": curve(0.4, 0.6), f"kept_miss_{i}": curve(0.1, 0.2)}
            curves |= {f"kept_mean_{i}": curve(-0.2, 0.2), f"kept_std_{i}": curve(0.9, 1.1)}
    return {"settings": {"norm": norm}, "seed": seed, "curves": curves, "arrays": arrays}


@pytest.fixture
def records():
    return [run(norm, seed) for seed in (1, 0) for norm in NUMBERS]


@pytest.fixture
def runs(records):
    return noise.NoiseRuns(records)


def of(records, norm, seed, name):
    (result,) = (r for r in records if r["settings"]["norm"] == norm and r["seed"] == seed)
    return (result["curves"] | result["arrays"])[name]


def traces(figure):
    return {trace.name: trace for trace in figure.data}


@pytest.mark.parametrize("place", noise.PLACES.values())
def test_the_cloud_shows_seed_0_at_the_selected_point(records, runs, place):
    norm, number = place
    cloud, _ = noise.draw_statistics(runs, 1, place)
    points = cloud.data[0]
    for k in range(4):
        assert points.x[k] == of(records, norm, 0, f"mean_{number}")[1, k]
        assert points.y[k] == of(records, norm, 0, f"std_{number}")[1, k]
    drawn = traces(cloud)
    if norm == "batch":
        running = drawn["running averages"]
        assert running.x[0] == of(records, "batch", 0, f"kept_mean_{number}")[1]
        assert running.y[0] == of(records, "batch", 0, f"kept_std_{number}")[1]
        assert (drawn["all examples"].x[0], drawn["all examples"].y[0]) == (0, 1)
    else:
        assert set(drawn) == {"examples", "average example"}


def test_lines_and_sentence_show_means_over_seeds(records, runs):
    _, misses = noise.draw_statistics(runs, 1, ("batch", 2))
    drawn, text = traces(misses), noise.describe_statistics(runs, 2, ("batch", 2))
    assert text.startswith("After 1 epoch:")
    for label, name, said in (
        ("same example, other batch", "moves_2", "change by"),
        ("batch mean", "miss_2", "off by"),
        ("running mean", "kept_miss_2", "running mean by"),
    ):
        mean = np.mean([of(records, "batch", seed, name) for seed in (0, 1)], axis=0)
        np.testing.assert_allclose(drawn[label].y, mean, atol=6e-4)
        assert f"{said} {mean[2]:.2f}" in text
    assert "change by 0.00" in noise.describe_statistics(runs, 0, ("layer", 2))
    assert misses.layout.shapes[0].x0 == EPOCHS[1]
    assert list(traces(noise.draw_statistics(runs, 1, ("layer", 1))[1])) == [
        "same example, other batch"
    ]


def test_losses_are_drawn_and_stated_for_each_kind_of_statistics(records, runs):
    nll, error = (traces(figure) for figure in noise.draw_mismatch(runs))
    text = noise.describe_mismatch(runs)
    assert set(nll) == set(error) == {label for label, *_ in noise.STATISTICS.values()}
    for kind, (label, *_) in noise.STATISTICS.items():
        wrong, mean = (
            np.mean([of(records, "batch", seed, f"{kind}_{name}") for seed in (0, 1)], axis=0)
            for name in ("error", "nll")
        )
        np.testing.assert_allclose(error[label].y, 100 * wrong)
        np.testing.assert_allclose(nll[label].y, mean)
        assert f"{label} {mean[-1]:.3f} nats and {100 * wrong[-1]:.2f}%" in text


def test_live_runs_are_drawn_as_means_with_a_band_over_seeds():
    results = [
        {"layer": [{"epoch": epoch, "train_nll": a, "test_error": b} for a, b in seeds]}
        for epoch, seeds in ((0.0, [(2.3, 0.9), (2.5, 0.8)]), (1.0, [(0.5, 0.1), (0.7, 0.2)]))
    ]
    nll, error = noise.draw_side_by_side(results, batch_size=4)
    drawn = traces(error)
    np.testing.assert_allclose(drawn["layer norm"].y, [85, 15])
    np.testing.assert_allclose(drawn["layer norm, lower edge"].y, [80, 10])
    np.testing.assert_allclose(drawn["layer norm, upper edge"].y, [90, 20])
    assert drawn["layer norm, upper edge"].fill == "tonexty"
    np.testing.assert_allclose(traces(nll)["layer norm"].y, [2.4, 0.6])
    text = noise.describe_side_by_side(results, batch_size=4)
    assert text == "After 1 epoch, 2 seeds: layer norm 0.600 nats, 15.0% test error."
    assert "Press Start" in noise.describe_side_by_side([], batch_size=4)
