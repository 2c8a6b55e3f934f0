"""The recurrent modules: against the NumPy cells, and as those of torch.nn."""

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence
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
    numpy_params,
    randomize,
    run_numpy,
    start,
    states,
)

# Against the NumPy cells.


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
    cell = randomize(CELLS[kind](IN, H, dtype=torch.float64, form=form))
    x, hx = draw(B, IN), tuple(draw(2, B, H, seed=2)[: 1 + (kind == "lstm")])
    actual = states(kind, cell(x, hx if kind == "lstm" else hx[0]))
    _, expected = run_numpy(kind, form, numpy_params(cell, ""), x[None], hx)
    for a, e in zip(actual, expected, strict=True):
        assert_close(a.detach().numpy(), e, rtol=EXACT, atol=EXACT)
    alone = states(kind, cell(x[1], tuple(s[1] for s in hx) if kind == "lstm" else hx[0][1]))
    for a, e in zip(alone, expected, strict=True):
        assert_close(a.detach().numpy(), e[1], rtol=EXACT, atol=EXACT)


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
def test_shapes_are_those_of_torch(pair, options, shape):
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
