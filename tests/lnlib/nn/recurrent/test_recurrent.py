"""The recurrent modules behave like those of torch.nn."""

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence
from torch.testing import assert_close

from tests.cases.modules import (
    CELLS,
    EXACT,
    IN,
    KINDS,
    B,
    H,
    T,
    draw,
    each_form,
    each_kind,
    each_path,
    error_of,
    make,
    randomize,
    start,
    states,
)


@each_form
def test_cells_accept_empty_batches(kind, form):
    cell = randomize(CELLS[kind](IN, H, dtype=torch.float64, form=form))
    x, hx = draw(B, IN), tuple(draw(2, B, H, seed=2)[: 1 + (kind == "lstm")])
    batch = states(kind, cell(x, hx if kind == "lstm" else hx[0]))
    alone = states(kind, cell(x[1], tuple(s[1] for s in hx) if kind == "lstm" else hx[0][1]))
    for a, b in zip(alone, batch, strict=True):
        assert_close(a, b[1], rtol=EXACT, atol=EXACT)


@each_form
def test_the_plain_path_can_be_differentiated_twice(kind, form):
    module = make(kind, form=form, implementation="plain")
    x = draw(3, 2, IN).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: module(x)[0], x, fast_mode=True)


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


@each_kind
@each_path
def test_an_empty_batch_has_gradients_of_zero(kind, implementation):
    module = make(kind, implementation=implementation, bidirectional=True)
    module(torch.ones(T, 0, IN, dtype=torch.float64))[0].sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in module.parameters())
    assert module.weight_ih_l0.grad is not None


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [(T, B, IN), (T, IN), (1, 1, IN), (T, 0, IN)], ids=str)
def test_shapes_equal_those_of_pytorch(pair, options, shape):
    ours, theirs = (kind(IN, H, **options) for kind in pair)
    x = torch.ones(shape)
    if options.get("batch_first") and 0 in shape:  # no time step
        assert type(error_of(lambda: ours(x))) is type(error_of(lambda: theirs(x))) is RuntimeError
        return
    assert shapes(ours(x)) == shapes(theirs(x))
    hx = theirs(x)[1]
    assert shapes(ours(x, hx)) == shapes(theirs(x, hx))


@each_path
@each_kind
def test_packed_sequences_equal_separate_sequences(kind, implementation):
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
def test_dropout_without_a_second_layer_is_warned_about_as_in_pytorch(kind):
    with pytest.warns(UserWarning, match="num_layers=1"):
        KINDS[kind](IN, H, dropout=0.5)


@pytest.mark.parametrize("one", [False, True], ids=["a batch", "one sequence"])
def test_lstm_states_can_be_lists(one):
    module, cell = make("lstm"), randomize(CELLS["lstm"](3, H).double())
    x, (h, c) = draw(T, B, 3), start("lstm")
    if one:
        x, h, c = x[:, 0], h[:, 0], c[:, 0]
    assert_close(module(x, [h, c]), module(x, (h, c)))
    assert_close(cell(x[0], [h[0], c[0]]), cell(x[0], (h[0], c[0])))
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(module(x, [h, c]), module(x, (h, c)))
