"""Take screenshots of all pages of the built book: light and dark theme, desktop and phone.

Usage: python tools/screenshots.py [PAGE ...]     into _build/screenshots/
"""

import re
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.browser import launch

ROOT = Path(__file__).parent.parent
WIDTHS = (1300, 390)


def main(pages: list[str]) -> None:
    """Take screenshots of the given pages, or of all pages of the table of contents."""
    toc = (ROOT / "_toc.yml").read_text()
    pages = pages or re.findall(r"(?:root|file): (\S+)", toc)
    out = ROOT / "_build" / "screenshots"
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser, _ = launch(playwright)
        for page_name in pages:
            for theme in ("light", "dark"):
                for width in WIDTHS:
                    page = browser.new_page(
                        viewport={"width": width, "height": 900}, color_scheme=theme
                    )
                    page.goto((ROOT / "_build" / "html" / f"{page_name}.html").as_uri())
                    page.wait_for_timeout(800)  # the theme fades in
                    for explorer in page.locator(".ln-explorer").all():  # drawn when first seen
                        explorer.scroll_into_view_if_needed()
                        page.wait_for_timeout(800)
                    page.evaluate("scrollTo(0, 0)")
                    path = out / f"{page_name}-{theme}-{width}.png"
                    page.screenshot(path=path, full_page=True)
                    page.close()
                    print(path.relative_to(ROOT))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
