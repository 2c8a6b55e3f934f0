"""What the book's records say of place and warm-up: Xiong et al. (2020), claim by claim.

First the length of the gradient in the last block's last matrix before the first update, width 64,
over ten seeds: the initialization decides which of the claims hold. Then what training makes of it,
over three.
"""

import numpy as np
import pytest

from lnlab import records

DEPTHS = (2, 6, 12, 24)


@pytest.fixture(scope="module")
def starts():
    """From initialization, place and depth to the runs' curves before the first update."""
    found = {}
    for one in records.read_all("transformer", updates_an_epoch=1):
        s = one["settings"]
        first = {k: v[0] for k, v in one["curves"].items() if k != "x"}
        found.setdefault((s["initialization"], s["place"], s["depth"]), []).append(first)
    assert {len(runs) for runs in found.values()} == {10}
    return found


def last_gradients(starts, initialization, place):
    """Means over the seeds, a depth each."""
    return np.array(
        [
            np.mean([run[f"gradient_{depth}"] for run in starts[initialization, place, depth]])
            for depth in DEPTHS
        ]
    )


def test_with_xavier_pre_falls_as_one_over_the_root_of_the_depth(starts):
    found = last_gradients(starts, "xavier", "pre") * np.sqrt(DEPTHS)
    assert found.max() / found.min() < 1.25


@pytest.mark.parametrize("initialization", ["normal", "xavier"])
def test_pre_falls_with_each_depth(starts, initialization):
    assert (np.diff(last_gradients(starts, initialization, "pre")) < 0).all()


def test_with_the_start_of_pytorch_pre_hardly_depends_on_depth(starts):
    found = last_gradients(starts, "pytorch", "pre")
    assert found.max() / found.min() < 1.15


def test_post_is_independent_of_depth_with_small_weights_alone(starts):
    ratio = {name: last_gradients(starts, name, "post") for name in ("normal", "xavier", "pytorch")}
    ratio = {name: found.max() / found.min() for name, found in ratio.items()}
    assert ratio["normal"] < 1.1
    assert ratio["xavier"] > 1.6
    assert ratio["pytorch"] > 1.5


def test_from_six_blocks_on_post_has_the_longer_gradient_but_not_with_small_weights(starts):
    longer = {
        name: last_gradients(starts, name, "post") / last_gradients(starts, name, "pre")
        for name in ("normal", "xavier", "pytorch")
    }
    assert (longer["xavier"][1:] > 1.2).all()
    assert longer["xavier"][0] < 0.6
    assert (longer["pytorch"] > 1.3).all()
    assert (longer["normal"] < 0.1).all()


@pytest.mark.parametrize("initialization", ["normal", "xavier", "pytorch"])
def test_little_of_the_stream_is_mean_before_training(starts, initialization):
    shares = [
        run[f"mean_share_{k}"]
        for depth in DEPTHS
        for run in starts[initialization, "pre", depth]
        for k in range(depth + 1)
    ]
    assert max(shares) < 0.07
    assert np.mean(shares) < 0.03


# Trained: 12 blocks, Xavier's initialization, learning rate 1e-3, 600 updates of 8 windows.


@pytest.fixture(scope="module")
def ends():
    """From place, norm and warm-up to the last validation loss of each seed."""
    found = {}
    for one in records.read_all(
        "transformer", depth=12, initialization="xavier", learning_rate=1e-3, updates_an_epoch=100
    ):
        s = one["settings"]
        if s["last_norm"] and s["qk_norm"] == "none":
            kind = s["place"], s["norm"], s["warm_up"]
            found.setdefault(kind, []).append(one["curves"]["val_nll"][-1])
    assert {len(found[place, "layer", k]) for place in ("pre", "post") for k in (0, 60)} == {3}
    return found


UNIGRAM, BIGRAM = 3.347, 2.482  # of tiny Shakespeare, as `baselines` has them


def test_post_without_warm_up_is_stuck_at_the_line_of_single_characters(ends):
    assert np.abs(np.subtract(ends["post", "layer", 0], UNIGRAM)).max() < 0.05


def test_post_with_warm_up_and_pre_with_or_without_learn_more_than_pairs(ends):
    for kind in (("post", "layer", 60), ("pre", "layer", 0), ("pre", "layer", 60)):
        assert max(ends[kind]) < BIGRAM


def test_without_a_norm_nothing_diverges_and_less_is_learnt(ends):
    for warm_up in (0, 60):
        worst = max(ends["pre", "layer", warm_up])
        assert worst < min(ends["pre", "none", warm_up]) < max(ends["pre", "none", 0]) < 2.7
