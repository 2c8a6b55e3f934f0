"""Take two screenshots of the first page of the built book after its networks have trained.

Usage: python -m tools.share     writes book/_static/share.png, the image of link previews, and
                                 .github/book.png, the image of the README
"""

from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tools.browser import launch

ROOT = Path(__file__).parent.parent
PREVIEW_SIZE = {"width": 1200, "height": 630}  # recommended for Open Graph images
README_SIZE = {"width": 1300, "height": 860}
NUM_COLORS = 128
STYLE = """
.ln-playground { position: fixed !important; inset: 0; z-index: 9999; margin: 0 !important;
  padding: 75px 60px 0; overflow: hidden; background: #fff; }
.ln-playground::before { content: "Layer Normalization, Computed"; display: block;
  margin-bottom: 24px; color: #14181e; font: 700 46px system-ui, sans-serif; }
.ln-playground-bar, .ln-playground-note, .ln-playground [role="status"],
.ln-playground-curves, .ln-playground-says, .ln-playground-verdict { display: none !important; }
.ln-playground-pair { zoom: 1.3; }
"""
# The figure starts and stops by itself.
IS_DONE = "document.querySelector('[data-part=count]').textContent === '800'"


def main() -> None:
    """Wait until the networks have trained, and take the screenshots."""
    with sync_playwright() as playwright:
        browser, _ = launch(playwright)
        page = browser.new_page(viewport=README_SIZE, color_scheme="light")
        page.goto((ROOT / "_build" / "html" / "introduction.html").as_uri())
        page.wait_for_function(IS_DONE)
        page.wait_for_timeout(1000)  # for the last frames
        page.screenshot(path=ROOT / ".github" / "book.png")
        page.set_viewport_size(PREVIEW_SIZE)
        page.add_style_tag(content=STYLE)
        page.wait_for_timeout(1000)
        page.screenshot(path=ROOT / "book" / "_static" / "share.png")
        browser.close()
    for path in (ROOT / ".github" / "book.png", ROOT / "book" / "_static" / "share.png"):
        with Image.open(path) as picture:  # a third of the size with few colors
            picture.convert("RGB").quantize(NUM_COLORS, dither=Image.Dither.NONE).save(path)


if __name__ == "__main__":
    main()
