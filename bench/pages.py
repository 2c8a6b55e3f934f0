"""Measure the pages of the built book in Chromium: size, first figure, answer of a control.

A first figure is timed from the start of the navigation to the frame after it is drawn, in a fresh
browser context at the address of the page's first explorer. A control is timed from the key press
to the frame after the figure is drawn again, over many moves of every explorer. Run it on a quiet
machine: the load is kept beside the figures.
"""

import gzip
import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles

HTML = Path(__file__).parents[1] / "_build" / "html"
LOADS = 5  # cold loads of a page
MOVES = 12  # key presses of a control
PATIENCE = 120_000  # ms; against hanging
GOALS = {"html_kb": 120, "first_ms": 1500, "control_ms": 100, "axe": 0, "outside": 0}
LIMIT_KB = 300
FIRST = """
new MutationObserver((_, observer) => {
  if (document.querySelector(".ln-explorer")?.dataset.ready !== "yes") return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.lnFirst = performance.now(); }));
}).observe(document, { subtree: true, attributeFilter: ["data-ready"] });
"""
CLOCK = """root => {
  let pressed = 0;
  root.lnTimes = [];
  root.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const start = pressed;
    requestAnimationFrame(() => setTimeout(() => root.lnTimes.push(performance.now() - start)));
  }).observe(root, { attributeFilter: ["data-state"] });
}"""


class Handler(SimpleHTTPRequestHandler):
    """Says nothing."""

    def log_message(self, *args):
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """Takes a page that goes in its stride."""

    def handle_error(self, *args):
        """A browser that closes a page does not wait for its files."""


@contextmanager
def served(folder):
    with Server(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def opened(browser, site, address, script=None, **options):
    """A page in a context of its own, and the list of its requests to anywhere else."""
    context = browser.new_context(**({"viewport": {"width": 1300, "height": 900}} | options))
    outside = []

    def refuse(route):
        outside.append(route.request.url)
        route.abort()

    context.route(lambda url: url.startswith("http") and not url.startswith(site), refuse)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    if script:
        page.add_init_script(script)
    page.wait_for_timeout(1000)  # until the new window itself has come to rest
    page.goto(f"{site}/{address}", wait_until="commit")
    yield page, outside
    context.close()


def first_figure(browser, site, name, anchor):
    """Return the ms to the first figure, over cold loads."""
    times = []
    for _ in range(LOADS):
        with opened(browser, site, f"{name}.html#{anchor}", FIRST) as (page, _):
            page.wait_for_function("window.lnFirst")
            times.append(page.evaluate("window.lnFirst"))
    return times


def drawn(page):
    """Scroll to every explorer, wait until it is drawn, and return them."""
    page.wait_for_load_state()
    roots = page.query_selector_all(".ln-explorer")
    for root in roots:
        root.scroll_into_view_if_needed()
        page.wait_for_function("root => root.dataset.ready === 'yes'", arg=root)
    return roots


def control_times(page, roots):
    """Return the ms from key press to frame, of every move that changed a state."""
    times = []
    for root in roots:
        root.evaluate(CLOCK)
        for control in root.query_selector_all(".ln-controls :is(input, select)"):
            control.focus()
            forward = control.evaluate("e => e.tagName === 'SELECT'")
            keys = ["ArrowDown", "ArrowUp"] if forward else ["ArrowRight", "ArrowLeft"]
            for _ in range(MOVES):
                before = control.input_value()
                count = root.evaluate("root => root.lnTimes.length")
                page.keyboard.press(keys[0])
                if control.input_value() == before:  # at the end: the way back
                    keys.reverse()
                    continue
                page.wait_for_function("([r, n]) => r.lnTimes.length > n", arg=[root, count])
        times += root.evaluate("root => root.lnTimes")
    return times


def violations(page):
    from axe_playwright_python.sync_playwright import Axe

    rules = {"rules": {"label-content-name-mismatch": {"enabled": True}}}
    return len(Axe().run(page, options=rules).response["violations"])


def measure(browser, site, path):
    """Return the row of one page."""
    raw = path.read_bytes()
    row = {
        "page": path.stem,
        "html_kb": len(raw) / 1000,
        "gzip_kb": len(gzip.compress(raw, 9)) / 1000,
    }
    outside = []
    for theme in ("light", "dark"):
        with opened(browser, site, path.name, color_scheme=theme) as (page, asked):
            roots = drawn(page)
            row[f"axe_{theme}"] = violations(page)
            if theme == "light" and roots:
                anchor = roots[0].get_attribute("id")
                times = control_times(page, roots)
                row |= {
                    "moves": len(times),
                    "control_ms": median(times),
                    "control_p95_ms": quantiles(times, n=20)[-1],
                }
            outside += asked
    if "moves" in row:
        times = first_figure(browser, site, path.stem, anchor)
        row |= {"first_ms": median(times), "first_ms_all": times}
    return row | {"outside": len(outside)}


COLUMNS = {  # heading, key, goal
    "HTML KB": ("html_kb", f"≤ {GOALS['html_kb']} ({LIMIT_KB})"),
    "gzip KB": ("gzip_kb", ""),
    "first figure ms": ("first_ms", f"≤ {GOALS['first_ms']}"),
    "control ms": ("control_ms", f"≤ {GOALS['control_ms']}"),
    "its p95": ("control_p95_ms", ""),
    "moves": ("moves", ""),
    "axe light": ("axe_light", str(GOALS["axe"])),
    "axe dark": ("axe_dark", str(GOALS["axe"])),
    "outside": ("outside", str(GOALS["outside"])),
}


def run(folder=HTML) -> list[dict]:
    """Return a row for each page of the book, in its order."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    missing = None if found else "Chromium or Chrome (apt-get install chromium)"
    if not (folder / "index.html").exists():
        missing = f"the built book in {folder}; build it with: make book"
    if missing:
        print(f"Not measured: this needs {missing}")
        return []
    other = {"index", "search", "genindex"}
    paths = sorted(path for path in folder.glob("*.html") if path.stem not in other)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with served(folder) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        rows = [measure(browser, site, path) for path in paths]
        browser.close()
    return rows


def main(folder=HTML) -> list[dict]:
    rows = run(folder)
    if rows:
        print(f"{'':18}" + "".join(f"{name:>17}" for name in COLUMNS))
        print(f"{'goal':18}" + "".join(f"{goal:>17}" for _, goal in COLUMNS.values()))
    for row in rows:
        numbers = [row.get(key) for key, _ in COLUMNS.values()]
        cells = [f"{'–' if number is None else f'{number:.0f}':>17}" for number in numbers]
        print(f"{row['page']:18}" + "".join(cells))
    return rows


if __name__ == "__main__":
    main()
