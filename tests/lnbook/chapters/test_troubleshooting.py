"""Batch norm under DDP and SyncBatchNorm, and autocast in FSDP, on two gloo processes."""

import itertools
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from tests.cases.ranks import in_ranks

CASES = list(itertools.product((True, False), ("two", "joint", "in turn")))
ARGUMENTS = "broadcast_buffers", "forward_sync_buffers"
POLICIES = torch.float32, torch.float16


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


def synchronized_on_cpu(mode):
    norm = nn.SyncBatchNorm(4).train(mode == "train")
    try:
        return norm(torch.ones(2, 4)).shape
    except ValueError as error:
        return str(error)


def autocast_inside(param_dtype):
    """The dtypes of the gain, of the weight and of what norm and linear layer return."""
    model = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4))
    mesh, policy = init_device_mesh("cpu", (2,)), MixedPrecisionPolicy(param_dtype=param_dtype)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    dtypes = []
    for layer in model:
        layer.register_forward_hook(lambda m, _, y: dtypes.extend((m.weight.dtype, y.dtype)))
    with torch.autocast("cpu", torch.bfloat16):
        model(torch.randn(2, 4))
    return dtypes


def work(rank):
    results = {case: gradients(rank, *case) for case in CASES}
    results["means"] = {name: running_means(rank, name) for name in ARGUMENTS}
    results["sync"] = {mode: synchronized_on_cpu(mode) for mode in ("train", "eval")}
    results["autocast"] = {policy: autocast_inside(policy) for policy in POLICIES}
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


def test_running_statistics_differ_between_devices_until_they_are_copied(ranks):
    for broadcast in (True, False):
        first, second = (r[broadcast, "joint"][1] for r in ranks)
        assert (first - second).abs().max() > 0.01


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


def test_syncbatchnorm_needs_an_accelerator_in_train_mode_with_a_process_group_only(ranks):
    for result in ranks:
        assert result["sync"]["train"].startswith(
            "SyncBatchNorm expected input tensor to be on GPU"
        )
        assert result["sync"]["eval"] == (2, 4)
    assert synchronized_on_cpu("train") == synchronized_on_cpu("eval") == (2, 4)


@pytest.mark.parametrize("policy", POLICIES)
def test_autocast_inside_fsdp_takes_precedence_over_the_policy(ranks, policy):
    for result in ranks:
        gain, _, weight, output = result["autocast"][policy]
        assert gain == weight == policy
        assert output == torch.bfloat16
