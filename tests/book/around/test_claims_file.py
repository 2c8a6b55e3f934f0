"""The file of all claims and the tables beside the paper's, written from synthetic records."""

import importlib.util
import json
import re
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cases import oracle, protocol, toy_records
from tests.lnlab.claims import truth

SOURCE = Path(__file__).parents[3] / "book/_ext/claims_file.py"
EXPERIMENTS = ("draw", "handwriting", "order_embeddings")


@pytest.fixture(scope="module")
def extension():
    spec = importlib.util.spec_from_file_location("claims_file", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def records():
    return [run for run in truth.records("later") if run["experiment"] in EXPERIMENTS]


@pytest.fixture
def app(records, tmp_path):
    """A book whose records are known, and where it is built."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "html").mkdir()
    toy_records.write(records, tmp_path / "runs")
    (tmp_path / "html" / "claims.html").write_text("the page")
    return SimpleNamespace(srcdir=tmp_path, outdir=tmp_path / "html",
                           builder=SimpleNamespace(format="html"))  # fmt: skip


def test_the_file_has_the_differences_of_the_records_and_of_no_others(extension, app):
    extension.write_json(app, None)
    content = json.loads((app.outdir / "claims.json").read_text("utf-8"))
    results = {one["name"]: one for one in content["claims"]}
    for name in ("draw-bound", "pen-comparable", "table-2"):
        answers = truth.expected(name, "later")
        for finding, answer in zip(results[name]["findings"], answers, strict=True):
            np.testing.assert_allclose(finding["differences"], answer.differences, rtol=1e-5)
    for name in ("reader-faster", "skip-better", "robust"):
        label = results[name]["label"]
        assert (results[name]["findings"], label["reason"]) == ([], "not recorded yet")


def mean(arm, value):
    runs = oracle.arm(truth.records("later"), "draw", arm, "main")
    return fmean(value(run) for run in runs.values())


def test_a_mark_becomes_a_table_with_the_papers_numbers_before_those_here(extension, app):
    source = ["Before.\n\n<!-- here: figure-4 -->\n\nAfter.\n"]
    extension.insert_tables(app, "equations", source)
    before, table, after = source[0].split("\n\n", 1)[0], source[0], source[0].rstrip()[-6:]
    assert (before, after) == ("Before.", "After.")
    assert "<!--" not in table
    head, rule, bound, updates = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in table.splitlines() if line.startswith("|")
    ]  # fmt: skip
    assert head[1:] == [
        f"{where}, {norm}" for where in ("Paper", "Here") for norm in ("no norm", "layer norm")
    ]
    assert rule == ["---"] * 5
    assert bound[1:3] == ["82.36", "82.09"]  # of the paper's text
    here = [mean(arm, lambda run: run["curves"]["test_bound_of_all"][-1])
            for arm in ("none", "layer")]  # fmt: skip
    np.testing.assert_allclose([float(v) for v in bound[3:]], here, atol=0.0051)
    arms = (oracle.arm(truth.records("later"), "draw", arm, "main") for arm in ("none", "layer"))
    *_, ratios = protocol.ratios(*arms, oracle.score, oracle.updates)
    assert updates[3:] == ["100%", f"{fmean(ratios):.0%}"]


def test_only_tables_with_the_papers_numbers_are_laid_out_as_paper_above_and_book_below(
    extension, app, monkeypatch
):
    norms = [["error", "batch norm", "layer norm"], ["batches of 4", "2", "1"]]
    monkeypatch.setattr(extension.figure_6, "table", lambda records: norms)
    source = ["<!-- here: figure-4 -->\n\n<!-- here: figure-6 -->\n"]
    extension.insert_tables(app, "equations", source)
    compared, own = re.findall(r"^:class: (.*)$", source[0], re.M)
    assert "ln-here" in compared.split()
    assert own == "ln-rows"  # its cells get the names of its columns
