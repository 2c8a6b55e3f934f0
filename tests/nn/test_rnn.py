import copy
import io
import pickle
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence
from torch.testing import assert_close

from lnlib import cells
from lnlib.nn import (
    LayerNormGRU,
    LayerNormGRUCell,
    LayerNormLSTM,
    LayerNormLSTMCell,
    LayerNormRNN,
    LayerNormRNNCell,
    from_fastrnns,
    to_fastrnns,
)

# float64 over 7 steps.
EXACT = 1e-10
IN, H, B, T = 3, 5, 4, 7

KINDS = {"rnn": LayerNormRNN, "lstm": LayerNormLSTM, "gru": LayerNormGRU}
CELLS = {"rnn": LayerNormRNNCell, "lstm": LayerNormLSTMCell, "gru": LayerNormGRUCell}
TORCH = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
FORMS = [
    ("rnn", "paper"),
    ("rnn", "parts"),
    ("lstm", "paper"),
    ("lstm", "carried"),
    ("lstm", "per_gate"),
    ("lstm", "draw"),
    ("gru", "paper"),
]
each_form = pytest.mark.parametrize(("kind", "form"), FORMS, ids=lambda v: v)
each_kind = pytest.mark.parametrize("kind", list(KINDS))
each_path = pytest.mark.parametrize("implementation", ["plain", "function", "compiled"])


def make(kind, seed=0, **options):
    """A module whose gains are not 1 and whose biases are not 0."""
    module = KINDS[kind](IN, H, **{"dtype": torch.float64} | options)
    return shake(module, seed)


