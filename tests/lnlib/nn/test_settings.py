"""Every setting of every layer, at a value that is not its default, against a loop in NumPy.

The loop takes the steps of ``lnlib.cells``, whose tests hold them to the equations in PyTorch.
"""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.testing import assert_close

from lnlib import cells
from lnlib.nn import from_fastrnns, to_fastrnns
from lnlib.nn.baselines import BatchNorm, WeightNormLinear
from lnlib.nn.kernels.cpu import recurrent
from tests.cases.modules import CELLS, draw
from tests.cases.modules import KINDS as NETWORKS

# Measured in float64: results 4e-15, slopes by central differences 3e-10 of the largest.
EXACT, SLOPE, STEP = 1e-11, 1e-7, 1e-5
B, T = 4, 3

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
# Each norm with the gates that it spans, and whether there is a bias b beside them.
NORMS = {
    ("lstm", "paper"): ({"i": 4, "h": 4, "c": 1}, True),
    ("lstm", "carried"): ({"i": 4, "h": 4, "c": 1}, True),
    ("lstm", "per_gate"): ({"s": 4, "c": 1}, True),
    ("lstm", "draw"): ({"c": 1}, True),
    ("gru", "paper"): ({"i": 2, "h": 2, "in": 1, "hn": 1}, False),
    ("rnn", "paper"): ({"s": 1}, False),
    ("rnn", "parts"): ({"i": 1, "h": 1}, True),
}
each_form = pytest.mark.parametrize(("kind", "form"), list(NORMS), ids=str)
each_bias = pytest.mark.parametrize("bias", [True, False], ids=["biases", "no biases"])

# No value is the default of its argument; those of ``form`` and ``implementation`` are parameters.
OF_A_CELL = {
    "input_size": 3,
    "hidden_size": 6,
    "bias": False,
    "device": "meta",
    "dtype": torch.float64,
    "form": None,
    "eps": 0.3,
    "gain": 1.7,
    "bias_init": "uniform",
    "recurrent_init": "orthogonal",
}
OF_A_NETWORK = OF_A_CELL | {
    "num_layers": 2,
    "batch_first": True,
    "dropout": 0.4,
    "bidirectional": True,
    "proj_size": 0,  # there is no other
    "implementation": None,
}
OF_AN_RNN = {"nonlinearity": "relu"}


def make(layers, kind, form, **changed):
    """Return a layer with no setting at its default, and the settings."""
    settings = OF_A_CELL if layers is CELLS else OF_A_NETWORK
    settings = settings | (OF_AN_RNN if kind == "rnn" else {})
    settings = settings | {"form": form, "device": "cpu"} | changed
    settings = {name: value for name, value in settings.items() if value is not None}
    torch.manual_seed(1)
    return layers[kind](**settings), settings


@pytest.fixture(params=["plain", "function", "compiled"])
def implementation(request):
    """The name of one that runs here."""
    if request.param == "compiled" and not recurrent.available():
        pytest.skip(f"no compiled library here: {recurrent.reason()}")
    return request.param


NAMES = {"weight_ih": "W_ih", "weight_hh": "W_hh", "bias": "b"}


def step(kind, p, x, state, settings):
    """Take one step in NumPy; ``p`` has the parameters' names without layer and direction."""
    params = {}
    for name, a in p.items():
        norm, _, part = name.removeprefix("layernorm_").partition(".")
        if part:
            params[f"{'gain' if part == 'weight' else 'bias'}_{norm}"] = a
        elif name in NAMES:
            params[NAMES[name]] = a
    options = {"form": settings["form"], "eps": settings["eps"]}
    if kind == "rnn":
        options["nonlinearity"] = settings["nonlinearity"]
    given = state if kind == "lstm" else state[0]
    new = getattr(cells, f"{kind}_step")(x, given, params, **options)
    return new if kind == "lstm" else (new,)


def parameters_of(arrays, suffix):
    matches = ((re.fullmatch(rf"(\w+?){suffix}(\.\w+)?", name), a) for name, a in arrays.items())
    return {match[1] + (match[2] or ""): a for match, a in matches if match}


