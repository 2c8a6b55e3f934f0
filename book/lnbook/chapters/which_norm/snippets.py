"""PyTorch code for the answers of the chooser, to be copied."""

from collections.abc import Mapping
from dataclasses import dataclass

from lnbook.figures.css_filter import shown


@dataclass(frozen=True)
class Snippet:
    """Code, and the choices under which it is shown.

    Args:
        code: The code to copy, which runs by itself.
        when: Maps a group of the chooser to the values for which it is the answer.
    """

    code: str
    when: Mapping[str, tuple[str, ...]]


BLOCK = """\
import torch
from torch import nn


class Block(nn.Module):  # pre-norm: the residual path has no norm
    def __init__(self, channels, attention, feed_forward):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_1 = {norm}(channels, eps=1e-5)
        self.norm_2 = {norm}(channels, eps=1e-5)

    def forward(self, x):  # (batch, tokens, channels)
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))


# After the last block comes one more {norm}(channels, eps=1e-5).
"""
GROUP_NORM = """\
from torch import nn


def block(in_channels, out_channels, groups=32):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1),
        nn.GroupNorm(groups, out_channels, eps=1e-5),
        nn.ReLU(),
    )
"""
BATCH_NORM = """\
from torch import nn


def block(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(out_channels, eps=1e-5),
        nn.ReLU(),
    )


# Before inference call model.eval(), and test the model in this mode.
"""
CHANNELS = """\
from torch import nn


class ChannelNorm(nn.Module):  # over the channels of each position
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-5)

    def forward(self, x):  # (batch, channels, *positions)
        return self.norm(x.movedim(1, -1)).movedim(-1, 1)


def block(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv1d(in_channels, out_channels, 3, padding="same"),
        ChannelNorm(out_channels),
        nn.ReLU(),
    )
"""
RECURRENT = """\
from lnlib.nn import LayerNormLSTM  # like nn.LSTM; LayerNormGRU like nn.GRU

rnn = LayerNormLSTM(64, 256, batch_first=True)
"""
MLP = """\
from torch import nn


def block(in_features, out_features):
    return nn.Sequential(
        nn.Linear(in_features, out_features),
        {norm}(out_features, eps=1e-5),
        nn.ReLU(),
    )
"""
WEIGHT_DECAY = """

def parameter_groups(model, weight_decay=0.1):
    \"\"\"Exclude gains and biases from weight decay.\"\"\"
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
"""
LOADED = """\
import torch


def check(model, path, x, expected):
    \"\"\"Load a checkpoint, and compare with an output of the original model.\"\"\"
    model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()
    with torch.no_grad():  # another eps or kind of norm loads without an error
        torch.testing.assert_close(model(x), expected, rtol=1e-3, atol=1e-3)
"""


def _new(code: str, **when: str) -> Snippet:
    conditions = {group: tuple(values.split()) for group, values in when.items()}
    return Snippet(code + WEIGHT_DECAY, {"weights": ("new",), **conditions})


SNIPPETS = (
    Snippet(LOADED, {"weights": ("loaded",)}),
    _new(BLOCK.format(norm="nn.RMSNorm"), data="text"),
    _new(BLOCK.format(norm="nn.LayerNorm"), data="image"),
    _new(GROUP_NORM, data="conv", sequence="one", batch="small"),
    _new(BATCH_NORM, data="conv", sequence="one", batch="large"),
    _new(CHANNELS, data="conv", sequence="padded streamed"),
    _new(RECURRENT, data="rnn"),
    _new(MLP.format(norm="nn.LayerNorm"), data="table", batch="small"),
    _new(MLP.format(norm="nn.BatchNorm1d"), data="table", batch="large"),
)


def snippet(**chosen: str) -> Snippet:
    """Return the code for a choice."""
    (result,) = (candidate for candidate in SNIPPETS if shown(candidate.when, chosen))
    return result
