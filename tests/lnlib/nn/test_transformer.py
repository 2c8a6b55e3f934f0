"""The small transformer: held to a forward pass in NumPy, float64, for every setting."""

import itertools
import math

import numpy as np
import pytest
import torch

import lnlib
from lnlib.nn.transformer import INITIALIZATIONS, NORMS, PLACEMENTS, Transformer

SMALL = {"depth": 4, "width": 12, "heads": 3, "length": 7}
SETTINGS = [
    {"norm": norm, "placement": placement, "qk_norm": qk_norm, "last_norm": last}
    for norm, placement, qk_norm, last in itertools.product(
        NORMS, ("pre", "post", "sandwich"), ("none", "layer", "rms"), (None, True, False)
    )
] + [
    {"norm": norm, "placement": placement, "qk_norm": "none", "last_norm": None}
    for norm, placement in itertools.product(("layer", "rms"), PLACEMENTS[3:])
]


def drawn(**settings):
    """A model of float64 whose every parameter, gains and biases too, is drawn."""
    model = Transformer(11, **SMALL | {"eps": 1e-3} | settings).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return model


def normalized(kind, x, p, name, eps):
    if kind == "layer":
        return lnlib.layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"], eps=eps)
    if kind == "rms":
        return lnlib.rms_norm(x, p[f"{name}.weight"], eps=eps)
    if kind == "tanh":
        given = (p[f"{name}.{part}"] for part in ("alpha", "weight", "bias"))
        return lnlib.dynamic_tanh(x, *given)
    return x


def in_numpy(p, tokens, norm, placement, qk_norm, last_norm, depth, heads, eps):
    """The model as a plain loop over blocks, texts, heads and tokens."""
    erf = np.vectorize(math.erf)

    def linear(x, name):
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    def attend(x, at):
        read = np.empty_like(x)
        d = x.shape[-1] // heads
        for b, text in enumerate(x):
            parts = np.split(linear(text, f"{at}.qkv"), 3, axis=-1)
            for h in range(heads):
                q, k, v = (part[:, h * d : (h + 1) * d] for part in parts)
                q = normalized(qk_norm, q, p, f"{at}.norm_q", eps)
                k = normalized(qk_norm, k, p, f"{at}.norm_k", eps)
                for t in range(len(text)):
                    score = k[: t + 1] @ q[t] / math.sqrt(d)
                    score = np.exp(score - score.max())
                    read[b, t, h * d : (h + 1) * d] = score @ v[: t + 1] / score.sum()
        return linear(read, f"{at}.merge")

    def feed(x, at):
        a = linear(x, f"{at}.expand")
        return linear(a * (1 + erf(a / math.sqrt(2))) / 2, f"{at}.contract")

    x = p["token.weight"][tokens] + p["position.weight"][: tokens.shape[1]]
    for i in range(depth):
        at = f"blocks.{i}"
        for f, name in ((attend, f"{at}.norm_a"), (feed, f"{at}.norm_f")):
            gain = p.get(name.replace("norm", "gain"), 1)
            if placement == "post" or (
                placement == "mix_ln" and i == 0
            ):  # a quarter of four blocks
                x = normalized(norm, x + f(x, at), p, name, eps)
            elif placement == "deepnorm":
                x = normalized(norm, 8**0.25 * x + f(x, at), p, name, eps)
            elif placement == "rezero":
                x = x + gain * f(x, at)
            else:
                read = normalized(norm, x, p, name, eps)
                change = f(read / math.sqrt(i + 1) if placement == "ln_scaling" else read, at)
                if placement == "sandwich":
                    change = normalized(norm, change, p, f"{name}_out", eps)
                x = x + gain * change
    if placement not in ("post", "deepnorm", "rezero") if last_norm is None else last_norm:
        x = normalized(norm, x, p, "last_norm", eps)
    return linear(x, "output")


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_logits_equal_a_numpy_implementation(settings):
    model = drawn(**settings)
    tokens = np.random.default_rng(1).integers(11, size=(2, 6))
    p = {name: a.detach().numpy() for name, a in model.state_dict().items()}
    right = in_numpy(p, tokens, **settings, depth=4, heads=3, eps=1e-3)
    ours = model(torch.from_numpy(tokens)).detach().numpy()
    np.testing.assert_allclose(ours, right, rtol=1e-9, atol=1e-9 * np.abs(right).max())