def network(kind, arrays, x, state, settings, mask):
    """Run over time: layer by layer, forwards, backwards, with dropout between them."""
    if settings["batch_first"]:
        x = x.swapaxes(0, 1)
    ends = []
    for layer in range(settings["num_layers"]):
        outputs = []
        for direction in range(1 + settings["bidirectional"]):
            p = parameters_of(arrays, f"_l{layer}" + "_reverse" * direction)
            now = tuple(s[len(ends)] for s in state)  # layer 0, its reverse, layer 1, its reverse
            out = {}
            for t in reversed(range(len(x))) if direction else range(len(x)):
                now = step(kind, p, x[t], now, settings)
                out[t] = now[0]
            outputs.append(np.stack([out[t] for t in range(len(x))]))
            ends.append(now)
        x = np.concatenate(outputs, 2)
        if layer < settings["num_layers"] - 1:
            x = x * mask
    if settings["batch_first"]:
        x = x.swapaxes(0, 1)
    return [x, *(np.stack(s) for s in zip(*ends, strict=True))]


def hold(results, leaves, compute):
    """Hold results, and their slope along a line through all the leaves, to ``compute(arrays)``."""
    arrays = {name: t.detach().numpy() for name, t in leaves.items()}
    for actual, expected in zip(results, compute(arrays), strict=True):
        assert actual.dtype == torch.float64
        assert_close(actual.detach().numpy(), expected, rtol=EXACT, atol=EXACT)
    weights = [draw(*r.shape, seed=20 + k) for k, r in enumerate(results)]
    along = {name: draw(*t.shape, seed=30 + k) for k, (name, t) in enumerate(leaves.items())}
    loss = sum((w * r).sum() for w, r in zip(weights, results, strict=True))
    grads = torch.autograd.grad(loss, list(leaves.values()))
    slope = sum((g * d).sum() for g, d in zip(grads, along.values(), strict=True)).item()

    def moved(by):
        moved_outputs = compute({name: a + by * along[name].numpy() for name, a in arrays.items()})
        return sum((w.numpy() * r).sum() for w, r in zip(weights, moved_outputs, strict=True))

    # Of the fourth order: along a line through so many leaves the third derivative is large.
    expected = 8 * (moved(STEP) - moved(-STEP)) - (moved(2 * STEP) - moved(-2 * STEP))
    assert_close(slope, expected / (12 * STEP), rtol=SLOPE, atol=SLOPE)


@each_form
@each_bias
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_networks_with_non_default_settings_follow_the_equations(
    implementation, kind, form, bias, training, nonlinearity
):
    chosen = {"nonlinearity": nonlinearity} if kind == "rnn" else {}
    if nonlinearity == "relu" and not chosen:
        pytest.skip("has no such choice")
    module, settings = make(
        NETWORKS, kind, form, bias=bias, implementation=implementation, **chosen
    )
    module.train(training)
    I, H = settings["input_size"], settings["hidden_size"]  # noqa: E741
    state = [draw(4, B, H, seed=2 + k).requires_grad_() for k in range(1 + (kind == "lstm"))]
    x = draw(B, T, I, seed=4).requires_grad_()
    leaves = dict(module.named_parameters()) | {"x": x} | dict(zip("hc", state, strict=False))
    torch.manual_seed(5)
    ones = torch.ones(T * B, 2 * H, dtype=torch.float64)
    mask = F.dropout(ones, settings["dropout"], training).view(T, B, -1)
    torch.manual_seed(5)
    output, last = module(x, tuple(state) if kind == "lstm" else state[0])

    def compute(arrays):
        states = [arrays[name] for name in "hc"[: len(state)]]
        return network(kind, arrays, arrays["x"], states, settings, mask.numpy())

    hold([output, *(last if kind == "lstm" else (last,))], leaves, compute)


@each_form
@each_bias
@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_cells_with_non_default_settings_follow_the_equations(kind, form, bias, nonlinearity):
    chosen = {"nonlinearity": nonlinearity} if kind == "rnn" else {}
    if nonlinearity == "relu" and not chosen:
        pytest.skip("has no such choice")
    cell, settings = make(CELLS, kind, form, bias=bias, **chosen)
    state = [draw(B, 6, seed=2 + k).requires_grad_() for k in range(1 + (kind == "lstm"))]
    x = draw(B, 3, seed=4).requires_grad_()
    leaves = dict(cell.named_parameters()) | {"x": x} | dict(zip("hc", state, strict=False))
    new = cell(x, tuple(state) if kind == "lstm" else state[0])

    def compute(arrays):
        states = tuple(arrays[name] for name in "hc"[: len(state)])
        return step(kind, arrays, arrays["x"], states, settings)

    hold(list(new) if kind == "lstm" else [new], leaves, compute)