def shake(module, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            drawn = torch.randn(p.shape, generator=generator, dtype=torch.float64)
            p.copy_(1 + 0.3 * drawn if "layernorm" in name and "weight" in name else drawn)
    return module


def draw(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start(kind, layers=1, batch=B, seed=2):
    h, c = draw(2, layers, batch, H, seed=seed)
    return (h, c) if kind == "lstm" else h


def states(kind, hx):
    return hx if kind == "lstm" else (hx,)


def numpy_params(module, suffix="_l0"):
    """The parameters of a layer as ``lnlib.cells`` names them."""
    params = {}
    for name, p in module.named_parameters():
        if match := re.fullmatch(
            rf"(weight_ih|weight_hh|bias|layernorm_(\w+?)){suffix}(?:\.(weight|bias))?", name
        ):
            base, place, part = match.groups()
            key = {"weight_ih": "W_ih", "weight_hh": "W_hh", "bias": "b"}.get(base)
            key = key or f"{'gain' if part == 'weight' else 'bias'}_{place}"
            params[key] = p.detach().numpy()
    return params


def run_numpy(kind, form, params, x, state, mask=None, **options):
    """A loop over ``lnlib.cells``; ``mask (T, B)`` is False where a sequence has ended."""
    state, outputs = tuple(s.numpy() for s in state), []
    for t, row in enumerate(x.numpy()):
        if kind == "lstm":
            new = cells.lstm_step(row, state, params, form=form, **options)
        else:
            step = {"rnn": cells.rnn_step, "gru": cells.gru_step}[kind]
            new = (step(row, state[0], params, form=form, **options),)
        if mask is not None:
            new = tuple(np.where(mask[t][:, None], n, s) for n, s in zip(new, state, strict=True))
        outputs.append(new[0])
        state = new
    return np.stack(outputs), state


# Against the NumPy cells.


@each_path
@each_form
@pytest.mark.parametrize("bias", [True, False])
def test_seven_steps_from_a_nonzero_state_are_those_of_the_numpy_cells(
    kind, form, bias, implementation
):
    module = make(kind, form=form, bias=bias, implementation=implementation)
    x, hx = draw(T, B, IN), start(kind)
    output, last = module(x, hx)
    params = numpy_params(module)
    assert ("b" in params) == (
        bias and form not in ("rnn paper",) and "bias_l0" in dict(module.named_parameters())
    )
    expected, end = run_numpy(kind, form, params, x, [s[0] for s in states(kind, hx)])
    assert_close(output.detach().numpy(), expected, rtol=EXACT, atol=EXACT)
    for s, e in zip(states(kind, last), end, strict=True):
        assert_close(s[0].detach().numpy(), e, rtol=EXACT, atol=EXACT)


@each_path
@each_form
def test_padding_is_seen_by_nobody(kind, form, implementation):
    module = make(kind, form=form, implementation=implementation)
    lengths = torch.tensor([7, 4, 4, 1])
    x, hx = draw(T, B, IN), start(kind)
    mask = np.arange(T)[:, None] < lengths.numpy()
    packed, last = module(pack_padded_sequence(x, lengths), hx)
    output, _ = pad_packed_sequence(packed)
    expected, end = run_numpy(
        kind, form, numpy_params(module), x, [s[0] for s in states(kind, hx)], mask
    )
    assert_close(output.detach().numpy(), expected * mask[:, :, None], rtol=EXACT, atol=EXACT)
    for s, e in zip(states(kind, last), end, strict=True):
        assert_close(s[0].detach().numpy(), e, rtol=EXACT, atol=EXACT)


@each_form
def test_a_cell_is_one_step_of_the_numpy_cell(kind, form):
    cell = shake(CELLS[kind](IN, H, dtype=torch.float64, form=form))
    x, hx = draw(B, IN), tuple(draw(2, B, H, seed=2)[: 1 + (kind == "lstm")])
    actual = states(kind, cell(x, hx if kind == "lstm" else hx[0]))
    _, expected = run_numpy(kind, form, numpy_params(cell, ""), x[None], hx)
    for a, e in zip(actual, expected, strict=True):
        assert_close(a.detach().numpy(), e, rtol=EXACT, atol=EXACT)
    alone = states(kind, cell(x[1], tuple(s[1] for s in hx) if kind == "lstm" else hx[0][1]))
    for a, e in zip(alone, expected, strict=True):
        assert_close(a.detach().numpy(), e[1], rtol=EXACT, atol=EXACT)


def test_relu_is_the_other_nonlinearity():
    module = make("rnn", nonlinearity="relu")
    x, h = draw(T, B, IN), start("rnn")
    expected, _ = run_numpy("rnn", "paper", numpy_params(module), x, [h[0]], nonlinearity="relu")
    assert_close(module(x, h)[0].detach().numpy(), expected, rtol=EXACT, atol=EXACT)


@each_path
@each_form
def test_gradients_match_differences_in_all_inputs_and_parameters(kind, form, implementation):
    module = make(kind, form=form, implementation=implementation, bidirectional=True)
    x = draw(4, 3, IN).requires_grad_()
    hx = [s[:, :3].clone().requires_grad_() for s in states(kind, start(kind, 2))]
    names, parameters = zip(*module.named_parameters(), strict=True)
    lengths = torch.tensor([4, 2, 1])

    def run(x, *rest):
        state, parameters = rest[: len(hx)], rest[len(hx) :]
        packed, last = torch.func.functional_call(
            module,
            dict(zip(names, parameters, strict=True)),
            (
                pack_padded_sequence(x, lengths),
                tuple(state) if kind == "lstm" else state[0],
            ),
        )
        return packed.data, *states(kind, last)

    assert torch.autograd.gradcheck(run, (x, *hx, *parameters), fast_mode=True)


@each_form
def test_the_plain_path_can_be_differentiated_twice(kind, form):
    module = make(kind, form=form, implementation="plain")
    x = draw(3, 2, IN).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: module(x)[0], x, fast_mode=True)


# As torch.nn.


@pytest.fixture(params=list(KINDS))
def pair(request):
    """Ours and PyTorch's, as functions of the same arguments."""
    return KINDS[request.param], TORCH[request.param]


OPTIONS = [
    {},
    {"batch_first": True},
    {"num_layers": 2},
    {"bidirectional": True},
    {"num_layers": 3, "bidirectional": True, "batch_first": True, "dropout": 0.5},
    {"bias": False},
]


def shapes(result):
    output, hx = result
    data = output.data if hasattr(output, "batch_sizes") else output
    return [data.shape, *(s.shape for s in (hx if isinstance(hx, tuple) else (hx,)))]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [(T, B, IN), (T, IN), (1, 1, IN), (T, 0, IN)], ids=str)
