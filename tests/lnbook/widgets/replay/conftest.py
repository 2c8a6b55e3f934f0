"""What the tests of widgets that show records share: what a page and a notebook are handed."""

import re

import pytest


@pytest.fixture
def handed(monkeypatch):
    """Check a widget of the book's records, one of a reader's own, and what that calls itself."""

    def check(ours, own, text):
        web = own.WEB
        assert re.findall(r"</?div|<script", ours.to_html()) == ["<div", "</div"]
        (inside,) = re.findall(r'<script type="text/plain">([^<]*)</script>', own.to_html())
        assert inside == own.packed
        ids = {re.search(r'id="([^"]*)"', shown.to_html())[1] for shown in (ours, own, own)}
        assert len(ids) == 3
        monkeypatch.setenv("LNLIB_STATIC", "1")
        html = own._repr_mimebundle_()["text/html"]
        assert html.startswith(f'<div class="{web.selector[1:]}"')
        monkeypatch.delenv("LNLIB_STATIC")
        bundle = own._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert bundle["text/plain"] == text
        (widget,) = own.widget().children
        assert web.source() in widget._esm
        assert f"return {web.js_name}(root, async () => data.packed);" in widget._esm
        assert widget.data == {"packed": own.packed}
        (content,) = (file() for file in web.data.values())
        assert content == f'lnPacked["{web.selector}"]("{ours.packed}");\n'

    return check


REFUSED = {
    "none": "be one at least, got none; record them with",
    "two": r"be one of each {by}, got two of \('layer'",
    "kept nothing": r"be of runs with \w+, this one kept no {array}; record it",
    "another shape": "have one number of updates and one shape of {array}, got shapes",
    "other updates": "have one number of updates and one shape of {array}, got shapes",
}


@pytest.fixture(params=REFUSED)
def refused(request):
    """Check that a widget refuses records that do not go together."""

    def check(widget, made, array, by="norm and start", *, shape, updates):
        records = {
            "none": [],
            "two": [made(), made(seed=1)],
            "kept nothing": [made() | {"arrays": {}}],
            "another shape": [made(), made("none", **shape)],
            "other updates": [made(), made("none", **updates)],
        }[request.param]
        text = REFUSED[request.param].format(by=by, array=array)
        with pytest.raises(ValueError, match=f"^{widget.__name__}: records must {text}"):
            widget(records)

    return check
