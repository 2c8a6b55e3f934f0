"""Settings and experiments: validation, help, units, names of records, sweeps and commands."""

import dataclasses
import math
from typing import Annotated, Literal

import pytest

from lnlab import config
from lnlab.config import Betas, Count, Finite, Fraction, NotNegative, Positive, Widths, field_spec
from lnlab.experiment import Experiment, Grid


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """What is chosen.

    Args:
        data: One of two,
            the first of which is there, as :func:`len` is.
        width: Of it, 5%.
        rate: ``None`` is looked up.
        wide: Or not.
        epochs: How many.
        first_epoch_points: How often.
    """

    data: Literal["here", "there"] = "here"
    width: Count = 3
    rate: Positive | None = None
    wide: bool = False
    epochs: Count = 1
    first_epoch_points: Count = 1

    def __post_init__(self):
        super().__post_init__()
        self._default("rate", 0.5)


@dataclasses.dataclass(frozen=True)
class Further(Settings):
    """More.

    Args:
        width: Of a further one.
    """

    width: Annotated[int, config.integer(2)] = 4


def make_experiment(**changes):
    return Experiment(**{
        "name": "made", "about": "made up", "paper": {"section": "0"}, "settings": Settings,
        "key": "w{width}-{rate}", "label": "{width}", "load": None, "run": None,
        "loss": ("error", "m"), "measures": {"gap": "m", "layer_#": "s"}, "primary_metric": "gap",
        "sweep_axes": {"width": (3, 4), "rate": lambda run: (run["width"] / 2,)},
    } | changes)  # fmt: skip


VALID = {
    Count: [(1, 1), (10**9, 10**9)],
    Annotated[int, config.integer(2)]: [(2, 2)],
    Positive: [(2, 2.0), (1e-300, 1e-300)],
    NotNegative: [(0, 0.0), (-0.0, 0.0)],
    Fraction: [(0, 0.0), (1, 1.0)],
    Finite: [(-3, -3.0)],
    Betas: [([0, 0.5], (0.0, 0.5))],
    Widths: [([8, 4], (8, 4)), ((1,), (1,))],
    Widths | None: [(None, None), ([2], (2,))],
    Positive | None: [(None, None), (3, 3.0)],
    Literal["a", "b"]: [("b", "b")],
    Literal["a", "b"] | None: [(None, None), ("a", "a")],
    bool: [(True, True)],
}
INVALID = {
    Count: [0, -1, 1.0, True, "1", 10**9 + 1, None],
    Annotated[int, config.integer(2)]: [1],
    Positive: [0, -0.0, math.nan, math.inf, "1", True, 10**400, None],
    NotNegative: [-1e-300, math.nan],
    Fraction: [1.0000001, -1e-9, math.nan],
    Finite: [math.inf, -math.inf, math.nan, "0"],
    Betas: [(0.9,), (0.9, 1.0), (0.9, 0.9, 0.9), 0.9, ("a", 0.5)],
    Widths: [(), (0,), (1.0,), 5, (True,)],
    Widths | None: [()],
    Positive | None: [0, "none"],
    Literal["a", "b"]: ["c", "", None, ["a"], 1],
    bool: [1, 0, "True", None],
}


@pytest.mark.parametrize("type_", VALID, ids=lambda type_: field_spec(type_).description)
def test_a_type_decides_which_values_are_valid_and_normalizes_them(type_):
    for value, normalized in VALID[type_]:
        assert field_spec(type_).is_valid(value)
        assert repr(field_spec(type_).normalize(value)) == repr(normalized)
    assert not any(field_spec(type_).is_valid(value) for value in INVALID.get(type_, ()))


def test_the_error_names_the_setting_the_allowed_values_and_the_value():
    with pytest.raises(ValueError, match=r"rate must be a positive number, or none, got 0"):
        Settings(rate=0)
    with pytest.raises(ValueError, match=r"width must be a whole number from 2 to .*, got 1"):
        Further(width=1)
    assert Settings(width=1, rate=2).as_dict() == {
        "data": "here", "width": 1, "rate": 2.0, "wide": False, "epochs": 1,
        "first_epoch_points": 1,
    }  # fmt: skip


def test_the_help_of_a_setting_comes_from_the_most_derived_docstring():
    text = config.field_help(Settings)
    assert text["data"] == "One of two, the first of which is there, as len is."
    assert config.field_help(Further) == text | {"width": "Of a further one."}


def test_defaults_can_differ_on_a_gpu():
    experiment = make_experiment(
        defaults={"epochs": 2, "seeds": 1}, on_gpu={"epochs": 8, "seeds": 4}
    )
    assert {s.epochs for s in experiment.settings_of({})} == {2}
    assert {s.epochs for s in experiment.settings_of({}, on_gpu=True)} == {8}
    assert {s.epochs for s in experiment.settings_of({"epochs": 3}, on_gpu=True)} == {3}
    grids = (Grid((0, 1), {"width": (3,)}), Grid((5,), {"wide": True}, on_gpu={"seeds": (6, 7)}))
    experiment = make_experiment(grids=grids)
    assert [(len(runs), seeds) for runs, seeds in experiment.book()] == [(1, (0, 1)), (2, (5,))]
    assert [(len(runs), seeds) for runs, seeds in experiment.book(on_gpu=True)] == [(2, (6, 7))]
