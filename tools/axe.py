"""What axe, the accessibility checker, finds on a page that is open in a browser."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

OPTIONS = {
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # off by default
    "resultTypes": ["violations"],  # all are looked for, and these alone reported at length
}
COLORS = ["color-contrast", "link-in-text-block"]  # two thirds of the time


def violations(page: Page, *, colors: bool | None = None) -> list[tuple[str, list[str]]]:
    """Return each rule that the page breaks, and the first places where.

    Args:
        page: As it is now.
        colors: Look at nothing but what another theme can change; ``False``: at all else. ``None``
            means at everything.
    """
    options = OPTIONS | ({"runOnly": COLORS} if colors else {})
    if colors is False:
        options["rules"] = options["rules"] | {name: {"enabled": False} for name in COLORS}
    broken = Axe().run(page, options=options).response["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in broken]