def test_shapes_are_those_of_torch(pair, options, shape):
    ours, theirs = (kind(IN, H, **options) for kind in pair)
    x = torch.ones(shape)
    if options.get("batch_first") and 0 in shape:  # no time step
        assert type(error_of(lambda: ours(x))) is type(error_of(lambda: theirs(x))) is RuntimeError
        return
    assert shapes(ours(x)) == shapes(theirs(x))
    hx = theirs(x)[1]
    assert shapes(ours(x, hx)) == shapes(theirs(x, hx))


def test_arguments_have_torchs_order():
    args, where = (IN, H, 2, True, True, 0.5, True), {"device": "cpu", "dtype": torch.float64}
    for kind in ("lstm", "gru"):
        ours, theirs = KINDS[kind](*args, **where), TORCH[kind](*args, **where)
        assert shapes(ours(draw(B, T, IN))) == shapes(theirs(draw(B, T, IN)))
        assert ours.dropout == theirs.dropout
    ours, theirs = (k(IN, H, 2, "relu", False, True) for k in (LayerNormRNN, nn.RNN))
    assert ours.nonlinearity == theirs.nonlinearity
    assert shapes(ours(torch.ones(B, T, IN))) == shapes(theirs(torch.ones(B, T, IN)))


@each_kind
def test_weights_have_the_names_and_shapes_of_torch(kind):
    options = {"num_layers": 2, "bidirectional": True}
    theirs = {n: p.shape for n, p in TORCH[kind](IN, H, **options).named_parameters()}
    ours = {n: p.shape for n, p in KINDS[kind](IN, H, **options).named_parameters()}
    weights = {n: s for n, s in theirs.items() if n.startswith("weight")}
    assert {n: s for n, s in ours.items() if n.startswith("weight")} == weights


@each_kind
def test_the_names_of_the_norms(kind):
    names = {name for name, _ in KINDS[kind](IN, H).named_parameters()}
    expected = {
        "rnn": {"layernorm_s_l0"},
        "lstm": {"layernorm_i_l0", "layernorm_h_l0", "layernorm_c_l0"},
        "gru": {"layernorm_i_l0", "layernorm_h_l0", "layernorm_in_l0", "layernorm_hn_l0"},
    }[kind]
    norms = {name.split(".")[0] for name in names if "layernorm" in name}
    assert norms == expected
    assert ("bias_l0" in names) == (kind == "lstm")


@each_kind
def test_no_bias_means_nothing_is_added(kind):
    module = KINDS[kind](IN, H, bias=False)
    assert not [name for name, _ in module.named_parameters() if "bias" in name]


@each_kind
def test_layers_stand_on_each_other(kind):
    both = make(kind, num_layers=2)
    first, second = (KINDS[kind](n, H, dtype=torch.float64) for n in (IN, H))
    for k, module in enumerate((first, second)):
        weights = both.state_dict().items()
        module.load_state_dict({n.replace(f"_l{k}", "_l0"): p for n, p in weights if f"_l{k}" in n})
    x, hx = draw(T, B, IN), start(kind, 2)
    output, last = both(x, hx)
    below, end0 = first(x, part(kind, hx, 0))
    above, end1 = second(below, part(kind, hx, 1))
    assert_close(output, above)
    for s, *ends in zip(*(states(kind, e) for e in (last, end0, end1)), strict=True):
        assert_close(s, torch.cat(ends))


def part(kind, hx, k):
    parts = tuple(s[k : k + 1] for s in states(kind, hx))
    return parts if kind == "lstm" else parts[0]


