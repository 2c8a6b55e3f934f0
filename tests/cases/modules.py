"""The recurrent modules with random parameters."""

import pytest
import torch
from torch import nn

from lnlib.nn import (
    LayerNormGRU,
    LayerNormGRUCell,
    LayerNormLSTM,
    LayerNormLSTMCell,
    LayerNormRNN,
    LayerNormRNNCell,
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
    return randomize(module, seed)


def randomize(module, seed=0):
    """Draw all parameters at random, in place; gains are around 1."""
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


def h(module, *shape):
    zeros = torch.zeros(shape)
    return (zeros, zeros) if "LSTM" in type(module).__name__ else zeros


def error_of(run):
    try:
        run()
    except Exception as error:
        return error
    return None
