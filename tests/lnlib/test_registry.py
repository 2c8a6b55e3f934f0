"""The tables of norms and forms, and every list that has to be theirs."""

import inspect

import numpy as np
import pytest

import lnlib
from lnlab.experiments.mnist.steps import compiled
from lnlab.experiments.sequential_mnist import FORMS as SEQUENCE_FORMS
from lnlib import cells, invariance, nn, registry

PAPER = {name for name, norm in registry.NORMS.items() if norm.paper}


def test_every_norm_has_a_row_a_function_and_a_gradient():
    functions = {name.removesuffix("_norm") for name in lnlib.__all__ if name.endswith("_norm")}
    functions = {name.removeprefix("adaptive_") for name in functions}  # the same, another's gain
    assert functions == set(registry.NORMS) - {"none"}
    assert all(callable(getattr(lnlib, f"{name}_norm_backward")) for name in functions)


def test_the_norms_of_the_paper_are_those_of_its_table():
    assert set(invariance.TABLE_1) == PAPER


def test_the_compiled_step_knows_the_papers_norms():
    assert set(compiled.NORMS) == PAPER | {"none"}


@pytest.mark.parametrize("cell", registry.CELLS)
def test_a_step_in_numpy_has_the_forms_of_the_table(cell):
    gates, states, table = registry.CELLS[cell]
    step = getattr(cells, f"{cell}_step")
    x, h = np.ones((2, 3)), np.ones((2, 4))
    params = {"W_ih": np.ones((gates * 4, 3)), "W_hh": np.ones((gates * 4, 4))}
    state = h if states == 1 else (h, h)
    with pytest.raises(ValueError, match=f"form must be one of {', '.join(table)}; got 'other'"):
        step(x, state, params, form="other")
    for name, form in table.items():
        own = {f"gain_{place}": np.ones(span * 4) for place, span in form.norms.items()}
        own |= {"b": np.ones(gates * 4)} if form.bias else {}
        step(x, state, params | own, form=name)
        assert f"``{name}``" in inspect.getdoc(cells)


@pytest.mark.parametrize("cell", registry.CELLS)
def test_a_module_has_the_forms_of_layer_norm(cell):
    layer = tuple(name for name, form in registry.CELLS[cell][2].items() if form.norm == "layer")
    assert SEQUENCE_FORMS[cell] == layer
    for kind in (f"LayerNorm{cell.upper()}", f"LayerNorm{cell.upper()}Cell"):
        with pytest.raises(
            ValueError, match=f"form must be one of {', '.join(layer)}; got 'plain'"
        ):
            getattr(nn, kind)(3, 4, form="plain")
