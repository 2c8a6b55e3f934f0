"""What axe, the accessibility checker, finds on a page that is open in a browser."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

OPTIONS = {
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # off by default
    "resultTypes": ["violations"],  # all are looked for, and these alone reported at length
    "preload": False,  # of style sheets, once more: no rule here reads them, and file:// refuses it
}
SCRIPT = Axe().axe_script
COLORS = ["color-contrast", "link-in-text-block"]  # two thirds of the time


def violations(
    page: Page, *, colors: bool | None = None, part: str | None = None
) -> list[tuple[str, list[str]]]:
    """Return each rule that the page breaks, and the first places where.

    Args:
        page: As it is now.
        colors: Look at nothing but what another theme can change, or, if false, at all else.
        part: A selector, to look at nothing else.
    """
    options = OPTIONS | ({"runOnly": COLORS} if colors else {})
    if colors is False:
        off = {rule: {"enabled": False} for rule in COLORS}
        options = options | {"rules": options["rules"] | off}
    if not page.evaluate("'axe' in window"):
        page.evaluate(SCRIPT)
    run = "([part, options]) => axe.run(part ?? document, options).then(found => found.violations)"
    broken = page.evaluate(run, [part, options])
    return [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in broken]
