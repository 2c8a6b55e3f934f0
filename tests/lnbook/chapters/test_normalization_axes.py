"""What is drawn is what PyTorch computes."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.normalization_axes import batches, followed, groups, summary
from lnbook.chapters.normalization_axes import normalization_sets as sets
from lnbook.chapters.normalization_axes import running_statistics as running
from lnbook.diagrams import cubes


def per_step(x):  # batch norm with statistics of its own at each step
    return torch.stack([F.batch_norm(x[:, t], None, None, training=True) for t in range(4)], 1)


def channels_second(norm):
    return lambda x: norm(x.movedim(-1, 1)).movedim(1, -1)


def batch_norm(x):
    return F.batch_norm(x, None, None, training=True)


def group_norm(x):
    return F.group_norm(x, 2)


def layer_norm(*shape):
    return lambda x: F.layer_norm(x, shape)


TORCH = {
    ("table", "batch norm"): batch_norm,
    ("table", "layer norm"): layer_norm(6),
    ("table", "RMS norm"): lambda x: F.rms_norm(x, (6,)),
    ("table", "group norm, 2 groups"): group_norm,
    ("sequence", "layer norm"): layer_norm(6),
    ("sequence", "layer norm over steps too"): layer_norm(4, 6),
    ("sequence", "batch norm"): channels_second(batch_norm),
    ("sequence", "batch norm, a step at a time"): per_step,
    ("sequence", "group norm, 2 groups"): channels_second(group_norm),
    ("sequence", "instance norm"): channels_second(F.instance_norm),
    ("sequence", "RMS norm"): lambda x: F.rms_norm(x, (6,)),
}
CASES = [pytest.param(*case, id=" ".join(case)) for case in TORCH]


def moved(norm, x, cell):
    """Which outputs change when one number does."""
    other = x.clone()
    other[cell] += 1
    return (norm(x) - norm(other)).abs().numpy() > 1e-9


@pytest.mark.parametrize(("kind", "norm"), CASES)
def test_a_normalization_set_is_what_moves_together(kind, norm):
    shape = sets.TENSORS[kind].shape
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    numbers = sets.normalization_sets(kind, norm)
    for cell in np.ndindex(shape):
        assert np.array_equal(moved(TORCH[kind, norm], x, cell), numbers == numbers[cell])


def test_every_norm_of_every_tensor_is_compared_with_torch():
    offered = {(kind, norm) for kind, tensor in sets.TENSORS.items() for norm in tensor.rules}
    assert offered - set(TORCH) == {("table", "instance norm")}  # torch refuses it
    assert (
        sets.normalization_sets("table", "instance norm").tolist()
        == np.arange(1, 25).reshape(4, 6).tolist()
    )


@pytest.mark.parametrize(("kind", "norm"), CASES)
def test_means_are_counted_from_one_and_of_one_size(kind, norm):
    numbers, uses = np.unique(sets.normalization_sets(kind, norm), return_counts=True)
    assert numbers.tolist() == list(range(1, len(numbers) + 1))
    assert len(set(uses)) == 1


def test_the_sentence_counts_means_and_names_the_set():
    place = {"example": 2, "step": 3, "channel": 5}
    assert sets.describe_normalization_set("sequence", "layer norm", **place) == (
        "For (2, 4, 6): 8 means, each over 6 numbers. The framed cell uses mean 7, "
        "as does every channel at step 3 of example 2."
    )
    groups = sets.describe_normalization_set("sequence", "group norm, 2 groups", **place)
    assert "4 means, each over 12 numbers" in groups
    assert "channels 4 to 6" in groups
    rms = sets.describe_normalization_set("sequence", "RMS norm", **place)
    assert "no mean, but 8 root mean squares" in rms
    alone = sets.describe_normalization_set("table", "instance norm", example=1, feature=1)
    assert "24 means, each over 1 number. " in alone
    assert "no other cell does" in alone


@pytest.mark.parametrize("kind", sets.TENSORS)
def test_the_set_is_filled_and_the_chosen_cell_framed(kind):
    tensor = sets.TENSORS[kind]
    place = dict(zip(tensor.axes, tensor.shape, strict=True))  # the last cell
    numbers = sets.normalization_sets(kind, "batch norm")
    panels = sets.draw_normalization_set(kind, "batch norm", **place)
    filled = [
        (z, text)
        for figure in panels
        for zs, texts in zip(figure.data[0].z, figure.data[0].text, strict=True)
        for z, text in zip(zs, texts, strict=True)
        if z is not None and text
    ]
    assert len(filled) == numbers.size
    own = str(numbers.ravel()[-1])
    assert all((z > 0) == (text == own) for z, text in filled)
    assert [len(figure.layout.shapes) for figure in panels] == [0] * (len(panels) - 1) + [1]
    frame, trace = panels[-1].layout.shapes[0], panels[-1].data[0]
    assert (frame.x0 + frame.x1) / 2 == pytest.approx(trace.x[-1])
    assert (frame.y0 + frame.y1) / 2 == pytest.approx(trace.y[-1])


def test_a_lonely_batch_gives_zero_and_a_pair_plus_or_minus_one():
    assert not batches.outputs(1).any()
    sizes = np.abs(batches.outputs(2))
    assert np.quantile(sizes, 0.01) > 0.999  # eps is felt where two numbers are almost equal
    assert sizes.max() <= 1
    assert set(np.sign(batches.outputs(2))) == {-1, 1}


@pytest.mark.parametrize("batch_size", [3, 4, 16])
def test_no_output_leaves_the_root_of_the_batch_size_less_one(batch_size):
    found = batches.outputs(batch_size)
    assert np.ptp(found) > 0.5
    assert np.abs(found).max() <= np.sqrt(batch_size - 1)


def test_large_batches_come_near_to_all_data():
    mean, var = (p[followed.FEATURE] for p in followed.POPULATION)
    expected = (followed.FOLLOWED - mean) / np.sqrt(var + 1e-5)
    assert followed.whole_population() == pytest.approx(expected, abs=1e-12)
    found = batches.outputs(200)
    error = found.std() / np.sqrt(batches.BATCHES)
    assert abs(found.mean() - expected) < 5 * error + 0.02  # a bias of the order 1 / batch size


def test_the_population_has_the_moments_it_states():
    x = followed.examples(200_000, np.random.default_rng(1))
    mean, var = followed.POPULATION
    np.testing.assert_allclose(x.mean(0), mean, atol=5 * np.sqrt(var.max() / len(x)))
    np.testing.assert_allclose(x.var(0), var, rtol=0.02)


def test_layer_norm_of_the_followed_number_is_torchs():
    expected = F.layer_norm(torch.from_numpy(followed.TABLE), (6,))[0, followed.FEATURE]
    assert followed.layer_norm_of_followed() == pytest.approx(expected.item(), abs=1e-12)


def test_the_points_and_the_band_are_of_the_same_batches():
    points, bands = batches.draw_batch_size(4)
    np.testing.assert_allclose(points.data[0].y, batches.outputs(4)[: batches.SHOWN], atol=0.005)
    low, high = batches.band(4)
    assert bands.data[0].y[3] == round(high, 2)
    assert bands.data[0].y[2 * batches.SIZES - 4] == round(low, 2)
    inside = (batches.outputs(4) >= low) & (batches.outputs(4) <= high)
    assert inside.mean() == pytest.approx(0.9, abs=0.005)
    assert f"from {low:.2f} to {high:.2f}".replace("-", "−") in batches.describe_batch_size(4)
    assert "becomes 0 under batch norm" in batches.describe_batch_size(1)


def test_a_live_slider_may_go_beyond_the_page():
    _, bands = batches.draw_batch_size(40)
    assert bands.layout.xaxis.range[1] == 40.5


def test_in_training_the_number_is_normalized_with_its_batch():
    run, batch = running.stream(0.1, 4), running.batches(4)[7].copy()
    batch[0] = followed.FOLLOWED
    expected = (followed.FOLLOWED - batch.mean()) / np.sqrt(batch.var() + 1e-5)
    assert run.train[7] == pytest.approx(expected, abs=1e-12)


def test_the_sentence_on_running_statistics_says_where_they_stand():
    run = running.stream(0.1, 4)
    assert f"running mean is {run.running_mean[10]:.2f}" in running.describe_running(0.1, 4, 10)
    before = running.describe_running(0.1, 4, 0)
    assert "Before the first batch, the running mean is 0.00" in before
    assert "11.41 becomes 11.41" in before


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize("shift", [0, 10])
def test_bars_are_torchs_group_and_rms_norm(n, shift):
    x = torch.from_numpy(groups.CHANNELS)[None] + shift
    before, group, rms = groups.draw_groups(n, shift)
    np.testing.assert_array_equal(before.data[0].y, x[0])
    pair = torch.cat([x, x])  # torch refuses one number for a mean, unless there are two examples
    np.testing.assert_allclose(group.data[0].y, F.group_norm(pair, n)[0], atol=0.0005)
    np.testing.assert_allclose(rms.data[0].y, F.rms_norm(x, (12,), eps=1e-5)[0], atol=0.0005)
    steps = np.array(before.data[1].y).reshape(n, 3)
    np.testing.assert_allclose(steps[:, 0], x.reshape(n, -1).mean(1))


def test_the_sentence_on_groups_says_what_a_shift_does():
    assert "that is layer norm" in groups.describe_groups(1, 0)
    assert "all become 0" in groups.describe_groups(12, 0)
    assert "With 10 added, group norm's output does not change" in groups.describe_groups(3, 10)
    assert "from 0.61 to 1.43" in groups.describe_groups(3, 10)


@pytest.mark.parametrize("norm", summary.MEANS)
def test_the_table_of_norms_counts_what_the_table_and_the_cube_count(norm):
    said = {row[0]: row[2] for row in summary.summary().rows}[norm]
    formula = said.removeprefix("none; ").removesuffix(" mean squares").replace("×", "*")
    (N, C), rules = sets.TENSORS["table"].shape, sets.TENSORS["table"].rules
    name = next(name for name in rules if name.startswith(norm))
    assert (
        eval(formula, {"N": N, "C": C, "groups": 2}) == sets.normalization_sets("table", name).max()
    )
    if norm != "RMS norm":  # in the cube, position by position
        name = next(name for name in cubes.NORMS if name.lower().startswith(norm))
        sizes = dict(zip("NC", cubes.SHAPE, strict=False)) | {"groups": 2}
        assert eval(formula, sizes) == cubes.sets(name).max()
