"""Readouts of the sphere compared with lnlib: sentences and table."""

import numpy as np
import pytest

import lnlib
from lnbook.widgets.sphere import WEB
from tests.book.test_sphere_page import STATE
from tests.cases.readouts import check_says

SCRIPTS = WEB, "lnSphereScene"


@pytest.mark.parametrize("stage", [0, 1.5, 2, 3])
@pytest.mark.parametrize("eps", [0, 0.2])
def test_sentences_of_all_stages_state_the_numbers_of_the_point(scripts, stage, eps):
    for a in np.random.default_rng(3).uniform(-2, 2, size=(5, 3)).round(2):
        given = dict(zip(("a1", "a2", "a3"), a.tolist(), strict=True))
        text = scripts.evaluate(
            "(s) => lnSphereScene.say(s)", STATE | given | {"eps": eps, "stage": stage}
        )
        mean, sigma = (f"{v:.2f}".replace("-", "−") for v in (a.mean(), a.std()))
        short = f"{3**0.5 - np.linalg.norm(lnlib.layer_norm(a, eps=eps)):.2f}"
        at_the_norm = [mean, f"{eps:.2f}", short, sigma] if eps else [mean, sigma]
        numbers = (
            ["√3", mean] if stage < 1 else [mean, "√3", sigma] if stage < 2
            else at_the_norm if stage == 2 else []
        )  # fmt: skip
        check_says(text, *numbers)


def as_number(cell):
    return float(cell.rpartition(" ")[2].replace("−", "-"))


@pytest.mark.parametrize("eps", [0, 0.01, 0.5])
def test_cells_of_the_table_contain_the_quantity_of_their_row(scripts, eps):
    """σ is the standard deviation of a, without eps; the removed parts are projections of d."""
    a, d = np.array([0.4, -0.3, 0.2]), np.array([1.3, -0.6, -1.4])
    gain, bias = (np.array(scripts.evaluate(f"lnSphereScene.{name}")) for name in ("GAIN", "BIAS"))
    hat = lnlib.layer_norm(a, eps=eps)
    dx = lnlib.layer_norm_backward(d, a, eps=eps)[0]
    norm = np.linalg.norm
    forward = {
        "a": (a, f"μ = {a.mean():.2f}"), "a − μ": (a - a.mean(), f"σ = {a.std():.2f}"),
        "â": (hat, f"norm {norm(hat):.2f}"), "y": (gain * hat + bias, "gain, bias"),
    }  # fmt: skip
    ones, along = np.full(3, d.mean()), hat * (d @ hat) / 3
    back = {
        "d": (d, f"norm {norm(d):.2f}"), "along 1": (ones, f"removed {norm(ones):.2f}"),
        "along â": (along, f"removed {norm(along):.2f}"), "dx": (dx, f"norm {norm(dx):.2f}"),
    }  # fmt: skip
    given = dict(zip(("a1", "a2", "a3", "d1", "d2", "d3"), [*a, *d], strict=True))
    for gradient, expected in ((False, forward), (True, back)):
        state = STATE | given | {"eps": eps, "gradient": gradient}
        rows = scripts.evaluate("(s) => lnSphereScene.numbers(s)", state)
        assert [row[1] for row in rows] == [*expected]
        for _, name, *cells, last in rows:
            values, more = expected[name]
            assert [as_number(cell) for cell in cells] == pytest.approx(values, abs=0.0051), name
            assert last.replace("−", "-") == more, name
