"""Take the two pictures of the start page after its networks have trained.

Usage: python -m tools.share     from the built book, into book/_static/share.png, the preview of
                                 shared links, and .github/book.png, which the README shows
"""

from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tools.browser import launch

ROOT = Path(__file__).parent.parent
SHARED = {"width": 1200, "height": 630}  # as those who show links expect it
README = {"width": 1300, "height": 860}
COLORS = 128
STYLE = """
.ln-playground { position: fixed !important; inset: 0; z-index: 9999; margin: 0 !important;
  padding: 75px 60px 0; overflow: hidden; background: #fff; }
.ln-playground::before { content: "Layer Normalization, Computed"; display: block;
  margin-bottom: 24px; color: #14181e; font: 700 46px system-ui, sans-serif; }
.ln-playground-bar, .ln-playground-note, .ln-playground-status,
.ln-playground-curves, .ln-playground-says, .ln-playground-verdict { display: none !important; }
.ln-playground-pair { zoom: 1.3; }
"""
# The figure plays by itself, and stops.
DONE = "document.querySelector('[data-part=count]').textContent === '800'"


def main() -> None:
    """Let both train, and photograph them alone and on their page."""
    with sync_playwright() as playwright:
        browser, _ = launch(playwright)
        page = browser.new_page(viewport=README, color_scheme="light")
        page.goto((ROOT / "_build" / "html" / "introduction.html").as_uri())
        page.wait_for_function(DONE)
        page.wait_for_timeout(1000)  # until what is at rest is drawn
        page.screenshot(path=ROOT / ".github" / "book.png")
        page.set_viewport_size(SHARED)
        page.add_style_tag(content=STYLE)
        page.wait_for_timeout(1000)
        page.screenshot(path=ROOT / "book" / "_static" / "share.png")
        browser.close()
    for path in (ROOT / ".github" / "book.png", ROOT / "book" / "_static" / "share.png"):
        with Image.open(path) as picture:  # few colors, a third of the bytes
            picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path)


if __name__ == "__main__":
    main()