@pytest.mark.parametrize("initialization", INITIALIZATIONS)
def test_matrices_are_initialized_as_set(initialization):
    torch.manual_seed(3)
    model = Transformer(400, depth=2, width=96, initialization=initialization)
    expand, token = model.blocks[1].expand, model.token.weight
    sizes = {
        "normal": (0.02, 0.02),
        "xavier": (math.sqrt(2 / (96 + 384)), 96**-0.5),
        "pytorch": (1 / math.sqrt(3 * 96), 1),
        "gpt2": (0.02 * math.sqrt(768 / 96), 0.02),
    }
    wanted = sizes[initialization]
    assert expand.weight.std().item() == pytest.approx(wanted[0], rel=0.02)
    assert token.std().item() == pytest.approx(wanted[1], rel=0.02)
    assert (expand.bias.abs().max() == 0) == (initialization != "pytorch")
    low, high = (-expand.weight.abs().max(), expand.weight.abs().max())
    if initialization == "xavier":  # uniform: no number beyond
        assert high - low < 2.01 * math.sqrt(6 / (96 + 384))


def parameters(**settings):
    torch.manual_seed(3)
    return dict(Transformer(9, **SMALL, **settings).named_parameters())


@pytest.mark.parametrize("initialization", INITIALIZATIONS)
def test_residual_scaling_only_affects_output_matrices(initialization):
    scaled = parameters(initialization=initialization, residual_scaling=True)
    for name, p in parameters(initialization=initialization).items():
        writes = name.endswith(("merge.weight", "contract.weight"))
        divisor = math.sqrt(2 * SMALL["depth"]) if writes else 1
        torch.testing.assert_close(scaled[name], p / divisor)


def test_deepnorm_initializes_matrices_smaller_except_queries_and_keys():
    deep = parameters(placement="deepnorm", initialization="xavier")
    for name, p in parameters(placement="post", initialization="xavier").items():
        factor = torch.ones_like(p)
        if name.endswith(("merge.weight", "expand.weight", "contract.weight")):
            factor[:] = 32**-0.25
        elif name.endswith("qkv.weight"):
            factor[2 * SMALL["width"] :] = 32**-0.25
        torch.testing.assert_close(deep[name], p * factor, msg=name)


@pytest.mark.parametrize(("depth", "start"), [(18, 0.1), (19, 1e-5), (25, 1e-6)])
def test_layer_scale_and_rezero_have_their_initial_factors(depth, start):
    sizes = {"width": 4, "heads": 1, "length": 3}
    scaled = Transformer(5, depth=depth, placement="layer_scale", **sizes)
    torch.testing.assert_close(scaled.blocks[-1].gain_f.detach(), torch.full((4,), start))
    results = list(
        Transformer(5, depth=2, placement="rezero", **sizes).stream(torch.tensor([[1, 2]]))
    )
    assert torch.equal(results[0], results[-1])


def test_residual_stream_returns_block_outputs():
    model, tokens = drawn(), torch.tensor([[1, 2, 3]])
    results = list(model.stream(tokens))
    assert len(results) == 1 + SMALL["depth"]
    for before, block, after in zip(results, model.blocks, results[1:], strict=False):
        assert torch.equal(block(before), after)
    assert torch.equal(model.output(model.last_norm(results[-1])), model(tokens))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Transformer(5, norm="batch"), "norm must be one of none, layer, rms, tanh; got"),
        (lambda: Transformer(5, placement="before"), "placement must be one of pre, post"),
        (lambda: Transformer(5, qk_norm="tanh"), "qk_norm must be one of none, layer, rms; got"),
        (lambda: Transformer(5, initialization="he"), "initialization must be one of normal, xav"),
        (lambda: Transformer(5, norm="rms", eps=-1.0), "Transformer: eps must be finite and >= 0"),
        (lambda: Transformer(5, width=10, heads=4), "heads must divide width 10, got 4"),
        (lambda: Transformer(5, **SMALL)(torch.zeros(1, 8, dtype=torch.long)), "a text must have"),
    ],
)
def test_errors_contain_the_value_and_the_fix(call, message):
    with pytest.raises(ValueError, match=message):
        call()
