"""Tables of records: groups of runs, and summaries over their seeds."""

from types import SimpleNamespace

import pytest

from lnlab.results_table import table, text


def run(norm, seed, *ends, **settings):
    curves = {"loss": [9.0, ends[0]], "rank": [99, ends[1]]}
    return {"settings": {"norm": norm} | settings, "seed": seed, "curves": curves}


def test_a_row_has_the_mean_and_the_range_of_its_seeds_at_the_end():
    runs = [run("layer", 0, 1.0, 4), run("none", 0, 5.0, None), run("layer", 3, 2.0, 10)]
    first, second = table(runs, ["norm"], ["rank", "loss"])
    assert first == {"norm": "layer", "seeds": 2, "rank": (7, 4, 10), "loss": (1.5, 1.0, 2.0)}
    assert (second["norm"], second["seeds"], second["loss"]) == ("none", 1, (5.0, 5.0, 5.0))
    assert all(value != value for value in second["rank"])  # not measured


def test_groups_can_be_formed_by_list_settings():
    runs = [run("layer", 0, 1.0, 1, hidden=h) for h in ([4, 4], [8])]
    assert [row["hidden"] for row in table(runs, ["norm", "hidden"], [])] == [[4, 4], [8]]
    with pytest.raises(ValueError, match=r"got layer with seeds \[0, 0\]; add the setting in"):
        table(runs, ["norm"], ["loss"])


def test_records_without_a_later_setting_are_a_separate_group():
    runs = [run("layer", 0, 1.0, 1), run("layer", 0, 3.0, 1, magnitude="fixed")]
    for records in (runs, runs[::-1]):
        rows = table(records, ["norm", "magnitude"], ["loss"])
        assert {(row["magnitude"], row["loss"][0]) for row in rows} == {(None, 1), ("fixed", 3)}
        experiment = SimpleNamespace(table=None, primary_metric="loss", unit=lambda name: "nats")
        assert text(experiment, records).startswith("magnitude")


def test_the_text_has_a_row_per_group_with_the_primary_metric():
    runs = [run("layer", 0, 1.0, 4, hidden=8), run("none", 0, 5.0, 12345, hidden=8),
            run("layer", 3, 2.0, 5, hidden=8)]  # fmt: skip
    described = SimpleNamespace(table=None, primary_metric="rank", unit={"rank": "places"}.get)
    assert text(described, runs).splitlines() == [
        "norm   seeds  rank (places)  lowest to highest",
        "layer  2      4.5            4 to 5",
        "none   1      1.234e+04      1.234e+04 to 1.234e+04",
    ]
    assert text(SimpleNamespace(table="builtins:len"), runs) == 3
