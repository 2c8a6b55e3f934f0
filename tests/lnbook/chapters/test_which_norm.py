"""The chooser answers every question once, and the table has its sources."""

import datetime
import json
import re
from pathlib import Path

import nbformat
import pytest
import torch

import lnbook
from lnbook.chapters.which_norm import by_year, chooser, models, snippets
from lnbook.figures import css_filter

BOOK = Path(lnbook.__file__).parent.parent
RAW = json.loads((BOOK / "lnbook/chapters/which_norm/models.json").read_text("utf-8"))["models"]
MODELS = [pytest.param(model, id=model.model) for model in models.MODELS]


def test_every_choice_has_one_answer_per_aspect_and_code_and_every_answer_occurs():
    choices = list(chooser.every_choice())
    assert len(choices) == 2 * 5 * 2 * 3 * 2 * 3 * 3
    for chosen in choices:
        given = [line.aspect for line in chooser.answers(**chosen)]
        assert sorted(given) == sorted(chooser.ASPECTS), chosen
    for line in chooser.LINES:
        assert any(css_filter.shown(line.when, chosen) for chosen in choices), line
    results = {id(snippets.snippet(**chosen)) for chosen in chooser.every_choice()}
    assert results == {id(one) for one in snippets.SNIPPETS}


def built(code):
    """Run a snippet; return a small model built from its definitions, an input and its names."""
    names = {}
    exec(compile(code, "snippet", "exec"), names)
    if "rnn" in names:
        return names["rnn"], torch.randn(2, 5, 64), names
    if "Block" in names:
        linear = [torch.nn.Linear(8, 8) for _ in range(2)]
        return names["Block"](8, *linear), torch.randn(2, 5, 8), names
    sizes = (3, 32) if "Conv" in code else (6, 8)
    shape = (2, 3, 7) if "Conv1d" in code else (2, 3, 7, 7) if "Conv" in code else (4, 6)
    return names["block"](*sizes), torch.randn(shape), names


@pytest.mark.parametrize("one", snippets.SNIPPETS[1:], ids=lambda one: "-".join(one.when["data"]))
def test_code_applies_weight_decay_only_to_matrices(one):
    model, x, names = built(one.code)
    output = model(x)
    output = output[0] if isinstance(output, tuple) else output
    groups = names["parameter_groups"](model, 0.5)
    assert [group["weight_decay"] for group in groups] == [0.5, 0]
    assert all(p.ndim >= 2 for p in groups[0]["params"])
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    before = [p.detach().clone() for p in model.parameters()]
    output.square().sum().backward()
    torch.optim.AdamW(groups).step()
    assert any((p != old).any() for p, old in zip(model.parameters(), before, strict=True))


def test_code_for_checkpoints_detects_another_eps(tmp_path):
    names, model, x = {}, torch.nn.LayerNorm(4), 0.01 * torch.randn(3, 4)
    exec(compile(snippets.LOADED, "snippet", "exec"), names)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    names["check"](torch.nn.LayerNorm(4), tmp_path / "model.pt", x, model(x).detach())
    with pytest.raises(AssertionError):
        names["check"](torch.nn.LayerNorm(4, eps=1e-3), tmp_path / "model.pt", x, model(x).detach())


@pytest.mark.parametrize("model", MODELS)
def test_lines_have_sources_with_quotations_and_a_date(model):
    assert model.sources
    for source in model.sources:
        assert len(source["where"]) > 10
        assert source["line"].strip()
        assert source.get("url", "https://").startswith("https://")
    assert datetime.date.fromisoformat(model.read) >= datetime.date(2026, 11, 22)


@pytest.mark.parametrize("model", MODELS)
def test_every_row_matches_one_option_of_each_group(model):
    own = {group: set(model.conditions[group]) - {"any", "all"} for group in models.GROUPS}
    for group, choice in models.GROUPS.items():
        assert own[group] <= set(choice.options), group
    assert len(own["norm"]) == len(own["place"]) == 1
    assert own["data"] == set(model.data.split()) != set()
    assert own["which"] == ({"asked"} if model.asked else set())


@pytest.mark.parametrize("data", ["any", "language"])
@pytest.mark.parametrize("question", by_year.QUESTIONS)
def test_counts_by_year_include_every_line_once(question, data):
    lines = [line for line in RAW if data in ("any", line["data"])]
    panel = by_year.draw_by_year(question, data)
    columns = {bar.name: dict(zip(bar.x, bar.y, strict=True)) for bar in panel.data}
    for year in range(2015, 2027):
        of_year = [line for line in lines if line["year"] == year]
        assert sum(column[year] for column in columns.values()) == len(of_year)
    for bar in panel.data:
        assert list(bar.text) == [str(n) if n > 1 else "" for n in bar.y]
    before, since = by_year.describe_by_year(question, data).partition(". ")[0].split("; since: ")
    for text, first, last in ((before.removeprefix("Before 2023"), 0, 2023), (since, 2023, 3000)):
        counts = map(int, re.findall(r"\d+", text))
        assert sum(counts) == sum(first <= line["year"] < last for line in lines)


@pytest.mark.parametrize("page", sorted({line.page for line in chooser.LINES}))
def test_an_answer_links_to_a_page_and_a_section_that_exist(page):
    name, _, section = page.partition("#")
    cells = nbformat.read(BOOK / f"{name or 'which_norm'}.ipynb", as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    headings = re.findall(r"^#+ (.+)$", prose, re.M)
    assert not section or section in [re.sub(r"\W+", "-", h.lower()).strip("-") for h in headings]
