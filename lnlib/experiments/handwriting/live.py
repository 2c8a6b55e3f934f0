"""A trained network of a record, which writes what a reader types."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from lnlib.experiments._weights import NAMES, unpack
from lnlib.experiments.handwriting import Settings
from lnlib.experiments.handwriting.model import Writer, Written

LONGEST = 40  # characters of a text


@dataclasses.dataclass(frozen=True)
class Pen:
    """A trained network and the characters it was taught.

    Args:
        model: As it was at the end of its run.
        characters: The k-th of them is the k-th number of a character's vector.
    """

    model: Writer
    characters: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Pen:
        """Restore the network of a record that has kept its weights, as it was in the end.

        Args:
            record: As :func:`lnlib.runs.record.read` returns it, of a run with ``keep``.

        Raises:
            ValueError: If the record has no weights, or its run exploded.
        """
        arrays = record["arrays"]
        if "matrices" not in arrays:
            raise ValueError("Pen: record must be of a run with keep, this one kept no weights")
        told = {k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()}
        characters = "".join(map(chr, arrays["characters"][-1]))
        packed = {name: arrays[name][-1] for name in NAMES}
        model = unpack(packed, Writer(Settings(**told), len(characters)))
        if not all(p.isfinite().all() for p in model.parameters()):
            raise ValueError("Pen: record must be of a run that did not explode; take another")
        return cls(model.eval(), characters)

    @torch.no_grad()
    def write(self, text: str, count: int, *, seed: int = 0) -> Written:
        """Write a text, ``count`` points, drawn by a seed.

        Raises:
            ValueError: If it is empty, too long, or has a character that training never had.
        """
        if not 1 <= len(text) <= LONGEST:
            raise ValueError(f"write: text must have 1 to {LONGEST} characters, got {len(text)}")
        if unknown := sorted(set(text) - set(self.characters)):
            raise ValueError(
                f"write: text must be of characters that training had, got "
                f"{' '.join(map(repr, unknown))}; use only {self.characters!r}"
            )
        places = torch.tensor([[self.characters.index(c) for c in text]])
        coded = torch.nn.functional.one_hot(places, len(self.characters)).float()
        return self.model.write(coded, count, torch.Generator().manual_seed(seed))
