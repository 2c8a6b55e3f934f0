"""Choices that only use CSS: a page without scripts shows the lines computed in Python."""

import numpy as np
import pytest

from lnbook.chapters.claims import chart
from lnbook.chapters.which_norm import chooser, models
from lnbook.chapters.which_norm.snippets import snippet
from lnbook.figures import css_filter
from lnbook.widgets.base import CONTROLS
from lnlab.claims import PAPER, ClaimResult, Finding
from tools.browser import Firefox

CHOICES = [
    {},
    {"data": "conv", "batch": "large", "sequence": "streamed", "precision": "float16"},
    {"weights": "loaded", "data": "rnn", "sequence": "one", "precision": "float32"},
]
STYLE = f"<style>{CONTROLS}{css_filter.STYLE}</style>"
FILTERS = [
    {},
    {"which": "all", "data": "language", "norm": "rms", "place": "sandwich"},
    {"which": "all", "data": "images", "place": "post"},  # none
]


@pytest.fixture(scope="module")
def page(browser):
    """A page with both cards and without scripts."""
    # The driver of Firefox cannot click without scripts; the page has none that affect the choices.
    context = browser.new_context(java_script_enabled=isinstance(browser, Firefox))
    opened = context.new_page()
    opened.set_content(STYLE + chooser.Chooser().to_html() + models.ModelTable().to_html())
    yield opened
    context.close()


def choose(page, name, groups, chosen):
    """Select one button in each group."""
    chosen = {group: choice.start for group, choice in groups.items()} | chosen
    for group, value in chosen.items():
        page.locator(f'[name="{name}-{group}"][value="{value}"]').check()
    return chosen


@pytest.mark.parametrize("chosen", CHOICES, ids=lambda c: " ".join(c.values()) or "start")
def test_the_chooser_shows_the_answers_for_the_selection(page, chosen):
    chosen = choose(page, "ln-chooser", chooser.GROUPS, chosen)
    shown = page.locator(".ln-chooser dd > p:visible").all_inner_texts()
    assert shown == [f"{line.text} why" for line in chooser.answers(**chosen)]
    code = page.locator(".ln-chooser .highlight:visible").all_text_contents()
    assert code == [snippet(**chosen).code]


@pytest.mark.parametrize("chosen", FILTERS, ids=lambda c: " ".join(c.values()) or "start")
def test_the_table_shows_the_selected_lines(page, chosen):
    chosen = choose(page, "ln-models", models.GROUPS, chosen)
    shown = page.locator(".ln-models .ln-model:visible summary b").all_inner_texts()
    assert shown == [m.model for m in models.MODELS if css_filter.shown(m.conditions, chosen)]


@pytest.mark.every_browser
def test_searching_covers_every_line_and_clearing_restores_the_selection(browser):
    page = browser.new_page()
    page.set_content(STYLE + models.ModelTable().to_html())
    shown = page.locator(".ln-models .ln-model:visible summary b")
    start, search = shown.all_inner_texts(), page.get_by_label("Find")
    for words in ("falcon", " SANDWICH "):
        search.fill(words)
        assert shown.all_inner_texts() == [
            m.model
            for m in models.MODELS
            if any(words.strip().lower() in v.lower() for v in (m.model, *m.short.values()))
        ] != start  # fmt: skip
    assert not page.locator(".ln-none").is_visible()
    search.fill("no such model")
    assert shown.count() == 0
    assert page.locator(".ln-none").is_visible()
    search.fill("")
    assert shown.all_inner_texts() == start
    page.close()


@pytest.fixture
def claims():
    """Claims of which one is supported, one is contradicted, and the others are untested."""
    d = np.array([0.3, 0.2])
    secondary = Finding("beside", d, "of it", d, counts=False)
    results = {
        "robust": (Finding("x", -d, "of it", -d),),
        "table-1": (Finding("x", -d[:1], "of it", exact=True),),
        "table-2": (Finding("x", d, "of it", d), secondary),
    }
    return [ClaimResult(claim, results.get(claim.name, ()), {}) for claim in PAPER]


def test_the_chart_of_claims_unfolds_and_shows_the_selected_lines(page, claims):
    page.set_content(STYLE + chart.ClaimChart(claims, "A").to_html())
    shown = page.locator(".ln-claim:visible summary b")
    squares = page.locator(".ln-squares i:visible")
    assert shown.count() == 0
    assert squares.count() == len(claims)
    for summary in page.locator(".ln-kind > summary").all():
        summary.click()
    order = list(chart.KINDS)
    for part in ("recurrent", "exact", "all"):
        page.locator(f'[name="ln-of-paper-part"][value="{part}"]').check()
        chosen = [one for one in claims if part in ("all", chart.part(one))]
        assert squares.count() == len(chosen) > 0
        chosen.sort(key=lambda one: order.index(one.label.evidence))
        statements = [text.partition("\n")[0] for text in shown.all_inner_texts()]
        assert statements == [one.claim.statement for one in chosen]
    (fails,) = (one for one in claims if one.claim.name == "table-2")
    line = page.locator(".ln-claim", has_text=fails.claim.statement)
    assert page.locator(".ln-beside:visible").count() == 0
    page.locator('[name="ln-of-paper-beside"][value="all"]').check()
    assert page.locator(".ln-beside:visible").count() == 1
    assert not line.locator("li").first.is_visible()
    line.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "additional" in line.locator("li").last.inner_text()
    assert page.locator("p.ln-total").is_visible()
