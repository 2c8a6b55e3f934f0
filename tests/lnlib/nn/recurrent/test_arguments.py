"""Errors of the recurrent modules for invalid arguments."""

import re

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from tests.cases.modules import CELLS, IN, KINDS, B, H, T, each_form, each_kind, error_of, h

MISTAKES = {
    "4D": lambda m: m(torch.ones(1, T, B, IN)),
    "features": lambda m: m(torch.ones(T, B, IN + 1)),
    "no steps": lambda m: m(torch.ones(0, B, IN)),
    "ints": lambda m: m(torch.ones(T, B, IN, dtype=int)),
    "h of another batch": lambda m: m(torch.ones(T, B, IN), h(m, 1, B + 1, H)),
    "h of another width": lambda m: m(torch.ones(T, B, IN), h(m, 1, B, H + 1)),
    "h with batch": lambda m: m(torch.ones(T, IN), h(m, 1, 1, H)),
}


def unsorted():
    return pack_sequence([torch.ones(n, IN) for n in (2, T, 3)], enforce_sorted=False)


# A packed sequence that does not fit; PyTorch's LSTM accepts it.
PACKED = {
    "features": lambda m: m(pack_sequence([torch.ones(T, IN + 1)])),
    "h": lambda m: m(pack_sequence([torch.ones(T, IN)]), h(m, 1, 2, H)),
    "h of more, unsorted": lambda m: m(unsorted(), h(m, 1, 7, H)),
    "h of fewer, unsorted": lambda m: m(unsorted(), h(m, 1, 1, H)),
    "h without batch, unsorted": lambda m: m(unsorted(), h(m, 1, H)),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_errors_are_the_same_as_in_pytorch(pair, mistake):
    ours, theirs = (error_of(lambda kind=kind: mistake(kind(IN, H))) for kind in pair)
    assert theirs is not None
    assert type(ours) is type(theirs)
    assert re.match(r"LayerNorm(RNN|LSTM|GRU): .*(got|the weights are)", str(ours))


@each_kind
@pytest.mark.parametrize("mistake", PACKED.values(), ids=PACKED)
def test_packed_sequences_are_checked(kind, mistake):
    with pytest.raises(RuntimeError, match=r"must be.*got"):
        mistake(KINDS[kind](IN, H))


SIZES = {
    "too many": [2, 2, 2, 2, 2],
    "too few": [2, 2],
    "growing": [1, 1, 1, 2, 2],
    "negative": [8, -1],
    "zero": [7, 0],
    "none": [],
}


@each_kind
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_sizes_of_packed_sequences_are_checked(kind, sizes):
    packed = PackedSequence(torch.ones(7, IN), torch.tensor(sizes, dtype=int))
    with pytest.raises(RuntimeError, match=r"batch_sizes.* its 7 rows, got \[.*pack_sequence"):
        KINDS[kind](IN, H, implementation="plain")(packed)


@each_kind
def test_the_order_of_packed_sequences_is_checked(kind):
    packed = PackedSequence(torch.ones(6, IN), torch.tensor([3, 2, 1]), torch.tensor([0]))
    module = KINDS[kind](IN, H, implementation="plain")
    with pytest.raises(RuntimeError, match=r"sorted_indices.* 3 .*got 1"):
        module(packed, h(module, 1, 3, H))


def shapes(module):
    """Every parameter with wrong shapes for it."""
    for name, p in module.named_parameters():
        n, *rest = p.shape
        yield from ((name, shape) for shape in ((1, *rest), (n + 4, *rest), (n, *rest, 1), (n, 9)))


@each_form
def test_wrong_parameter_shapes_are_named_in_the_error(kind, form):
    module = KINDS[kind](IN, H, form=form, bidirectional=True, implementation="plain")
    for name, shape in shapes(module):
        wrong = {name: torch.zeros(shape)}
        match = rf"{re.escape(name)} must be of shape .*, got {re.escape(str(shape))}; .* build"
        with pytest.raises(RuntimeError, match=match):
            torch.func.functional_call(module, wrong, torch.ones(T, B, IN))


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
def test_invalid_modules_raise_errors_as_in_pytorch(pair, args, options):
    ours, theirs = (error_of(lambda kind=kind: kind(*args, **options)) for kind in pair)
    if (args, options) == WRONG["no inputs"] and theirs is None:
        theirs = ValueError()  # PyTorch builds it
    assert type(ours) is type(theirs)


OPTIONS = {
    ("bias_init", "ones"): (ValueError, "must be one of zeros, uniform"),
    ("recurrent_init", "zeros"): (ValueError, "must be one of uniform, orthogonal"),
    ("implementation", "fast"): (ValueError, "must be one of auto"),
    ("nonlinearity", "selu"): (ValueError, "must be 'tanh' or 'relu', got 'selu'"),
    ("bidirectional", 2): (TypeError, "must be True or False, got 2"),
    ("bias", "False"): (TypeError, "must be True or False, got 'False'"),
    ("batch_first", None): (TypeError, "must be True or False, got None"),
}


@each_kind
@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option[0])
def test_invalid_options_are_named_in_the_error(kind, option):
    name, (error, match) = option[0], OPTIONS[option]
    if name == "nonlinearity" and kind != "rnn":
        pytest.skip("has no such choice")
    of_both = name in ("bias", "bias_init", "recurrent_init", "nonlinearity")
    for module in (KINDS[kind], CELLS[kind]) if of_both else (KINDS[kind],):
        with pytest.raises(error, match=f"{name} {match}"):
            module(IN, H, **{name: option[1]})


@each_kind
def test_arguments_that_are_not_tensors_are_named_in_the_error(kind):
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
def test_cells_raise_the_same_errors_as_pytorchs(kind, mistake):
    theirs = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}[kind]
    ours, theirs = (error_of(lambda m=m: mistake(m(IN, H))) for m in (CELLS[kind], theirs))
    assert theirs is not None
    assert type(ours) is type(theirs)
