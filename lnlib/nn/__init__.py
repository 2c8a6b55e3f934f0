"""Layer normalization as PyTorch modules, drop-in for those of ``torch.nn``."""

from importlib.util import find_spec

from lnlib import _install

# Asked before the import, so that a PyTorch that is there but broken still says what broke.
if find_spec("torch") is None:
    raise ImportError(f"lnlib.nn needs PyTorch; install it with: {_install.command()}")

from lnlib.nn.adaptive import AdaptiveLayerNorm, DynamicTanh
from lnlib.nn.convert import fold_norm, from_fastrnns, rms_from_layer_norm, to_fastrnns
from lnlib.nn.norm import LayerNorm, RMSNorm
from lnlib.nn.parallel import ParallelLayerNorm, ParallelRMSNorm
from lnlib.nn.parameters import no_decay_groups, to_torch_names
from lnlib.nn.recurrent import (
    LayerNormGRU,
    LayerNormGRUCell,
    LayerNormLSTM,
    LayerNormLSTMCell,
    LayerNormRNN,
    LayerNormRNNCell,
)

__all__ = [
    "AdaptiveLayerNorm",
    "DynamicTanh",
    "LayerNorm",
    "LayerNormGRU",
    "LayerNormGRUCell",
    "LayerNormLSTM",
    "LayerNormLSTMCell",
    "LayerNormRNN",
    "LayerNormRNNCell",
    "ParallelLayerNorm",
    "ParallelRMSNorm",
    "RMSNorm",
    "fold_norm",
    "from_fastrnns",
    "no_decay_groups",
    "rms_from_layer_norm",
    "to_fastrnns",
    "to_torch_names",
]
