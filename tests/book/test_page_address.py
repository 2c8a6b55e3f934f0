"""The script that reads and writes the state of a page in its address."""

import pytest

from lnbook.widgets import base

SCRIPT = (base.HERE / "address.js").read_text("utf-8")
READ = (
    "hash => { location.hash = hash; return [...lnAddress.read()].map(([k, v]) => [k, [...v]]); }"
)


@pytest.fixture(scope="module")
def page(browser, http):
    """A page that contains only the script, from a server, so that its address can change."""
    page = browser.new_page()
    page.route("**/blank", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(f"{http}/blank")
    page.add_script_tag(content=SCRIPT)
    yield page
    page.close()


@pytest.mark.parametrize(
    ("hash_", "parts"),
    [
        ("", []),
        ("#explorer-2&scale=10&chooser&data=conv",
         [["explorer-2", [["scale", "10"]]], ["chooser", [["data", "conv"]]]]),
        ("#run&text=a+b%26c%3D%2B", [["run", [["text", "a b&c=+"]]]]),
        ("#run&text=%E0%A4%A", [["run", [["text", "\ufffd%A"]]]]),
        ("#x=1&sphere&a1=1&&sphere&a2=2", [["sphere", [["a1", "1"], ["a2", "2"]]]]),
        ("#sphere&__proto__=1&=2", [["sphere", [["__proto__", "1"], ["", "2"]]]]),
    ],
)  # fmt: skip
def test_addresses_are_parsed_into_parts_with_values(page, hash_, parts):
    assert page.evaluate(READ, hash_) == parts


def test_saved_parts_are_restored_and_come_first(page):
    text = "a b&c=d#e+f%20é'()"
    page.evaluate("location.hash = '#chooser&data=conv&anchor&explorer-1&n=4'")
    page.evaluate("t => lnAddress.save('run', [['text', t], ['at', 3]])", text)
    assert page.evaluate("[...lnAddress.read().keys()]") == ["run", "chooser", "explorer-1"]
    assert page.evaluate("lnAddress.first()") == "run"
    assert page.evaluate("[...lnAddress.read().get('run')]") == [["text", text], ["at", "3"]]
    page.evaluate("lnAddress.save('chooser', [['data', 'text']])")
    assert page.evaluate("location.hash").startswith("#chooser&data=text&run&text=")
    for part in ("run", "chooser", "explorer-1"):
        page.evaluate("p => lnAddress.save(p, [])", part)
    assert page.url.endswith("/blank")  # not even a # is left
