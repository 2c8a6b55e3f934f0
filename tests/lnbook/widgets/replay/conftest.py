"""Checks shared by the tests of all replays: data of a page and of a notebook."""

import re

import pytest


@pytest.fixture
def handed(monkeypatch):
    """Check a widget with the book's records, one with a reader's own, and their texts."""

    def check(ours, own, text):
        web = own.WEB
        assert re.findall(r"</?div|<script", ours.to_html()) == ["<div", "<div", "</div", "</div"]
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
        assert (
            web.data_script("packed.js") == f'lnLoaded["{web.name}/packed.js"]("{ours.packed}");\n'
        )

    return check
