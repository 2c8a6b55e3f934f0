"""Size of recorded runs compared with the paper: units, glimpses, training and data."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Record = dict[str, Any]


class PaperScale(NamedTuple):
    """Size of a model and of its training in the paper.

    Attributes:
        units: Number of units of a hidden layer or state.
        data: What the book's training set has, if it is not the paper's: the name of the number in
            the records, and a noun.
        trained: The amount of training, if the paper, its code or a figure gives it: its unit, the
            number, and a function that returns the same number for a run.
        glimpses: Number of glimpses of DRAW.
    """

    units: int
    data: tuple[str, str] | None
    trained: tuple[str, float, Callable[[Record], float]] | None = None
    glimpses: int | None = None


def _updates(run: Record) -> float:
    return run["curves"]["epoch"][-1] * run["settings"]["updates_per_epoch"]


def _passes(run: Record) -> float:
    return _updates(run) * run["settings"]["batch_size"] / run["data"]["cases"]["train"]


def _caption_updates(run: Record) -> float:
    cases, batch = run["data"]["cases"], run["settings"]["batch_size"]
    rounds = cases["train_captions"] // cases["train_images"]
    return run["curves"]["epoch"][-1] * rounds * (cases["train_images"] // batch)


def _question_updates(run: Record) -> float:
    questions, batch = run["data"]["cases"]["train_questions"], run["settings"]["batch_size"]
    return run["curves"]["epoch"][-1] * (questions // batch)


PAPER = {
    # 100 epochs of 113,287 images in batches of 128, in the code that the paper modified.
    "order_embeddings": PaperScale(
        1024, ("train_images", "images"), ("code's updates", 88_500, _caption_updates)
    ),
    "attentive_reader": PaperScale(
        240, ("train_questions", "questions"), ("figure's updates", 800_000, _question_updates)
    ),
    "skip_thoughts": PaperScale(2400, ("train", "sentences"), ("updates", 1_000_000, _updates)),
    "draw": PaperScale(256, None, ("epochs", 200, _passes), glimpses=64),
    "handwriting": PaperScale(400, ("train_pieces", "pieces of lines")),
    "mnist": PaperScale(1000, None, ("epochs", 60, lambda run: run["curves"]["epoch"][-1])),
}


def relative(runs: Sequence[Record]) -> str:
    """Return the size of runs compared with the paper's, in words.

    Args:
        runs: Records. If they differ in length, glimpses or data, the range is named.
    """
    names = list(dict.fromkeys(run["experiment"] for run in runs))
    if len(names) > 1:
        return f"{len(names)} experiments, most smaller than the paper's"
    if names[0] not in PAPER:
        return "size not given in the paper" if names[0] == "convnet" else "not in the paper"
    paper, run = PAPER[names[0]], runs[0]
    hidden = run["settings"]["hidden"]
    units = hidden[0] if isinstance(hidden, list) else hidden
    parts = [f"{100 * units / paper.units:.0f}% of the paper's units"]
    if paper.glimpses:
        shares = [run["settings"]["glimpses"] / paper.glimpses for run in runs]
        parts.append(f"{_range(shares, _percent)}% of its glimpses")
    if paper.trained:
        unit, paper_amount, book_amount = paper.trained
        shares = [book_amount(run) / paper_amount for run in runs]
        parts.append(f"{_range(shares, _percent)}% of its {unit}")
    else:
        parts.append("length of its training not given")
    if paper.data:
        name, noun = paper.data
        sizes = [run["data"]["cases"][name] for run in runs]
        parts.append(f"other data: {_range(sizes, lambda size: f'{size:,}')} {noun}")
    else:
        parts.append("the same data")
    return ", ".join(parts)


def _range(values: Sequence[float], text: Callable[[float], str]) -> str:
    return " to ".join(dict.fromkeys((text(min(values)), text(max(values)))))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"