def expected_shapes(layers, kind, form, settings):
    G, H = GATES[kind], settings["hidden_size"]
    norms, has_b = NORMS[kind, form]
    suffixes, widths = [""], [settings["input_size"]]
    if layers is NETWORKS:
        suffixes, widths = ["_l0", "_l0_reverse", "_l1", "_l1_reverse"], [3, 3, 2 * H, 2 * H]
    shapes = {}
    for suffix, width in zip(suffixes, widths, strict=True):
        shapes[f"weight_ih{suffix}"] = (G * H, width)
        shapes[f"weight_hh{suffix}"] = (G * H, H)
        if has_b and settings["bias"]:
            shapes[f"bias{suffix}"] = (G * H,)
        for place, span in norms.items():
            for part in ("weight", "bias") if settings["bias"] else ("weight",):
                shapes[f"layernorm_{place}{suffix}.{part}"] = (span * H,)
    return shapes


def has_started(layer, kind, settings):
    """Whether each parameter, of every layer and direction, is one that the settings may draw."""
    H = settings["hidden_size"]
    for name, p in layer.named_parameters():
        p = p.detach()
        if name.startswith("weight_hh") and settings["recurrent_init"] == "orthogonal":
            for gate in p.split(H):
                assert_close(gate @ gate.T, torch.eye(H, dtype=p.dtype), msg=name)
        elif name.endswith(".weight"):
            assert_close(p, torch.full_like(p, settings["gain"]), rtol=0, atol=0, msg=name)
        elif name.startswith("weight") or settings["bias_init"] == "uniform":
            assert p.abs().max() <= H**-0.5, name
            assert p.unique().numel() == p.numel(), name
            assert 0.1 < p.std() * H**0.5 < 0.9, name  # 0.58 is that of the distribution
        else:
            assert not p.any(), name


@each_form
@each_bias
@pytest.mark.parametrize("layers", [NETWORKS, CELLS], ids=["network", "cell"])
@pytest.mark.parametrize(
    ("bias_init", "recurrent_init"), [("uniform", "uniform"), ("zeros", "orthogonal")]
)
def test_every_layer_and_direction_uses_its_initial_state(
    layers, kind, form, bias, bias_init, recurrent_init
):
    chosen = {"bias": bias, "bias_init": bias_init, "recurrent_init": recurrent_init}
    layer, settings = make(layers, kind, form, **chosen)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    assert shapes == expected_shapes(layers, kind, form, settings)
    has_started(layer, kind, settings)
    for p in layer.parameters():
        p.data.fill_(7)
    layer.reset_parameters()
    has_started(layer, kind, settings)


@each_form
@pytest.mark.parametrize("layers", [NETWORKS, CELLS], ids=["network", "cell"])
def test_every_parameter_has_the_device_and_the_dtype(layers, kind, form):
    for device, dtype in (("meta", torch.float16), ("cpu", torch.float64)):
        layer, _ = make(layers, kind, form, device=device, dtype=dtype, bias=True)
        assert {(p.device.type, p.dtype) for p in layer.parameters()} == {(device, dtype)}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use
@each_form
@pytest.mark.parametrize("name", ["function", "compiled"])
def test_forward_mode_goes_along_any_one_of_the_leaves(kind, form, name):
    module, settings = make(NETWORKS, kind, form, implementation=name, bias=True, dropout=0.0)
    module = module.double()
    state = [draw(4, B, 6, seed=2 + k) for k in range(1 + (kind == "lstm"))]
    leaves = {n: p.detach() for n, p in module.named_parameters() if "_l0." in n or n[-3:] == "_l0"}
    leaves |= {"x": draw(B, T, 3, seed=4)} | dict(zip("hc", state, strict=False))
    fixed = {n: p.detach().numpy() for n, p in module.named_parameters()}
    one = np.ones(1)

    def compute(arrays):
        states = [arrays[n] for n in "hc"[: len(state)]]
        return network(kind, fixed | arrays, arrays["x"], states, settings, one)[0]

    arrays = {n: t.numpy() for n, t in leaves.items()}
    for leaf, value in leaves.items():
        along = draw(*value.shape, seed=6)
        with forward_ad.dual_level():
            given = leaves | {leaf: forward_ad.make_dual(value, along)}
            hx = tuple(given.pop(n) for n in "hc"[: len(state)])
            x = given.pop("x")
            output, _ = torch.func.functional_call(
                module, given, (x, hx if kind == "lstm" else hx[0])
            )
            actual = forward_ad.unpack_dual(output).tangent.detach()
        ends = (compute(arrays | {leaf: arrays[leaf] + by * along.numpy()}) for by in (STEP, -STEP))
        expected = np.subtract(*ends) / (2 * STEP)
        assert np.abs(expected).max() > 1e-3, leaf
        assert_close(actual.numpy(), expected, rtol=1e-6, atol=1e-7, msg=lambda m, n=leaf: n + m)