@each_kind
def test_the_other_direction_reads_from_the_end(kind):
    both = make(kind, bidirectional=True)
    one = KINDS[kind](IN, H, dtype=torch.float64)
    one.load_state_dict(
        {n.replace("_reverse", ""): p for n, p in both.state_dict().items() if "_reverse" in n}
    )
    x, hx = draw(T, B, IN), start(kind, 2)
    output, last = both(x, hx)
    backward, end = one(x.flip(0), part(kind, hx, 1))
    assert_close(output[:, :, H:], backward.flip(0))
    assert_close(part(kind, last, 1), end)


@each_path
@each_kind
def test_a_packed_sequence_is_each_of_its_sequences_alone(kind, implementation):
    module = make(kind, num_layers=2, bidirectional=True, implementation=implementation)
    lengths, hx = [3, 7, 1, 5], start(kind, 4)
    sequences = [draw(n, IN, seed=n) for n in lengths]
    packed, last = module(pack_sequence(sequences, enforce_sorted=False), hx)
    output, _ = pad_packed_sequence(packed)
    for k, x in enumerate(sequences):
        alone = tuple(s[:, k] for s in states(kind, hx))
        expected, end = module(x, alone if kind == "lstm" else alone[0])
        assert_close(output[: lengths[k], k], expected)
        for s, e in zip(states(kind, last), states(kind, end), strict=True):
            assert_close(s[:, k], e)


@each_kind
def test_dropout_acts_between_layers_in_training_alone(kind):
    module = make(kind, num_layers=2, dropout=1.0)
    x = draw(T, B, IN)
    assert_close(module(x)[0], module(2 * x)[0])  # nothing passes
    assert not torch.allclose(module.eval()(x)[0], module(2 * x)[0])
    with pytest.warns(UserWarning, match="num_layers=1"):
        KINDS[kind](IN, H, dropout=0.5)


MISTAKES = {
    "4D": lambda m: m(torch.ones(1, T, B, IN)),
    "1D": lambda m: m(torch.ones(IN)),
    "features": lambda m: m(torch.ones(T, B, IN + 1)),
    "no steps": lambda m: m(torch.ones(0, B, IN)),
    "float64": lambda m: m(torch.ones(T, B, IN).double()),
    "ints": lambda m: m(torch.ones(T, B, IN, dtype=int)),
    "h of another batch": lambda m: m(torch.ones(T, B, IN), h(m, 1, B + 1, H)),
    "h of two layers": lambda m: m(torch.ones(T, B, IN), h(m, 2, B, H)),
    "h of another width": lambda m: m(torch.ones(T, B, IN), h(m, 1, B, H + 1)),
    "h without batch": lambda m: m(torch.ones(T, B, IN), h(m, 1, H)),
    "h with batch": lambda m: m(torch.ones(T, IN), h(m, 1, 1, H)),
}
# A packed sequence that does not fit: PyTorch's LSTM lets it pass.
PACKED = {
    "features": lambda m: m(pack_sequence([torch.ones(T, IN + 1)])),
    "h": lambda m: m(pack_sequence([torch.ones(T, IN)]), h(m, 1, 2, H)),
}


def h(module, *shape):
    zeros = torch.zeros(shape)
    return (zeros, zeros) if "LSTM" in type(module).__name__ else zeros


def error_of(run):
    try:
        run()
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_the_same_mistake_raises_the_same_error(pair, mistake):
    ours, theirs = (error_of(lambda kind=kind: mistake(kind(IN, H))) for kind in pair)
    assert theirs is not None
    assert type(ours) is type(theirs)
    assert re.match(r"LayerNorm(RNN|LSTM|GRU): .*(got|the weights are)", str(ours))


@each_kind
@pytest.mark.parametrize("mistake", PACKED.values(), ids=PACKED)
def test_a_packed_sequence_is_checked_too(kind, mistake):
    with pytest.raises(RuntimeError, match=r"must be.*got"):
        mistake(KINDS[kind](IN, H))


