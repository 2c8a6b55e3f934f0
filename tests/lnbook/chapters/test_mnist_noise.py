"""Figures and sentences about noise show the recorded numbers."""

import numpy as np
import pytest

from lnbook.chapters.mnist import noise

EPOCHS = [0.0, 0.5, 1.0]


NAMES = ["moves_2", "miss_2", "kept_miss_2", "gradient_noise",
         *(f"{kind}_{name}" for kind in ("test", "batches", "averages", "true")
           for name in ("nll", "error"))]  # fmt: skip


def mean_of_seeds(records, name):
    """The mean curve of batch norm."""
    runs = [run for run in records if run["settings"]["norm"] == "batch"]
    return np.mean([run["curves"][name] for run in runs], axis=0)


@pytest.fixture
def records():
    """Synthetic curves in which every number identifies its origin."""
    rng, result = np.random.default_rng(0), []
    for seed in (1, 0):
        for norm in ("batch", "layer", "none"):
            curves = {name: rng.uniform(0, 1, len(EPOCHS)).tolist() for name in NAMES}
            arrays = {f"{name}_2": rng.uniform(size=(len(EPOCHS), 4)) for name in ("mean", "std")}
            if norm == "batch":
                curves |= {f"kept_{name}_2": [0.1] * len(EPOCHS) for name in ("mean", "std")}
            result.append({"settings": {"norm": norm}, "seed": seed, "arrays": arrays,
                           "curves": curves | {"x": "epoch", "epoch": EPOCHS}})  # fmt: skip
    return result


def traces(figure):
    return {trace.name: trace for trace in figure.data}


def test_lines_and_sentence_show_means_over_seeds(records):
    runs = noise.NoiseRuns(records)
    _, misses = noise.draw_statistics(runs, 1, ("batch", 2))
    drawn, text = traces(misses), noise.describe_statistics(runs, 2, ("batch", 2))
    assert text.startswith("After 1 epoch:")
    for label, name, said in (
        ("same example, other batch", "moves_2", "change by"),
        ("batch mean", "miss_2", "off by"),
        ("running mean", "kept_miss_2", "running mean by"),
    ):
        mean = mean_of_seeds(records, name)
        np.testing.assert_allclose(drawn[label].y, mean, atol=6e-4)
        assert f"{said} {mean[2]:.2f}" in text


def test_losses_are_drawn_and_stated_for_each_kind_of_statistics(records):
    runs = noise.NoiseRuns(records)
    nll, error = (traces(figure) for figure in noise.draw_mismatch(runs))
    text = noise.describe_mismatch(runs)
    for kind, (label, *_) in noise.STATISTICS.items():
        wrong, mean = (mean_of_seeds(records, f"{kind}_{name}") for name in ("error", "nll"))
        np.testing.assert_allclose(error[label].y, 100 * wrong)
        np.testing.assert_allclose(nll[label].y, mean)
        assert f"{label} {mean[-1]:.3f} nats and {100 * wrong[-1]:.2f}%" in text
