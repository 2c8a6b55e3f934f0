"""The state of a page in its address: it is stored there, and links restore it."""

import json

import pytest
from bs4 import BeautifulSoup

from lnbook.renamed import NEW_NAMES
from tests.book.conftest import PHONE

CHOICES = {  # page, card, a choice in it, how the address names it
    "which_norm": ("#chooser", "ln-chooser-data", "conv", "#chooser&data=conv"),
    "claims": ("#of-paper", "ln-of-paper-part", "exact", "#of-paper&part=exact"),
    "pre_norm_post_norm": (".ln-diagram[data-address]", None, "none", "&place=none"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_stored_in_the_address_and_restored_from_it(visit, built_book, name):
    card, group, value, address = CHOICES[name]
    chosen = f"{card} input[value='{value}']" + (f"[name='{group}']" if group else "")
    with visit(built_book.as_uri(), name, reduced_motion="reduce") as v:
        shown = v.page.locator(card).first.inner_text()
        v.page.locator(chosen).first.check(force=True)
        v.page.wait_for_function("a => location.hash.endsWith(a)", arg=address)
        moved, query = v.page.locator(card).first.inner_text(), v.page.evaluate("location.hash")
        assert moved != shown
        v.page.evaluate("location.hash = ''")
        v.page.wait_for_function(
            "([c, s]) => document.querySelector(c).innerText === s", arg=[card, shown]
        )
    with visit(built_book.as_uri(), name, query, reduced_motion="reduce") as v:
        v.page.wait_for_function(
            "([c, s]) => document.querySelector(c).innerText === s", arg=[card, moved]
        )
        top = v.page.locator(card).first.evaluate("e => e.getBoundingClientRect().top")
        assert 0 <= top < 200


def test_former_section_addresses_redirect(visit, built_book):
    anchor = "nan-or-zeros-in-float16"
    with visit(built_book.as_uri(), "troubleshooting", f"#{anchor}") as v:
        v.page.wait_for_url(f"**/nan_overflow.html#{anchor}")
        assert v.page.locator(f"section[id='{anchor}'], section:has(> [id='{anchor}'])").count()


def test_links_to_a_state_scroll_to_the_figure(visit, http, built_book):
    """Also if figures above it are drawn after scrolling."""
    source = (built_book / "effective_learning_rate.html").read_text("utf-8")
    control = BeautifulSoup(source, "html.parser").select_one("#explorer-4 [data-texts]")
    last = json.loads(control["data-texts"])[-1]
    link = f"#explorer-4&{control['id'].removeprefix('explorer-4-')}={last}"
    with visit(http, "effective_learning_rate", link, viewport=PHONE) as v:
        v.page.wait_for_function(
            "() => [...document.querySelectorAll('.ln-explorer')]"
            ".every(e => e.dataset.ready === 'yes')"
        )
        v.page.wait_for_timeout(500)
        top = v.page.evaluate("document.querySelector('#explorer-4').getBoundingClientRect().top")
        assert 0 <= top < 120  # below the header of the page


def test_every_former_address_redirects_to_a_page(built_book):
    for old, new in NEW_NAMES.items():
        moved = (built_book / f"{old}.html").read_text("utf-8")
        assert f'<link rel="canonical" href="{new}.html">' in moved
        page = (built_book / f"{new}.html").read_text("utf-8")
        assert f'<meta name="ln-former-page" content="{old}.html">' in page


@pytest.mark.parametrize("java_script", [True, False])
def test_former_addresses_keep_the_state_of_figures(visit, built_book, java_script):
    state = "#explorer-1&batch_size=2" if java_script else ""
    options = {"java_script_enabled": java_script}
    with visit(built_book.as_uri(), "start", state, **options) as v:
        v.page.wait_for_url(f"**/introduction.html{state}")
