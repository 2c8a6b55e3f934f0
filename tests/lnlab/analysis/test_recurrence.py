"""Recurrent networks over many steps, compared with loops in PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnlab.analysis import recurrence

T, B, INPUTS, H, EPS = 60, 6, 5, 12, 1e-3
ACTIVATIONS = {"identity": lambda a: a, "relu": torch.relu, "tanh": torch.tanh}
PLACES = {"plain": "", "paper": "s", "parts": "ih", "batch": "ih"}


def parameters(form, scale=1.2):
    """Weights, and gains and biases that are not 1 and 0."""
    rng = np.random.default_rng(7)
    params = recurrence.orthogonal(INPUTS, H, rng)
    params["W_hh"] *= scale
    for place in PLACES[form]:
        params |= {f"gain_{place}": rng.uniform(0.5, 1.5, H), f"bias_{place}": rng.normal(size=H)}
    return params


def network(form, params, f="tanh"):
    """One step in PyTorch: the summed inputs and the state."""
    p = {name: torch.tensor(value) for name, value in params.items()}

    def layer(a, place):
        return F.layer_norm(a, (H,), p[f"gain_{place}"], p[f"bias_{place}"], EPS)

    def batch(a, place):
        weight, bias = p[f"gain_{place}"], p[f"bias_{place}"]
        return F.batch_norm(a, None, None, weight, bias, training=True, eps=EPS)

    def step(x, h):
        from_x, from_h = x @ p["W_ih"].T, h @ p["W_hh"].T
        normalized = {
            "plain": lambda: from_x + from_h,
            "paper": lambda: layer(from_x + from_h, "s"),
            "parts": lambda: layer(from_x, "i") + layer(from_h, "h"),
            "batch": lambda: batch(from_x, "i") + batch(from_h, "h"),
        }[form]()
        return from_x + from_h, ACTIVATIONS[f](normalized)

    return step


def inputs(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


def test_orthogonal_matrices_preserve_norms():
    params = recurrence.orthogonal(400, 30, np.random.default_rng(3))
    np.testing.assert_allclose(params["W_hh"] @ params["W_hh"].T, np.eye(30), atol=1e-12)
    assert params["W_ih"].shape == (30, 400)
    assert params["W_ih"].std() * 20 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("form", PLACES)
@pytest.mark.parametrize("f", ACTIVATIONS)
def test_states_sizes_and_gradients_equal_a_loop_with_autograd(form, f):
    params = parameters(form)
    x, h, dh = inputs(T, B, INPUTS), torch.zeros(B, H, dtype=torch.float64), inputs(B, H, seed=2)
    states, sizes = [], []
    for x_t in torch.tensor(x):
        summed, h = network(form, params, f)(x_t, h)
        h.requires_grad_() if h.is_leaf else h.retain_grad()
        states.append(h)
        sizes.append(summed.square().mean().sqrt().item())
    (h * torch.tensor(dh)).sum().backward()
    lengths = np.array([s.grad.norm().item() for s in reversed(states)])
    options = {"form": form, "nonlinearity": f, "eps": EPS}
    result = recurrence.states(x, np.zeros((B, H)), params, **options)
    # 60 steps amplify the rounding errors of the first ones.
    expected = np.stack([s.detach().numpy() for s in states])
    np.testing.assert_allclose(result[1:], expected, rtol=1e-6, atol=1e-9)
    assert not result[0].any()
    run = recurrence.carry(x, dh, params, **options)
    np.testing.assert_allclose(run.summed, sizes, rtol=1e-6)
    np.testing.assert_allclose(run.gradient, lengths / np.linalg.norm(dh), rtol=1e-6)


LENGTHS = [9, 7, 7, 4, 2]


@pytest.mark.parametrize("form", ["paper", "parts"])
@pytest.mark.parametrize("leave_out", [False, True])
def test_padding_does_not_affect_states_with_layer_norm(form, leave_out):
    x, params = inputs(9, 5, INPUTS), parameters(form)
    result = recurrence.padded_states(x, LENGTHS, params, form=form, leave_out=leave_out, eps=EPS)
    for row, length in enumerate(LENGTHS):
        alone = recurrence.states(x[:length, row : row + 1], np.zeros((1, H)), params, form=form,
                                  eps=EPS)  # fmt: skip
        np.testing.assert_allclose(result[:length, row], alone[1:, 0], atol=1e-12)
        assert (np.isnan(result[length:, row]) == leave_out).all()


@pytest.mark.parametrize("leave_out", [False, True])
def test_batch_norm_includes_or_excludes_padding(leave_out):
    x, params = inputs(9, 5, INPUTS), parameters("batch")
    result = recurrence.padded_states(
        x, LENGTHS, params, form="batch", leave_out=leave_out, eps=EPS
    )
    step, h = network("batch", params), torch.zeros(5, H, dtype=torch.float64)
    for t in range(7):  # PyTorch's batch norm raises an error for one row
        n = sum(length > t for length in LENGTHS) if leave_out else 5
        _, h = step(torch.tensor(x[t, :n]), h[:n])
        np.testing.assert_allclose(result[t, :n], h.numpy(), atol=1e-9)
        assert np.isnan(result[t, n:]).all()


def test_statistics_over_time_equal_a_loop():
    params = parameters("batch")
    training = [inputs(3, 50, INPUTS, seed=seed).cumsum(axis=0) for seed in range(4)]
    test = inputs(6, 40, INPUTS, seed=9).cumsum(axis=0)
    run = recurrence.over_time(training, test, params, eps=EPS)
    parts = [x @ params["W_ih"].T for x in training]  # (3, 50, H)
    means, variances = ([getattr(p, f)(axis=1, **d) for p in parts]
                        for f, d in (("mean", {}), ("var", {"ddof": 1})))  # fmt: skip

    def running(values):
        average = values[0]
        for value in values[1:]:
            average = 0.9 * average + 0.1 * value
        return average

    steps = [0, 1, 2, 2, 2, 2]  # after training, those of the last step
    mean, var = running(means)[steps][:, None], running(variances)[steps][:, None]
    part = test @ params["W_ih"].T
    np.testing.assert_allclose(run.data, np.sqrt(part.var(axis=1).mean(1)))
    np.testing.assert_allclose(run.running["each step"], np.sqrt(var.mean((1, 2))))
    size = np.sqrt(((part - mean) ** 2 / (var + EPS)).mean((1, 2)))
    np.testing.assert_allclose(run.size["each step"], size)
    shared = running([v for batch in variances for v in batch])
    np.testing.assert_allclose(run.running["shared"], np.full(6, np.sqrt(shared.mean())))
    layer = F.layer_norm(torch.tensor(part), (H,), eps=EPS).square().mean((1, 2)).sqrt()
    np.testing.assert_allclose(run.size["layer"], layer.numpy())
