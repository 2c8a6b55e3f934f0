"""Names of other frameworks and weight decay, compared with what layers then compute."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from lnlib.nn import LayerNorm, LayerNormLSTM, RMSNorm, no_decay_groups, to_torch_names


def arrays(*shapes):
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 2, size=shape).astype(np.float32) for shape in shapes]


class Block(nn.Module):
    """A residual block with a layer scale, whose parameter is called gamma."""

    def __init__(self):
        super().__init__()
        self.LayerNorm = nn.LayerNorm(4)
        self.dense = nn.Linear(4, 4)
        self.gamma = nn.Parameter(torch.full((4,), 0.1))

    def forward(self, x):
        return x + self.gamma * self.dense(self.LayerNorm(x))


@pytest.mark.parametrize("kind", [nn.LayerNorm, LayerNorm])
@pytest.mark.parametrize(
    ("gain", "bias"),
    [
        ("LayerNorm.gamma", "LayerNorm.beta"),  # BERT before 2019, Keras
        ("LayerNorm/gamma:0", "LayerNorm/beta:0"),  # TensorFlow
        ("LayerNorm.scale", "LayerNorm.bias"),  # Flax
        ("LayerNorm.scale", "LayerNorm.offset"),  # Haiku
        ("LayerNorm.weight", "LayerNorm.bias"),  # PyTorch
    ],
)
def test_a_layer_norm_computes_with_the_gain_and_bias_of_the_file(kind, gain, bias):
    model, x = Block(), torch.randn(3, 4)
    model.LayerNorm = kind(4)
    g, b = arrays(4, 4)
    state = model.state_dict() | {}
    for name in ("LayerNorm.weight", "LayerNorm.bias"):
        del state[name]
    state |= {gain: g, bias: b}
    before = dict(state)
    assert model.load_state_dict(to_torch_names(state, model)).missing_keys == []
    centered = x - x.mean(-1, keepdim=True)
    x_hat = centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    expected = x + 0.1 * model.dense(torch.tensor(g) * x_hat + torch.tensor(b))
    assert_close(model(x), expected)
    assert state.keys() == before.keys()  # not changed


def test_the_gamma_of_a_layer_scale_keeps_its_name():
    model = nn.Sequential(Block(), Block())
    theirs = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): p
        for name, p in model.state_dict().items()
    }
    assert "0.gamma" in theirs
    assert "0.LayerNorm.gamma" in theirs
    ours = to_torch_names(theirs, model)
    assert ours.keys() == model.state_dict().keys()
    assert all(ours[name] is p for name, p in theirs.items() if name in ours)


def test_statistics_of_batch_norm_and_a_norm_that_is_the_model():
    model, x = nn.BatchNorm1d(4).eval(), torch.randn(5, 4)
    g, b, m, v = arrays(4, 4, 4, 4)
    for names in (
        ("gamma", "beta", "moving_mean", "moving_variance"),
        ("scale", "bias", "mean", "var"),
    ):
        model.load_state_dict(to_torch_names(dict(zip(names, (g, b, m, v), strict=True)), model))
        expected = (x.numpy() - m) / np.sqrt(v + 1e-5) * g + b
        assert_close(model(x), torch.tensor(expected))


@pytest.mark.parametrize("module", [nn.GroupNorm(2, 4), nn.RMSNorm(4), RMSNorm(4)], ids=str)
def test_group_norm_and_rms_norm(module):
    (g,) = arrays(4)
    assert set(to_torch_names({"0.scale": g}, nn.Sequential(module))) == {"0.weight"}


def test_a_norm_that_two_names_share_gets_both():
    norm = nn.LayerNorm(4, bias=False)
    model = nn.ModuleDict({"a": norm, "b": norm})
    ours = to_torch_names({f"{n}.gamma": torch.ones(4) for n in "ab"}, model)
    assert set(ours) == {"a.weight", "b.weight"}


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ({"0": {"gamma": 1}}, TypeError, "got a dict at '0'; flatten"),
        ({"0.gamma": np.ones(3)}, ValueError, r"'0.gamma' must have the shape \(4,\).*got \(3,\)"),
        ({"0.gamma": np.ones(4), "0.weight": np.ones(4)}, ValueError, "0.weight and 0.gamma"),
        ({"0.gamma": np.ones(4), "0/gamma:0": np.ones(4)}, ValueError, "two spellings"),
    ],
)
def test_unconvertible_names_raise_an_error(state, error, message):
    with pytest.raises(error, match=message):
        to_torch_names(state, nn.Sequential(nn.LayerNorm(4)))


def decayed(model, **options):
    """Which parameters become smaller in an update with weight decay and a gradient of 0."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    torch.optim.SGD(no_decay_groups(model, 0.5, **options), lr=0.1).step()
    smaller = set()
    for name, p in model.named_parameters():
        if not torch.equal(p, before[name]):
            assert_close(p.detach(), 0.95 * before[name])
            smaller.add(name)
    return smaller


def test_weight_decay_excludes_gains_and_biases():
    model = nn.ModuleDict(
        {
            "conv": nn.Conv2d(3, 4, 3),
            "batch": nn.BatchNorm2d(4),
            "group": nn.GroupNorm(2, 4),
            "rows": nn.LayerNorm((4, 5, 5)),  # a gain of three axes
            "ours": RMSNorm((4, 5)),
            "embed": nn.Embedding(3, 4),
            "linear": nn.Linear(4, 2),
            "block": Block(),
        }
    )
    for p in model.parameters():
        nn.init.uniform_(p, 0.5, 1)
    weights = {"conv.weight", "linear.weight", "block.dense.weight"}
    assert decayed(model) == weights | {"embed.weight"}
    assert decayed(model, also=(nn.Embedding,)) == weights


def test_every_parameter_is_in_one_group_once_and_a_shared_one_too():
    model = nn.ModuleDict({"embed": nn.Embedding(3, 4), "head": nn.Linear(4, 3)})
    model["head"].weight = model["embed"].weight
    model["lstm"] = LayerNormLSTM(3, 4)
    model["head"].bias.requires_grad_(False)
    for also in ((), (nn.Embedding,)):
        groups = no_decay_groups(model, 0.1, also=also)
        parameters = [p for group in groups for p in group["params"]]
        assert len(parameters) == len(set(parameters)) == len(list(model.parameters()))
        tied = any(p is model["embed"].weight for p in groups[0]["params"])
        assert tied == (also == ())
    assert "lstm.weight_hh_l0" in decayed(model)
    assert not any("norm" in name for name in decayed(model))


@pytest.mark.parametrize("weight_decay", [-0.1, float("nan")])
def test_negative_weight_decay_raises_an_error(weight_decay):
    with pytest.raises(ValueError, match="no_decay_groups: weight_decay must be >= 0"):
        no_decay_groups(nn.Linear(2, 2), weight_decay)
