"""Input and output dtypes of PyTorch's normalization layers."""

import itertools
import json
import warnings
from pathlib import Path

import torch
from torch import nn

SOURCE = Path(__file__).with_name("cuda.json")
# 8 features and a batch of 4; batch norm with batch statistics and with running averages.
LAYERS = {
    "nn.LayerNorm": lambda: nn.LayerNorm(8),
    "nn.RMSNorm": lambda: nn.RMSNorm(8),
    "nn.GroupNorm": lambda: nn.GroupNorm(2, 8),
    "nn.BatchNorm1d": lambda: nn.BatchNorm1d(8),
    "nn.BatchNorm1d.eval": lambda: nn.BatchNorm1d(8).eval(),
    "nn.Linear": lambda: nn.Linear(8, 8),
}
DTYPES = torch.float32, torch.float16, torch.bfloat16
AUTOCAST = None, torch.float16, torch.bfloat16


def observe(device: str = "cpu") -> dict[tuple[str, str, str, str], str]:
    """Run every layer with every combination of dtypes.

    Args:
        device: The device, ``"cpu"`` or ``"cuda"``.

    Returns:
        Maps (layer, dtype of its weights, dtype of autocast or ``"off"``, dtype of its input) to
        the dtype of its output, or to the first line of the error.
    """
    results = {}
    for name, weights, cast, input_dtype in itertools.product(LAYERS, DTYPES, AUTOCAST, DTYPES):
        layer = LAYERS[name]().to(device, weights)
        x = torch.randn(4, 8, device=device).to(input_dtype)
        with (
            torch.autocast(device, cast or torch.bfloat16, enabled=cast is not None),
            warnings.catch_warnings(action="ignore"),  # about a kernel that is not fused
        ):
            try:
                output = _short(layer(x).dtype)
            except RuntimeError as error:
                output = f"{type(error).__name__}: {error}".splitlines()[0]
        results[name, _short(weights), _short(cast) if cast else "off", _short(input_dtype)] = (
            output
        )
    return results


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def recorded() -> dict:
    """Return the recorded result of :func:`observe` on a GPU, with its provenance."""
    read = json.loads(SOURCE.read_text("utf-8"))
    return read | {"found": {tuple(line[:-1]): line[-1] for line in read["found"]}}
