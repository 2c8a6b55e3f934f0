"""The chooser answers every question once, and the table has its sources."""

import re
from pathlib import Path

import nbformat
import pytest
import torch

import lnbook
from lnbook.chapters.which_norm import chooser, models, snippets
from lnbook.figures import css_filter

BOOK = Path(lnbook.__file__).parent.parent


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


@pytest.mark.parametrize("page", sorted({line.page for line in chooser.LINES}))
def test_an_answer_links_to_a_page_and_a_section_that_exist(page):
    name, _, section = page.partition("#")
    cells = nbformat.read(BOOK / f"{name or 'which_norm'}.ipynb", as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    headings = re.findall(r"^#+ (.+)$", prose, re.M)
    assert not section or section in [re.sub(r"\W+", "-", h.lower()).strip("-") for h in headings]


def test_lines_of_torch_are_from_one_version_and_the_same_there():
    place = re.compile(r"torch (\S+), (torch/\S+), line (\d+)")
    sources = [source for model in models.MODELS for source in model.sources]
    quotes = [(*m.groups(), s["line"]) for s in sources if (m := place.fullmatch(s["where"]))]
    (version,) = {version for version, *_ in quotes}
    if torch.__version__.partition("+")[0] == version:
        for _, path, number, line in quotes:
            text = Path(torch.__file__).parents[1].joinpath(path).read_text()
            assert text.splitlines()[int(number) - 1].strip() == line
