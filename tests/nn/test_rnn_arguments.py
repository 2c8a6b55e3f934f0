"""What the recurrent modules say of arguments that do not fit."""

import re

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from lnlib.nn import (
    LayerNormLSTM,
    LayerNormRNN,
    LayerNormRNNCell,
)
from tests.cases.modules import CELLS, IN, KINDS, B, H, T, each_kind, error_of, h

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


def unsorted():
    return pack_sequence([torch.ones(n, IN) for n in (2, T, 3)], enforce_sorted=False)


# A packed sequence that does not fit: PyTorch's LSTM lets it pass.
PACKED = {
    "features": lambda m: m(pack_sequence([torch.ones(T, IN + 1)])),
    "h": lambda m: m(pack_sequence([torch.ones(T, IN)]), h(m, 1, 2, H)),
    "h of more, unsorted": lambda m: m(unsorted(), h(m, 1, 7, H)),
    "h of fewer, unsorted": lambda m: m(unsorted(), h(m, 1, 1, H)),
    "h without batch, unsorted": lambda m: m(unsorted(), h(m, 1, H)),
}


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
    "layers of 2.0": ((IN, H, 2.0), {}),
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


@each_kind
@pytest.mark.parametrize(
    "options", [{"bidirectional": 2}, {"bias": "False"}, {"batch_first": None}], ids=str
)
def test_a_switch_is_true_or_false(kind, options):
    [(name, value)] = options.items()
    for module in (KINDS[kind], CELLS[kind]) if name == "bias" else (KINDS[kind],):
        with pytest.raises(TypeError, match=f"{name} must be True or False, got {value!r}"):
            module(IN, H, **options)


@each_kind
def test_layers_are_counted(kind):
    with pytest.raises(TypeError, match="num_layers must be an int, got float"):
        KINDS[kind](IN, H, 2.0)


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
