"""Parameters of recurrent modules: initialization, dtypes, weights from other code."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from lnlib.nn import (
    LayerNormLSTM,
    from_fastrnns,
    to_fastrnns,
)
from tests.cases.modules import (
    EXACT,
    IN,
    KINDS,
    B,
    H,
    T,
    draw,
    each_form,
    each_kind,
    make,
    randomize,
    start,
    states,
)

# Parameters.


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


@each_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_dtypes_are_preserved_and_accurate(kind, dtype):
    module = make(kind)
    x = draw(T, B, IN).to(dtype)
    low = copy.deepcopy(module).to(dtype)
    exact = copy.deepcopy(low).double()(x.double())[0]
    output, last = low(x)
    assert {output.dtype, *(s.dtype for s in states(kind, last))} == {dtype}
    # Errors of a step feed the next: ten times the rounding of the dtype; measured 2.6 times.
    assert (output.double() - exact).abs().max() < 10 * torch.finfo(dtype).eps


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
def test_weights_of_the_public_layout_give_the_same_outputs(prefix):
    theirs = randomize(PublicCell(IN, H).double())
    ours = from_fastrnns({prefix + n: p for n, p in theirs.state_dict().items()})
    x, (h_0, c_0) = draw(T, B, IN), start("lstm")
    output, (h_n, c_n) = ours(x, (h_0, c_0))
    expected, (h_t, c_t) = run_public(theirs, x, (h_0[0], c_0[0]))
    assert_close((output, h_n[0], c_n[0]), (expected, h_t, c_t), rtol=EXACT, atol=EXACT)
    # The paper's network is another one.
    other = from_fastrnns(theirs.state_dict(), form="paper")
    assert (other(x, (h_0, c_0))[0] - expected).abs().max() > 0.1


def test_other_layouts_raise_an_error():
    with pytest.raises(ValueError, match="got 'weight_ih_l0'; is it another cell"):
        from_fastrnns(nn.LSTM(IN, H).state_dict())
    with pytest.raises(ValueError, match="must contain weight_ih, got weight_hh"):
        from_fastrnns({"weight_hh": torch.ones(4 * H, H)})
    weights = PublicCell(IN, H).state_dict()
    del weights["layernorm_c.bias"]
    with pytest.raises(ValueError, match=r"(?s)do not fit.*layernorm_c_l0\.bias"):
        from_fastrnns(weights)
    with pytest.raises(ValueError, match="got form 'per_gate'"):
        to_fastrnns(LayerNormLSTM(IN, H, form="per_gate"))
    for form in ("paper", "carried"):
        with pytest.raises(ValueError, match=f"got form '{form}' and bias=False"):
            to_fastrnns(LayerNormLSTM(IN, H, form=form, bias=False))
