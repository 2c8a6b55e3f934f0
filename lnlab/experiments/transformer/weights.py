"""A recorded transformer with the weights in its record."""

from collections.abc import Mapping
from typing import Any

from lnlab.experiments._weights import NAMES, unpack
from lnlab.experiments.transformer import Settings
from lnlab.experiments.transformer.run import model
from lnlib.nn.transformer import Transformer


def restore(record: Mapping[str, Any], point: int = -1) -> tuple[Transformer, str]:
    """Return the model of a record with its weights, and its characters in order.

    Args:
        record: A record of a run with ``ablate``, as :func:`lnlab.records.read` returns it.
        point: Index of the measuring point; the last one by default.

    Raises:
        ValueError: If the record has no weights.

    Returns:
        The model, in eval mode, and the characters in the order of the model's tokens.
    """
    arrays = record["arrays"]
    if "matrices" not in arrays:
        raise ValueError("restore: record must be of a run with ablate; this one has no weights")
    characters = "".join(map(chr, arrays["characters"][point]))
    packed = {name: arrays[name][point] for name in NAMES}
    return unpack(packed, model(Settings(**record["settings"]), len(characters))).eval(), characters
