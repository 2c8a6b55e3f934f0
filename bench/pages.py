"""Time to the first figure of every page of the built book in Chromium, and response of controls.

The first figure is timed from the start of the navigation to the frame that shows it, in a fresh
browser context, at the address of the page's first explorer: once for the still figure that is part
of the page, and once for the live figure with controls that replaces it. A control is timed from a
key press to the frame after the figure is drawn again, over a few moves of each control of every
explorer. The playground trains two networks of 24 layers with 32 units, with a batch size of 16 and
no delay between updates. The transformer is timed from a key press in a sentence of 64 characters
to the frame after its figures are drawn, with the last norm off, so that there are two forward
passes; ``pytorch_ms`` is the time of the same two in PyTorch. There is no other book to compare
with, so ``instead`` is the goal. The rows also have the size of the page, the number of axe
violations in light and dark mode, and the number of requests to other servers.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from bench.table import medians, row
from tools.server import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ElementHandle, Page

HTML = Path(__file__).parents[1] / "_build" / "html"
NUM_LOADS = 3  # cold loads per page
NUM_MOVES = 4  # key presses per control
NUM_EDITS = 20  # of the transformer's sentence: a character is deleted and typed again
TIMEOUT_MS = 120_000  # against hanging
GOALS_MS = {
    "first picture of a page": 800,
    "live figure of a page": 1500,
    "answer of a control": 50,
    "update of the playground": 1000 / 300,
    "answer of the transformer": 100,
}
PLAYGROUND = "playground.html#play&depth=24&width=32&batch=16&pace=0"
PLAYGROUND_S = 6.0  # how long it trains
TRANSFORMER = "transformer_ablation.html#run&norms=llllo"
SENTENCE = "ROMEO:\nWhat light through yonder window breaks? It is the east, "
OBSERVE_LONG_TASKS = """
window.lnLongTasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((e) => lnLongTasks.push(e.duration)))
  .observe({ type: "longtask" });
"""
OBSERVE_FIRST_FIGURE = """
const recordTime = (name) =>
  requestAnimationFrame(() => setTimeout(() => { window[name] = performance.now(); }));
const awaitStill = () => {
  const figure = document.querySelector(".ln-still svg, .main-svg")?.getBoundingClientRect();
  if (figure?.height) recordTime("lnStillTime");
  else requestAnimationFrame(awaitStill);
};
requestAnimationFrame(awaitStill);
new MutationObserver((_, observer) => {
  if (document.querySelector(".ln-explorer")?.dataset.ready !== "yes") return;
  observer.disconnect();
  recordTime("lnLiveTime");
}).observe(document, { subtree: true, attributeFilter: ["data-ready"] });
"""
# Times from a key press in `root` to the frame after a change of `target`, in `root.lnTimes`.
TIME_KEY_PRESSES = """([root, target, changes]) => {
  let pressed = 0;
  root.lnTimes = [];
  root.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const start = pressed;
    requestAnimationFrame(() => setTimeout(() => root.lnTimes.push(performance.now() - start)));
  }).observe(target, changes);
}"""
AWAIT_TIMES = "([root, count]) => root.lnTimes.length >= count"


@contextmanager
def open_page(
    browser: Browser, site: str, address: str, script: str | None = None, **options: Any
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page in a fresh context; yield it and the list of its requests to other servers."""
    context = browser.new_context(**({"viewport": {"width": 1300, "height": 900}} | options))
    requests = []

    def block(route):
        requests.append(route.request.url)
        route.abort()

    context.route(lambda url: url.startswith("http") and not url.startswith(site), block)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    if script:
        page.add_init_script(script)
    page.wait_for_timeout(1000)  # until the browser has opened the window
    page.goto(f"{site}/{address}", wait_until="commit")
    yield page, requests
    context.close()


def first_figure_times(browser: Browser, site: str, address: str) -> tuple[float, float]:
    """Return the median ms to the still figure and to the live figure, over cold loads."""
    times = []
    for _ in range(NUM_LOADS):
        with open_page(browser, site, address, OBSERVE_FIRST_FIGURE) as (page, _):
            page.wait_for_function("window.lnStillTime && window.lnLiveTime")
            times.append(page.evaluate("[lnStillTime, lnLiveTime]"))
    still, live = zip(*times, strict=True)
    return median(still), median(live)


def find_explorers(page: Page) -> list[ElementHandle]:
    """Return all explorers of a page, after scrolling to each and waiting until it is drawn."""
    page.wait_for_load_state()
    explorers = page.query_selector_all(".ln-explorer")
    for explorer in explorers:
        explorer.scroll_into_view_if_needed()
        page.wait_for_function("root => root.dataset.ready === 'yes'", arg=explorer)
    return explorers


def control_times(page: Page, explorers: list[ElementHandle]) -> list[float]:
    """Return the ms from key press to frame, of every move that changed a figure."""
    times = []
    for root in explorers:
        page.evaluate(TIME_KEY_PRESSES, [root, root, {"attributeFilter": ["data-state"]}])
        for control in root.query_selector_all(".ln-controls :is(input, select)"):
            control.focus()
            is_menu = control.evaluate("e => e.tagName === 'SELECT'")
            keys = ["ArrowDown", "ArrowUp"] if is_menu else ["ArrowRight", "ArrowLeft"]
            for _ in range(NUM_MOVES):
                before = control.input_value()
                count = root.evaluate("root => root.lnTimes.length")
                page.keyboard.press(keys[0])
                if control.input_value() == before:  # at the end of the range: turn back
                    keys.reverse()
                    continue
                page.wait_for_function(AWAIT_TIMES, arg=[root, count + 1])
        times += root.evaluate("root => root.lnTimes")
    return times


