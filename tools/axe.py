"""Accessibility violations of an open page, found by axe."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

OPTIONS = {
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # off by default
    "resultTypes": ["violations"],  # only report these in detail
    "preload": False,  # of style sheets, which no rule needs and file:// does not allow
}
SCRIPT = Axe().axe_script
COLOR_RULES = ["color-contrast", "link-in-text-block"]
# The content of formulas, which are labeled, and of code: half of all elements.
EXCLUDED = [["mjx-container > *"], [".highlight pre > *"]]
# Marks one visible text of each style (color, size, weight, backgrounds) that is not in `known`. To
# check all texts, axe takes three to six times as long on most pages.
MARK_STYLES = """([part, known]) => {
  const behind = new Map([[null, ""]]), looks = new Set(known);
  const grounds = (e) => {
    if (!behind.has(e)) {
      const s = getComputedStyle(e), above = grounds(e.parentElement);
      const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter].join(" ");
      behind.set(e, own === "rgba(0, 0, 0, 0) none 1 none" ? above : `${above}|${own}`);
    }
    return behind.get(e);
  };
  for (const e of document.querySelectorAll("[data-look]")) delete e.dataset.look;
  for (const e of document.querySelectorAll(`${part} *`)) {
    const text = [...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!(text || e.placeholder) || !e.checkVisibility({ visibilityProperty: true })) continue;
    const s = getComputedStyle(e), link = e.closest("a");
    const around = link && [getComputedStyle(link.parentElement).color, s.textDecorationLine];
    const look = [grounds(e), s.color, s.fontSize, s.fontWeight, s.textShadow, s.position, around];
    if (looks.size < looks.add(look.join()).size) e.dataset.look = "";
  }
  return [...looks].slice(known.length);
}"""


def violations(
    page: Page,
    *,
    colors: bool | None = None,
    part: str | None = None,
    seen: set[str] | None = None,
) -> list[tuple[str, list[str]]]:
    """Return the rules that the page violates, each with the first elements that violate it.

    Args:
        page: The page in its current state.
        colors: Whether to check only what depends on the theme, of one text of each style, or
            everything else.
        part: A selector; if given, only this part of the page is checked.
        seen: Styles that need no check, as they had it on another page; those of this one are
            added.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(SCRIPT)
    off = {rule: {"enabled": False} for rule in COLOR_RULES}
    broken = []
    if not colors:
        where = {"exclude": EXCLUDED} | ({"include": [[part]]} if part else {})
        broken += _run(page, where, OPTIONS | {"rules": OPTIONS["rules"] | off})
    if colors is not False:
        known = set() if seen is None else seen
        new = page.evaluate(MARK_STYLES, [part or "body", sorted(known)])
        where = {"include": [["[data-look]"]]}
        broken += _run(page, where, OPTIONS | {"runOnly": COLOR_RULES}) if new else []
        known.update(new)
    return [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in broken]


def _run(page: Page, where: dict, options: dict) -> list[dict]:
    """Return the violations that axe reports."""
    call = "([where, options]) => axe.run(where, options).then(r => r.violations)"
    return page.evaluate(call, [where, options])
