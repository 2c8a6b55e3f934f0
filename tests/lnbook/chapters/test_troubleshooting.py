"""Batch norm under DDP, on two gloo processes."""

import itertools
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.cases.ranks import in_ranks

CASES = list(itertools.product((True, False), ("two", "joint", "in turn")))
ARGUMENTS = "broadcast_buffers", "forward_sync_buffers"


def gradients(rank, broadcast, passes):
    """The gradients of the parameters, and the running mean, after two batches in train mode."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).double()
    parallel = nn.parallel.DistributedDataParallel(model, broadcast_buffers=broadcast)
    fake, real = torch.randn(2, 2, 16, 4, dtype=torch.float64)[rank]
    if passes == "joint":
        y = parallel(torch.cat([fake, real]))
        (y[:16].square().mean() - y[16:].mean()).backward()
    elif passes == "two":
        (parallel(fake).square().mean() - parallel(real).mean()).backward()
    else:
        parallel(fake).square().mean().backward()
        (-parallel(real).mean()).backward()
    return [p.grad.clone() for p in model.parameters()], model[1].running_mean.clone()


def running_means(rank, argument):
    """After construction, after one batch, and averaged over the ranks, with DDP's copies off."""
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(4)
    norm.running_mean += 10 * rank
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        parallel = nn.parallel.DistributedDataParallel(norm, **{argument: False})
    means = [norm.running_mean.clone()]
    parallel(torch.randn(2, 16, 4)[rank])
    means.append(norm.running_mean.clone())
    for buffer in norm.buffers():
        if buffer.is_floating_point():
            dist.all_reduce(buffer)
            buffer /= dist.get_world_size()
    return [*means, norm.running_mean.clone()], norm.running_var.clone()


def work(rank):
    results = {case: gradients(rank, *case) for case in CASES}
    results["means"] = {name: running_means(rank, name) for name in ARGUMENTS}
    return results


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    return in_ranks(work, 2, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("passes", ["two", "joint", "in turn"])
def test_broadcasting_buffers_leaves_the_gradients_of_train_mode_unchanged(ranks, passes):
    pairs = [(r[True, passes][0], r[False, passes][0]) for r in ranks]
    for broadcast, local in pairs:
        torch.testing.assert_close(broadcast, local, rtol=1e-12, atol=1e-12)


def test_two_passes_and_one_after_the_other_have_the_same_gradients(ranks):
    for result in ranks:
        two, in_turn = (result[True, name][0] for name in ("two", "in turn"))
        torch.testing.assert_close(two, in_turn, rtol=1e-12, atol=1e-12)
        joint = result[True, "joint"][0]
        assert (two[0] - joint[0]).abs().max() > 0.01  # its statistics are those of both batches


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_without_copies_ranks_keep_their_own_statistics_until_these_are_averaged(ranks, argument):
    ((start, own, mean), var), ((other_start, other, other_mean), other_var) = (
        r["means"][argument] for r in ranks
    )
    copied = argument == "forward_sync_buffers"  # at construction
    assert torch.equal(start, other_start) == copied
    assert (own - other).abs().max() > 0.01
    torch.testing.assert_close(mean, (own + other) / 2)
    assert torch.equal(mean, other_mean)
    assert torch.equal(var, other_var)
