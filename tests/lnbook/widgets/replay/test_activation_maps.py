"""The Python part of the activation maps: data of a page and of a notebook."""

import numpy as np
import pytest

from lnbook.widgets.replay import activation_maps
from lnbook.widgets.replay.activation_maps import packed, unpacked
from lnlab import comparison

PASSES = [0, 0.5, 2]
SIDES = (28, 14, 7)


def made(norm, seed=0, **settings):
    """A synthetic record with few channels and special borders."""
    rng = np.random.default_rng([seed, sum(map(ord, norm))])
    ink = np.random.default_rng(9).integers(256, size=(3, 28, 28))  # the same images for all
    arrays = {"ink": ink.astype("u1")}
    for layer, side in enumerate(SIDES, 1):
        shape = len(PASSES), 2 + layer, side, side
        for name in activation_maps.STATISTICS[: 3 if norm == "none" else 5]:
            values = (
                rng.normal(-3, 5, size=shape) + rng.normal(0, 9, size=shape[:2])[..., None, None]
            )
            arrays[f"{name}_{layer}"] = values.astype("f2")
        arrays[f"on_{layer}"] = rng.integers(256, size=shape).astype("u1")
    return {
        "settings": {"norm": norm, "data": "mnist", "crop": 0} | settings,
        "curves": {"epoch": PASSES},
        "arrays": arrays,
    }


@pytest.fixture(scope="module")
def three():
    return [made(norm) for norm in ("layer", "none", "batch")]


def test_packed_data_can_be_decoded_to_the_records(three):
    header, ink, arms = unpacked(packed(three))
    assert [arm["name"] for arm in header["arms"]] == ["No norm", "Batch norm", "Layer norm"]
    layer, plain, batch = three
    np.testing.assert_array_equal(ink, plain["arrays"]["ink"][0])
    for arm, run in zip(arms, (plain, batch, layer), strict=True):
        for k, maps in enumerate(arm, 1):
            for name, result in maps.items():
                saved = run["arrays"][f"{name}_{k}"].astype(float) / (255 if name == "on" else 1)
                largest = np.abs(saved).max((1, 2, 3), keepdims=True)
                error = np.abs(result - saved)
                assert np.all(error <= 0.53 * largest / activation_maps.LEVELS)  # and 4 digits


def test_border_readouts_are_means_and_intervals_of_comparison(three):
    header, *_ = unpacked(packed(three))
    maps = three[0]["arrays"]["before_mean_2"][1].astype(float)
    at = [(i, j) for i in range(14) for j in range(14) if {i, j} & {0, 13}]
    edge = np.array([maps[:, i, j] for i, j in at]).mean(0)
    rest = maps[:, 1:-1, 1:-1].mean((1, 2))
    expected = [edge.mean(), rest.mean(), *comparison.interval(edge - rest)]
    result = header["arms"][2]["layers"][1]["statistics"]["before_mean"]["border"][1]
    np.testing.assert_allclose(result, expected, rtol=1e-3)