def goal_row(what: str, shape: str, ms: float, **extra: Any) -> dict[str, Any]:
    """Return a row that compares the built book with its goal."""
    goal = ("the goal", GOALS_MS[what])
    return row(what, shape, "the built book", ms, instead=goal, **extra)


def percentile_95(times: list[float]) -> int:
    """Return the 95th percentile of times, in whole ms."""
    return round(quantiles(times, n=20)[-1])


def page_rows(browser: Browser, site: str, path: Path) -> list[dict[str, Any]]:
    """Return the rows of one page; none without an explorer."""
    from tools.axe import violations

    html = path.read_bytes()
    extra = {
        "html_kb": round(len(html) / 1000),
        "gzip_kb": round(len(gzip.compress(html, 9)) / 1000),
        "outside": 0,
    }
    times, anchor = [], None
    for theme in ("light", "dark"):
        preferences = {"color_scheme": theme, "reduced_motion": "reduce"}
        with open_page(browser, site, path.name, **preferences) as (page, requests):
            explorers = find_explorers(page)
            extra[f"axe_{theme}"] = len(violations(page))
            if theme == "light" and explorers:
                anchor = explorers[0].get_attribute("id")
                times = control_times(page, explorers)
            extra["outside"] += len(requests)
    results = {}
    if anchor:
        still, live = first_figure_times(browser, site, f"{path.name}#{anchor}")
        results |= {"first picture of a page": still, "live figure of a page": live}
    if times:
        results["answer of a control"] = median(times)
        extra |= {"moves": len(times), "p95_ms": percentile_95(times)}
    return [goal_row(what, path.stem, ms, **extra) for what, ms in results.items()]


def playground_row(browser: Browser, site: str) -> dict[str, Any]:
    """Return the row of the playground: ms per update, and the longest task of its page."""
    with open_page(browser, site, PLAYGROUND) as (page, _):
        page.wait_for_function("document.querySelector('[role=status]')?.textContent")
        page.evaluate(OBSERVE_LONG_TASKS)
        page.get_by_role("button", name="Start", exact=True).click()
        count = "Number(document.querySelector('[data-part=count]').textContent.replace(',', ''))"
        page.wait_for_timeout(1000)  # until the browser has compiled what runs often
        time_and_count = f"() => [performance.now(), {count}]"
        start_time, start_count = page.evaluate(time_and_count)
        page.wait_for_timeout(1000 * PLAYGROUND_S)
        end_time, end_count = page.evaluate(time_and_count)
        longest_task = longest_task_ms(page)
    ms = (end_time - start_time) / (end_count - start_count)
    return goal_row("update of the playground", "24x32x16", ms, longest_task_ms=longest_task)


def longest_task_ms(page: Page) -> int:
    """Return the longest task since :data:`OBSERVE_LONG_TASKS`; 0 if none took 50 ms or more."""
    return round(page.evaluate("Math.max(0, ...lnLongTasks)"))


def transformer_row(browser: Browser, site: str) -> dict[str, Any]:
    """Return the row of the transformer: ms from a key press to its new figures."""
    with open_page(browser, site, TRANSFORMER) as (page, _):
        page.wait_for_function("document.querySelector('.ln-transformer')?.dataset.ready")
        root = page.query_selector(".ln-transformer")
        text = page.locator(".ln-transformer textarea")
        text.fill(SENTENCE)
        text.focus()
        page.keyboard.press("End")
        page.wait_for_timeout(8000)  # until it has generated text, and the browser has compiled
        page.evaluate(OBSERVE_LONG_TASKS)
        caption = root.query_selector("[data-part=says]")
        page.evaluate(TIME_KEY_PRESSES, [root, caption, {"childList": True}])
        for edit in range(2 * NUM_EDITS):
            page.keyboard.press("t" if edit % 2 else "Backspace")
            page.wait_for_function(AWAIT_TIMES, arg=[root, edit + 1])
            page.wait_for_timeout(50)  # it generates text meanwhile
        times = root.evaluate("root => root.lnTimes")
        extra = {
            "longest_task_ms": longest_task_ms(page),
            "p95_ms": percentile_95(times),
            "pytorch_ms": round(pytorch_ms(), 1),
        }
    return goal_row("answer of the transformer", "64 characters", median(times), **extra)


def pytorch_ms() -> float:
    """Return the ms that PyTorch takes for the logits with all norms on, and with the last off."""
    from lnlab import records
    from lnlab.experiments.transformer.trained_transformer import TrainedTransformer

    on = TrainedTransformer.of(records.read_all("transformer", ablate=True)[0])
    off = on.switch("on", "on", "on", "on", "off")
    return medians({"": lambda: (on.logits(SENTENCE), off.logits(SENTENCE))}, 1)[""]


def rows(device: str, folder: Path = HTML) -> list[dict[str, Any]]:
    """Return the rows of all pages of the built book, of the playground and of the transformer."""
    if device != "cpu":
        return []
    try:
        from playwright.sync_api import sync_playwright

        from tools.browser import NoBrowserError, launch
    except ImportError:
        print("Not measured: this needs playwright (make test installs it)")
        return []
    if not (folder / "index.html").exists():
        print(f"Not measured: this needs the built book in {folder}; build it with: make book")
        return []
    excluded = {"index", "search", "genindex"}
    paths = sorted(path for path in folder.glob("*.html") if path.stem not in excluded)
    with serve(folder) as site, sync_playwright() as playwright:
        try:
            browser, _ = launch(playwright)
        except NoBrowserError as error:
            print(f"Not measured: {error}")
            return []
        results = [r for path in paths for r in page_rows(browser, site, path)]
        results += [playground_row(browser, site), transformer_row(browser, site)]
        browser.close()
    return results