@pytest.mark.parametrize("unbiased", [True, False])
def test_batch_norm_with_non_default_settings_follows_the_equation(unbiased):
    eps, momentum = 0.3, 0.7
    norm = BatchNorm(5, eps=eps, momentum=momentum, unbiased=unbiased).double()
    assert [tuple(p.shape) for p in norm.parameters()] == [(5,), (5,)]
    for k, p in enumerate(norm.parameters()):
        p.data.copy_(draw(5, seed=k))
    gain, bias = (p.detach().numpy() for p in norm.parameters())
    mean, var = np.zeros(5), np.ones(5)
    for seed in range(3):
        x = 1 + 2 * draw(4, 5, seed=seed)

        def compute(arrays):
            x = arrays["x"]
            y = (x - x.mean(0)) / np.sqrt(x.var(0, ddof=unbiased) + eps)
            return [y * arrays["weight"] + arrays["bias"]]

        x.requires_grad_()
        hold([norm(x)], dict(norm.named_parameters()) | {"x": x}, compute)
        batch = x.detach().numpy()
        mean = (1 - momentum) * mean + momentum * batch.mean(0)
        var = (1 - momentum) * var + momentum * batch.var(0, ddof=1)
    assert_close(norm.running_mean.numpy(), mean, rtol=EXACT, atol=EXACT)
    assert_close(norm.running_var.numpy(), var, rtol=EXACT, atol=EXACT)
    x = draw(1, 5, seed=9)
    expected = (x.numpy() - mean) / np.sqrt(var + eps) * gain + bias
    assert_close(norm.eval()(x).detach().numpy(), expected, rtol=EXACT, atol=EXACT)
    assert_close(norm.running_mean.numpy(), mean, rtol=EXACT, atol=EXACT)


def test_weight_norm_follows_the_equation():
    layer = WeightNormLinear(3, 5).double()
    assert (tuple(layer.gain.shape), tuple(layer.bias.shape)) == ((5,), (5,))
    assert_close(layer.gain.detach().numpy(), np.ones(5))
    assert_close(layer.bias.detach().numpy(), np.zeros(5))
    for k, p in enumerate(layer.parameters()):
        p.data.copy_(draw(*p.shape, seed=k))

    def compute(arrays):
        w = arrays["weight"] / np.sqrt((arrays["weight"] ** 2).sum(1, keepdims=True))
        return [arrays["x"] @ w.T * arrays["gain"] + arrays["bias"]]

    x = draw(2, 4, 3, seed=7).requires_grad_()
    hold([layer(x)], dict(layer.named_parameters()) | {"x": x}, compute)


@pytest.mark.parametrize("form", ["carried", "paper"])
def test_weights_that_go_to_the_public_layout_and_back_keep_every_setting(form):
    module, settings = make(NETWORKS, "lstm", form, bias=True, implementation="plain")
    theirs = to_fastrnns(module)
    assert "layers.1.directions.1.cell.layernorm_c.weight" in theirs
    names = ("batch_first", "dropout", "form", "eps", "gain", "bias_init", "recurrent_init")
    back = from_fastrnns(theirs, implementation="plain", **{name: settings[name] for name in names})
    assert repr(back) == repr(module)
    assert {p.dtype for p in back.parameters()} == {torch.float64}
    x, hx = draw(B, T, 3, seed=0), tuple(draw(2, 4, B, 6, seed=1))
    assert_close(back.eval()(x, hx), module.eval()(x, hx), rtol=EXACT, atol=EXACT)
    meta = from_fastrnns({name: t.to("meta", torch.float16) for name, t in theirs.items()})
    assert {(p.device.type, p.dtype) for p in meta.parameters()} == {("meta", torch.float16)}
