"""What records of section 6.7 come to: each norm at its best rate, the race, and the border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lnlib import compare
from lnlib.experiments import _arms
from lnlib.experiments._arms import Arm, Record, difference, faster, paired, race, shares
from lnlib.experiments.convnet import NORMS

# Plain as PyTorch starts it, plain with He's weights, and each norm.
ARMS = {
    "none": {"norm": "none", "initialization": "uniform"},
    "none, He's start": {"norm": "none", "initialization": "he"},
} | {norm: {"norm": norm, "initialization": "uniform"} for norm in NORMS[1:]}
KIND = ("data", "cut", "padding", "batch_size", "epochs", "channels", "train_cases")
LAYERS = (1, 2, 3)


def score(run: Record) -> np.ndarray:
    """Return the error on validation at each point, by which rates are chosen."""
    return np.array(run["curves"]["val_error"], float)


test_error = _arms.at_best(score, "test_error")


def updates(run: Record) -> np.ndarray:
    """Return how many updates were taken at each point."""
    each = run["data"]["cases"]["train"] // run["settings"]["batch_size"]
    return (np.array(run["curves"]["epoch"]) * each).round()


def kinds(records: Sequence[Record]) -> dict[tuple, list[Record]]:
    """Return records by what all arms share: data, size of the batch and more."""
    found: dict[tuple, list[Record]] = {}
    for run in records:
        key = tuple(str(run["settings"][name]) for name in KIND)
        found.setdefault(key, []).append(run)
    return found


def arms(records: Sequence[Record]) -> dict[str, Arm]:
    """Return the arms of records of one kind, each at its best rate."""
    return _arms.arms(records, ARMS, score)


def end(run: Record, name: str) -> float:
    """Return the last value of a curve."""
    return run["curves"][name][-1]


def border(arm: Arm, layer: int) -> np.ndarray:
    """Return how often units of the ring are on, as a share of the others' rate, one a seed."""
    return np.array([
        end(run, f"border_on_{layer}") / end(run, f"inner_on_{layer}") for run in arm.runs.values()
    ])  # fmt: skip


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed."""
    return "\n\n".join(_one(runs) for runs in kinds(records).values())


def _one(records: Sequence[Record]) -> str:
    first, found = records[0]["settings"], arms(records)
    cut = f", {first['cut']} pixels cut from each side" if first["cut"] else ""
    count = max(len(arm.runs) for arm in found.values())
    bounds = compare.bounds_name(count)
    lines = [
        f"{first['data']}, batch size {first['batch_size']}, {first['epochs']} epochs{cut}; "
        f"{count} seed{'s' * (count > 1)}, each arm at its best rate by validation error (*: the "
        "lowest or highest tried)",
        f"  {'':<17} {'rate':>7} {'test error':>11}   minus none's, points ({bounds})",
    ]
    none = found.get("none")
    for name, arm in found.items():
        errors = 100 * np.array([test_error(run) for run in arm.runs.values()])
        line = f"  {name:<17} {arm.rate:>6g}{'*' * arm.at_edge:<1} {errors.mean():9.2f} %"
        if none and name != "none":
            a, b = paired(arm, none, test_error)
            line += f"   {difference(100 * (a - b), digits=2)}"
        lines.append(line)
    if none:
        lines.append("Updates to none's best validation error, in percent of none's:")
        lines += [f"  {name:<17} {shares(race(none, arm, score, updates))}"
                  for name, arm in found.items() if name != "none"]  # fmt: skip
    lines.append("Claims of section 6.7:")
    lines += [f"  {claim}: {told}" for claim, told in claims(found).items()]
    return "\n".join(lines)


def claims(found: dict[str, Arm]) -> dict[str, Any]:
    """Return the paper's claims and the verdict on each."""
    verdicts = {}
    if {"none", "layer"} <= found.keys():
        needed = race(found["none"], found["layer"], score, updates)
        verdicts["layer norm offers a speedup over no norm"] = faster(needed)
    for name, arm in found.items() if "batch" in found else ():
        if name != "batch":
            a, b = paired(found["batch"], arm, test_error)
            verdicts[f"batch norm outperforms {name}"] = compare.verdict(a - b)
    for name, arm in found.items():
        if name in ("none", "layer"):
            for layer in LAYERS:
                verdicts[f"units at the border are more rarely on, {name}, layer {layer}"] = (
                    compare.verdict(border(arm, layer) - 1)
                )
    return verdicts
