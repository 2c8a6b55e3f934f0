"""The step by hand: its gradient held against autograd, its losses against the plain step."""

import copy

import pytest
import torch
from torch import nn

from lnlib import data
from lnlib.experiments._classification import Classification
from lnlib.experiments.mnist import steps
from lnlib.experiments.mnist.run import NORMS, Run, Settings
from lnlib.experiments.mnist.steps import manual
from lnlib.nn.baselines import WeightNormLinear


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def run(digits, dtype=torch.float64, *, seed=0, spread=0.3, **settings):
    """Return a run with gains other than 1, biases other than 0, data not in float32 alone."""
    chosen = Settings(**({"data": "digits", "hidden": (20, 12), "batch_size": 4} | settings))
    replay = Run(chosen, digits, seed=seed, step="plain")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in replay.model.parameters():
            p += spread * torch.randn(p.shape, generator=generator)
    replay.model.to(dtype)
    replay.x, replay.x_test = replay.x.to(dtype), replay.x_test.to(dtype)
    replay.optimizer = torch.optim.Adam(
        [steps.flatten(replay.model)], lr=chosen.learning_rate, fused=True
    )
    return replay


def flat(replay):
    return replay.optimizer.param_groups[0]["params"][0]


CASES = [
    pytest.param(
        norm, batch_size, hidden, variance, id=f"{norm}-{batch_size}-{len(hidden)}-{variance}"
    )
    for norm in NORMS
    for batch_size in (1, 2, 4, 7, 128)
    for hidden in ((20,), (20, 12), (9, 20, 12))
    for variance in (("biased", "unbiased") if norm == "batch" else ("paper",))
    if (norm, batch_size) != ("batch", 1)
]


@pytest.mark.parametrize(("norm", "batch_size", "hidden", "variance"), CASES)
def test_gradient_by_hand_is_the_one_of_autograd(digits, norm, batch_size, hidden, variance):
    settings = {"norm": norm, "batch_size": batch_size, "hidden": hidden, "variance": variance}
    plain, ours = run(digits, **settings), run(digits, **settings)
    batch = next(plain.batches(0))
    flat(ours).grad.fill_(9)  # what was there must not count
    expected = Classification.update(plain, batch)
    torch.testing.assert_close(manual.make(ours)(*batch), expected, rtol=0, atol=1e-12)
    scale = flat(plain).grad.abs().max().item()
    torch.testing.assert_close(flat(ours).grad, flat(plain).grad, rtol=0, atol=1e-10 * scale)
    for name, value in plain.model.named_buffers():  # the running averages of batch norm
        torch.testing.assert_close(ours.model.get_buffer(name), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_losses_in_float32_are_those_of_a_plain_run_in_float64(digits, norm):
    settings = {"norm": norm, "hidden": (100, 100)}
    plain, ours = run(digits, **settings), run(digits, torch.float32, **settings)
    step = manual.make(ours)
    for count, (x, y) in enumerate(plain.batches(0)):
        if count == 20:
            break
        expected = Classification.update(plain, (x, y))
        torch.testing.assert_close(step(x.float(), y).double(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", NORMS)
def test_several_networks_side_by_side_are_each_alone(digits, norm):
    alone, side = ([run(digits, norm=norm, seed=s) for s in range(3)] for _ in range(2))
    rows = manual.stack([flat(r) for r in side])
    grads = torch.full_like(rows, 9)
    networks = manual.Networks([r.model for r in side], rows, grads)
    x, y = zip(*(next(r.batches(0)) for r in alone), strict=True)
    losses = networks(torch.stack(x), torch.stack(y))
    for s, replay in enumerate(alone):
        loss = Classification.update(replay, (x[s], y[s]))
        torch.testing.assert_close(losses[s], loss, rtol=0, atol=1e-12)
        torch.testing.assert_close(grads[s], flat(replay).grad, rtol=0, atol=1e-10)
        for name, value in replay.model.named_buffers():
            torch.testing.assert_close(side[s].model.get_buffer(name), value)


def test_the_state_of_adam_lies_where_the_plain_step_has_it(digits):
    plain, ours = run(digits), run(digits)
    step = manual.make(ours)
    for count, batch in enumerate(plain.batches(0)):
        if count == 3:
            break
        Classification.update(plain, batch)
        step(*batch)
    expected, found = plain.optimizer.state_dict(), ours.optimizer.state_dict()
    assert found["param_groups"] == expected["param_groups"]
    torch.testing.assert_close(found["state"], expected["state"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_a_loaded_checkpoint_is_what_the_step_goes_on_from(digits, norm):
    settings = {"norm": norm}
    first, later = run(digits, **settings), run(digits, seed=1, **settings)
    batches = list(first.batches(0))[:6]
    step, other = manual.make(first), manual.make(later)
    for batch in batches[:3]:
        step(*batch)
    other(*batches[0])  # so that it has a state to forget
    later.model.load_state_dict(first.model.state_dict())
    later.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
    for batch in batches[3:]:
        assert torch.equal(step(*batch), other(*batch))
    assert torch.equal(flat(first), flat(later))


def test_sweep_takes_denormal_moments_alone_and_once_in_100_updates():
    kept = torch.tensor([1e-39, -1e-39, 0.0, 1e-29, -1.0])
    for count in (99, 100):
        state = {"step": torch.tensor(float(count)), "exp_avg": kept.clone()}
        state["exp_avg_sq"] = kept.abs()
        manual.sweep(state)
        swept = torch.tensor([0.0, 0.0, 0.0, 1e-29, -1.0]) if count == 100 else kept
        assert torch.equal(state["exp_avg"], swept)
        assert torch.equal(state["exp_avg_sq"], swept.abs())


def test_no_denormal_moment_survives_a_dead_input(digits):
    replay = run(digits, torch.float32)
    step = manual.make(replay)
    x, y = next(replay.batches(0))
    x[:, 0] = 0  # the gradient of the first column is 0
    step(x, y)
    (moment,) = (s["exp_avg"] for s in replay.optimizer.state.values())
    moment[:1000:64] = 1e-36  # 0.9^99 of it is denormal
    for _ in range(99):
        step(x, y)
    tiny = torch.finfo(torch.float32).tiny
    assert not ((moment != 0) & (moment.abs() < tiny)).any()


def test_a_module_without_a_gradient_by_hand_is_refused():
    model, numbers = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), torch.zeros(1, 6)
    with pytest.raises(TypeError, match=r"no gradient by hand for Tanh; take the step 'plain'"):
        manual.Networks([model], numbers, numbers.clone())


def test_batch_norm_over_one_case_is_refused(digits):
    step = manual.make(replay := run(digits, norm="batch"))
    with pytest.raises(ValueError, match="at least 2 cases in a batch, got 1"):
        step(replay.x[:1], replay.y[:1])


def test_weight_norm_has_a_gradient_at_a_right_angle_to_its_weight(digits):
    manual.make(replay := run(digits, norm="weight"))(*next(replay.batches(0)))
    for layer in replay.model:
        if isinstance(layer, WeightNormLinear):
            # The update has come between: against the weight that the gradient was taken at.
            before = layer.weight + layer.weight.grad.sign() * replay.settings.learning_rate
            along = (before * layer.weight.grad).sum(1).abs().max()
            assert along < 1e-5 * layer.weight.grad.norm()