WRONG = {
    "no units": ((IN, 0), {}),
    "no inputs": ((0, H), {}),
    "units as text": ((IN, "5"), {}),
    "no layers": ((IN, H), {"num_layers": 0}),
    "dropout": ((IN, H), {"dropout": 1.5}),
    "dropout as text": ((IN, H), {"dropout": "half"}),
}


@pytest.mark.parametrize(("args", "options"), WRONG.values(), ids=WRONG)
def test_what_torch_refuses_to_build_is_refused(pair, args, options):
    ours, theirs = (error_of(lambda kind=kind: kind(*args, **options)) for kind in pair)
    if (args, options) == WRONG["no inputs"] and theirs is None:
        theirs = ValueError()  # PyTorch builds it
    assert type(ours) is type(theirs)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"form": "theano"}, "form must be one of paper"),
        ({"bias_init": "ones"}, "bias_init must be one of zeros, uniform"),
        ({"recurrent_init": "zeros"}, "recurrent_init must be one of uniform, orthogonal"),
        ({"implementation": "fast"}, "implementation must be one of auto"),
        ({"eps": -1.0}, "eps must be >= 0, got -1.0"),
        ({"proj_size": 2}, "proj_size must be 0"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(options, match):
    with pytest.raises(ValueError, match=match):
        LayerNormLSTM(IN, H, **options)


def test_a_wrong_nonlinearity_is_named():
    for kind in (LayerNormRNN, LayerNormRNNCell):
        with pytest.raises(ValueError, match="'tanh' or 'relu', got 'selu'"):
            kind(IN, H, nonlinearity="selu")


@each_kind
def test_what_is_no_tensor_is_named(kind):
    module = KINDS[kind](IN, H)
    with pytest.raises(TypeError, match="input must be a Tensor or a PackedSequence, got list"):
        module([1.0])
    wrong = torch.zeros(1, B, H) if kind == "lstm" else (torch.zeros(1, B, H),) * 2
    with pytest.raises(TypeError, match="hx must be a"):
        module(torch.ones(T, B, IN), wrong)


CELL_MISTAKES = {
    "3D": lambda m: m(torch.ones(T, B, IN)),
    "features": lambda m: m(torch.ones(B, IN + 1)),
    "h 3D": lambda m: m(torch.ones(B, IN), h(m, 1, B, H)),
    "h of another batch": lambda m: m(torch.ones(B, IN), h(m, B + 1, H)),
    "h of another width": lambda m: m(torch.ones(B, IN), h(m, B, H + 1)),
}


@each_kind
@pytest.mark.parametrize("mistake", CELL_MISTAKES.values(), ids=CELL_MISTAKES)
def test_a_cell_raises_the_error_that_torchs_does(kind, mistake):
    theirs = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}[kind]
    ours, theirs = (error_of(lambda m=m: mistake(m(IN, H))) for m in (CELLS[kind], theirs))
    assert theirs is not None
    assert type(ours) is type(theirs)


# Parameters.


@each_kind
def test_gains_start_at_1_and_biases_at_0(kind):
    module = KINDS[kind](IN, H, num_layers=2, bidirectional=True)
    for name, p in module.named_parameters():
        if "layernorm" in name or "bias" in name:
            expected = torch.ones_like(p) if name.endswith(".weight") else torch.zeros_like(p)
            assert torch.equal(p, expected), name
        else:
            assert p.abs().max() <= H**-0.5, name
            assert p.std() > 0.1, name


@each_kind
def test_biases_can_be_drawn_as_torch_draws_its_own(kind):
    module = KINDS[kind](IN, H, bias_init="uniform")
    drawn = [p for name, p in module.named_parameters() if "bias" in name]
    assert drawn
    for p in drawn:
        assert 0 < p.abs().max() <= H**-0.5
        assert p.std() > 0
    gains = [p for name, p in module.named_parameters() if "layernorm" in name and p.ndim == 1]
    assert any(torch.equal(p, torch.ones_like(p)) for p in gains)


