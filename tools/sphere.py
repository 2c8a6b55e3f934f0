"""Write the initial state of the sphere, for pages without JavaScript.

Usage: python tools/sphere.py     into lnbook/widgets/sphere/*.html
"""

from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from lnbook.widgets.sphere import ALT, WEB, Sphere
from tools.browser import launch

STARTS = {"start": False, "gradient": True}  # file: whether it begins with the gradient
RUN = """([options, alt]) => {
  const root = document.createElement("div");
  Object.assign(root, { className: "ln-sphere", id: "sphere-at-its-start" });
  root.dataset.alt = alt;
  document.body.append(root);
  lnSphere(root, options);
  const found = root.innerHTML.replaceAll(root.id, "{id}");
  root.remove();
  return found;
}"""


def markup(page: Page, gradient: bool) -> str:
    """Let a page with the scripts build the sphere, and return its inside, lines joined."""
    options = Sphere(gradient=gradient).options
    return " ".join(page.evaluate(RUN, [options, ALT]).split())


def main() -> None:
    """Write the files."""
    with sync_playwright() as playwright:
        browser, _ = launch(playwright)
        page = browser.new_page()
        page.add_script_tag(content=WEB.source() + "\nwindow.lnSphere = lnSphere;")
        for name, gradient in STARTS.items():
            Path(WEB.folder / f"{name}.html").write_text(markup(page, gradient) + "\n", "utf-8")
        browser.close()


if __name__ == "__main__":
    main()
