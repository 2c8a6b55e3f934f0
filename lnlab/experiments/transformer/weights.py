"""A recorded transformer, from the weights in its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lnlab.experiments._weights import NAMES, unpack
from lnlab.experiments.transformer import Settings
from lnlab.experiments.transformer.model import model
from lnlib.nn.transformer import Transformer


def restore(record: Mapping[str, Any], point: int = -1) -> tuple[Transformer, str]:
    """Return the model of a record with its weights, and its characters in their order.

    Args:
        record: As :func:`lnlab.records.read` returns it, of a run with ``ablate``.
        point: At which of the measuring points; the last by default.

    Raises:
        ValueError: If the record has no weights.

    Returns:
        The model, in ``eval()``; and the characters: the model's token k is the k-th of them.
    """
    arrays = record["arrays"]
    if "matrices" not in arrays:
        raise ValueError("restore: record must be of a run with ablate, this one kept no weights")
    recorded = {k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()}
    characters = "".join(map(chr, arrays["characters"][point]))
    packed = {name: arrays[name][point] for name in NAMES}
    return unpack(packed, model(Settings(**recorded), len(characters))).eval(), characters