@each_kind
def test_blank_first_inputs_blow_the_gradient_up_unless_biases_are_drawn(kind):
    x = draw(10, B, IN)
    x[:6] = 0  # as the first rows of an image
    norms = {}
    for bias_init in ("zeros", "uniform"):
        torch.manual_seed(0)
        module = KINDS[kind](IN, 64, bias_init=bias_init, dtype=torch.float64)
        module(x)[0][-1].sum().backward()
        norms[bias_init] = torch.cat([p.grad.flatten() for p in module.parameters()]).norm()
    assert norms["zeros"] > 1e3 * norms["uniform"]
    assert norms["uniform"] < 1e3


def test_the_gain_can_start_elsewhere():
    module = LayerNormLSTM(IN, H, gain=0.1)
    for name in ("layernorm_i_l0", "layernorm_h_l0", "layernorm_c_l0"):
        assert torch.equal(
            getattr(module, name).weight, torch.full_like(getattr(module, name).weight, 0.1)
        )


@each_kind
def test_orthogonal_recurrent_weights_keep_the_length_of_a_state_gate_by_gate(kind):
    module = KINDS[kind](IN, H, recurrent_init="orthogonal", dtype=torch.float64)
    for gate in module.weight_hh_l0.detach().split(H):
        assert_close(gate @ gate.T, torch.eye(H, dtype=torch.float64))


