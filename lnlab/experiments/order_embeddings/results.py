"""Comparison of the runs of section 6.1, by validation recall, and the measures of table 2.

As in the paper's public code, a run is evaluated at its highest sum of Recall@1, 5 and 10 of image
retrieval on validation. The learning rate of each norm is the one with the best mean of this sum.
"""

from collections.abc import Sequence

import numpy as np

from lnlab.experiments._arms import Arm, Record
from lnlab.experiments._task import LAYER, NO_NORM, Measure, Row, Task, curve
from lnlab.experiments.order_embeddings import BOOK, CUTS, Settings, updates_per_epoch

RETRIEVAL_TASKS = {"image": "image retrieval", "caption": "caption retrieval"}


def scores(run: Record) -> np.ndarray:
    """Return the sum of Recall@1, 5 and 10 of images on validation, in percent."""
    return 100 * sum(curve(run, f"val_image_recall_{k}") for k in CUTS)


def _measures() -> list[Measure]:
    results = []
    for retrieved, description in RETRIEVAL_TASKS.items():
        for k in CUTS:
            name = f"test_{retrieved}_recall_{k}"
            results.append(
                Measure(
                    f"{description}, R@{k} (%)",
                    lambda run, n=name: 100 * TASK.at_best(run, n),
                    better=1,
                )
            )
        name = f"test_{retrieved}_mean_rank"
        results.append(
            Measure(f"{description}, mean rank", lambda run, n=name: TASK.at_best(run, n))
        )
    return results


TASK = Task(
    settings=lambda: Settings(**BOOK),
    score=lambda run: -scores(run),
    score_name="validation recall",
    arms={NO_NORM: {"norm": "none"}, LAYER: {"norm": "layer", "gain": 1.0}},
    measures=_measures(),
    per_epoch=lambda run: updates_per_epoch(
        run["data"]["cases"]["train_images"], run["settings"]["batch_size"]
    ),
    unit="%",
    factor=-1,
)


def at_best_rates(records: Sequence[Record]) -> dict[str, Arm]:
    """Return both norms at their best learning rates, from the group with the fewest changes.

    Raises:
        ValueError: If a norm has no runs, or two runs with the same learning rate and seed.
    """
    groups = TASK.run_groups(records)
    result = TASK.at_best_rates(groups[0][1]) if groups else {}
    if len(result) < 2 or not result[NO_NORM].runs.keys() & result[LAYER].runs.keys():
        raise ValueError(
            "at_best_rates: records must contain every seed for both norms, got "
            f"{len(records)} seeds with only one; record more"
        )
    return result


def rows(records: Sequence[Record]) -> list[Row]:
    """Return table 2: the measures on test images where the validation score is best."""
    result = at_best_rates(records)
    return TASK.rows(result[NO_NORM], result[LAYER])
