"""What leaves the output unchanged: figures against torch and loops, sentences against numbers."""

import numpy as np
import pytest

from lnbook.chapters.invariances import names, one_layer, whole_table
from lnlib.invariance import TABLE_1, TRANSFORMS

CELLS = [(norm, name) for norm in TABLE_1 for name in TABLE_1[norm]]


def y_of(trace):
    return np.array(trace.y, dtype=float)


# One small layer.


@pytest.mark.parametrize(("norm", "name"), CELLS)
@pytest.mark.parametrize("strength", one_layer.STRENGTHS)
def test_points_lie_on_the_dotted_line_where_the_table_says_invariant(norm, name, strength):
    outputs = one_layer.draw_change(norm, name, strength)[2]
    off = max(np.abs(y_of(t) - np.array(t.x, float)).max() for t in outputs.data[1:])
    assert (off < 1e-9) == TABLE_1[norm][name]
    text = one_layer.describe_change(norm, name, strength)
    assert ("no output changes" in text) == TABLE_1[norm][name]
    assert text.endswith(f"Table 1 says: {'Invariant' if TABLE_1[norm][name] else 'No'}.")


def test_the_outputs_are_hidden_until_they_are_asked_for():
    hidden = one_layer.draw_change("layer", "dataset_rescaling", 2.0, reveal=False)[2]
    assert all(trace.name is None for trace in hidden.data)  # the dotted lines
    assert hidden.layout.annotations[0].text == "?"
    text = one_layer.describe_change("layer", "dataset_rescaling", 2.0, reveal=False)
    assert text.endswith("Predict, then reveal.")
    assert "Table 1" not in text


# Table 1.


def test_the_verdicts_are_the_papers():
    rows = whole_table.verdicts().rows
    assert [row[0].lower() for row in rows] == [names.NAMES[name] for name in TRANSFORMS[:6]]
    for name, (_, *cells) in zip(TRANSFORMS[:6], rows, strict=True):
        assert cells == [
            "✓ invariant" if TABLE_1[norm][name] else "✗ changes"
            for norm in ("batch", "weight", "layer")
        ]