@each_form
def test_state_dict_copies_and_pickles_compute_the_same(kind, form):
    module = make(kind, form=form, num_layers=2, bidirectional=True)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    fresh = KINDS[kind](IN, H, form=form, num_layers=2, bidirectional=True, dtype=torch.float64)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    x = draw(T, B, IN)
    for twin in (fresh, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(twin) == repr(module)
        assert torch.equal(twin(x)[0], module(x)[0])


def test_repr_is_that_of_torch_and_what_differs_beyond():
    first = repr(LayerNormLSTM(3, 4, num_layers=2, batch_first=True)).splitlines()
    assert repr(nn.LSTM(3, 4, num_layers=2, batch_first=True)) == f"LSTM({first[1].strip()})"
    assert "3, 4, form='draw', eps=0.001" in repr(LayerNormLSTM(3, 4, form="draw", eps=1e-3))


# Dtypes.


@each_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_a_dtype_is_kept_and_as_close_to_float64_as_it_allows(kind, dtype):
    module = make(kind)
    x = draw(T, B, IN).to(dtype)
    low = copy.deepcopy(module).to(dtype)
    exact = copy.deepcopy(low).double()(x.double())[0]
    output, last = low(x)
    assert {output.dtype, *(s.dtype for s in states(kind, last))} == {dtype}
    # Errors of a step feed the next: ten times the rounding of the dtype; measured 2.6 times.
    assert (output.double() - exact).abs().max() < 10 * torch.finfo(dtype).eps


@each_kind
def test_autocast_computes_and_returns_its_dtype(kind):
    module = make(kind, dtype=torch.float32, num_layers=2, bidirectional=True)
    x = draw(T, B, IN).float()
    with torch.autocast("cpu", torch.bfloat16):
        output, last = module(x, h(module, 4, B, H))
    assert {output.dtype, *(s.dtype for s in states(kind, last))} == {torch.bfloat16}
    assert_close(output.float(), module(x)[0], atol=0.05, rtol=0)
    output.float().sum().backward()
    assert module.weight_hh_l0.grad.dtype == torch.float32


@each_kind
def test_meta_tensors_give_shapes(kind):
    module = KINDS[kind](IN, H, device="meta")
    assert module(torch.empty(T, B, IN, device="meta"))[0].shape == (T, B, H)


@each_kind
def test_a_frozen_network_needs_no_gradient_and_gives_the_input_one(kind):
    module = make(kind).requires_grad_(False)
    x = draw(T, B, IN).requires_grad_()
    module(x)[0].sum().backward()
    assert x.grad.abs().sum() > 0
    with torch.no_grad():
        assert module(x)[0].grad_fn is None


# Weights trained elsewhere.


class PublicCell(nn.Module):
    """``LayerNormLSTMCell`` of PyTorch's benchmarks/fastrnns/custom_lstms.py, as published."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.randn(4 * hidden_size, hidden_size))
        self.layernorm_i = nn.LayerNorm(4 * hidden_size)
        self.layernorm_h = nn.LayerNorm(4 * hidden_size)
        self.layernorm_c = nn.LayerNorm(hidden_size)

    def forward(self, input, state):
        hx, cx = state
        igates = self.layernorm_i(torch.mm(input, self.weight_ih.t()))
        hgates = self.layernorm_h(torch.mm(hx, self.weight_hh.t()))
        gates = igates + hgates
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
        ingate = torch.sigmoid(ingate)
        forgetgate = torch.sigmoid(forgetgate)
        cellgate = torch.tanh(cellgate)
        outgate = torch.sigmoid(outgate)
        cy = self.layernorm_c((forgetgate * cx) + (ingate * cellgate))
        hy = outgate * torch.tanh(cy)
        return hy, (hy, cy)


def run_public(cell, x, state):
    outputs = []
    for row in x:
        output, state = cell(row, state)
        outputs.append(output)
    return torch.stack(outputs), state


@pytest.mark.parametrize("prefix", ["", "layers.0.cell."], ids=["a cell", "a stack"])
def test_weights_of_the_public_layout_compute_what_they_did_there(prefix):
    theirs = shake(PublicCell(IN, H).double())
    ours = from_fastrnns({prefix + n: p for n, p in theirs.state_dict().items()})
    x, (h_0, c_0) = draw(T, B, IN), start("lstm")
    output, (h_n, c_n) = ours(x, (h_0, c_0))
    expected, (h_t, c_t) = run_public(theirs, x, (h_0[0], c_0[0]))
    assert_close((output, h_n[0], c_n[0]), (expected, h_t, c_t), rtol=EXACT, atol=EXACT)
    # The paper's network is another one.
    other = from_fastrnns(theirs.state_dict(), form="paper")
    assert (other(x, (h_0, c_0))[0] - expected).abs().max() > 0.1


def test_our_weights_compute_the_same_in_the_public_layout():
    ours = make("lstm", form="carried", num_layers=2, bidirectional=True)
    exported = to_fastrnns(ours)
    back = from_fastrnns(exported)
    x, hx = draw(T, B, IN), start("lstm", 4)
    assert_close(back(x, hx), ours(x, hx))
    assert back.bias_l0.abs().sum() == 0 < ours.bias_l0.abs().sum()  # b moved into layernorm_i
    theirs = PublicCell(IN, H).double()
    prefix = "layers.0.directions.0.cell."
    theirs.load_state_dict(
        {n.removeprefix(prefix): p for n, p in exported.items() if n.startswith(prefix)}
    )
    one = make("lstm", form="carried")
    one.load_state_dict({n: p for n, p in ours.state_dict().items() if n in one.state_dict()})
    expected, _ = run_public(theirs, x, (hx[0][0], hx[1][0]))
    assert_close(one(x, tuple(s[:1] for s in hx))[0], expected)


def test_another_layout_is_refused():
    with pytest.raises(ValueError, match="got 'weight_ih_l0'; is it another cell"):
        from_fastrnns(nn.LSTM(IN, H).state_dict())
    with pytest.raises(ValueError, match="must hold weight_ih, got weight_hh"):
        from_fastrnns({"weight_hh": torch.ones(4 * H, H)})
    weights = PublicCell(IN, H).state_dict()
    del weights["layernorm_c.bias"]
    with pytest.raises(ValueError, match=r"(?s)do not fit.*layernorm_c_l0\.bias"):
        from_fastrnns(weights)
    with pytest.raises(ValueError, match="got form 'per_gate'"):
        to_fastrnns(LayerNormLSTM(IN, H, form="per_gate"))
