"""Write the initial HTML of the sphere widget, which pages without JavaScript show.

Usage: python tools/sphere.py     writes book/lnbook/widgets/sphere/start.html and gradient.html
"""

from playwright.sync_api import Page, sync_playwright

from lnbook.widgets.sphere import ALT, WEB, Sphere
from tools.browser import launch

HAS_GRADIENT = {"start": False, "gradient": True}  # by the name of the file
RENDER = """([options, alt]) => {
  const root = document.createElement("div");
  Object.assign(root, { className: "ln-sphere", id: "rendered-sphere" });
  root.dataset.alt = alt;
  document.body.append(root);
  lnSphere(root, options);
  const html = root.innerHTML.replaceAll(root.id, "{id}");
  root.remove();
  return html;
}"""


def render(page: Page, gradient: bool) -> str:
    """Return the inner HTML of a sphere as one line, built by a page that has its scripts."""
    options = Sphere(gradient=gradient).options
    return " ".join(page.evaluate(RENDER, [options, ALT]).split())


def main() -> None:
    """Write the HTML files next to the scripts of the widget."""
    with sync_playwright() as playwright:
        browser, _ = launch(playwright)
        page = browser.new_page()
        page.add_script_tag(content=WEB.source() + "\nwindow.lnSphere = lnSphere;")
        for name, gradient in HAS_GRADIENT.items():
            path = WEB.folder / f"{name}.html"
            path.write_text(render(page, gradient) + "\n", encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    main()
