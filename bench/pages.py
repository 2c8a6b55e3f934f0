"""The pages of the built book in Chromium: the first picture, and the answer of a control.

A first picture is timed from the start of the navigation to the frame after it is there, in a fresh
browser context at the address of the page's first explorer: the still that comes with the page; and
the live figure, which has controls and takes its place. A control is timed from the key press to
the frame after the figure is drawn again, over some moves of every explorer. The playground runs
without a pace, 24 layers of 32 units, a batch of 16, both networks an update. The transformer is
timed from a key press in a sentence of 64 characters to the frame after its loss and its stream are
drawn, with the last norm off, so that it reads twice; beside it, what the same two readings take in
PyTorch, which is what a reader would run otherwise. No other book is measured beside the rest: what
stands in its place is the goal. The rows also have the page's size, the
axe violations in light and dark, and the requests to anywhere else.
"""

import gzip
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles

from bench.table import medians, row

HTML = Path(__file__).parents[1] / "_build" / "html"
LOADS = 3  # cold loads of a page
MOVES = 4  # key presses of a control
KEYS = 20  # pairs of key presses in the transformer's sentence
PATIENCE = 120_000  # ms; against hanging
GOALS = {  # ms
    "first picture of a page": 800,
    "live figure of a page": 1500,
    "answer of a control": 50,
    "update of the playground": 1000 / 300,
    "answer of the transformer": 100,
}
PLAY = "playground.html#play&depth=24&width=32&batch=16&pace=0"
PLAY_S = 6.0  # how long it runs
LONG = """
window.lnLong = [];
new PerformanceObserver((list) => list.getEntries().forEach((e) => lnLong.push(e.duration)))
  .observe({ type: "longtask" });
"""
FIRST = """
const painted = (name) =>
  requestAnimationFrame(() => setTimeout(() => { window[name] = performance.now(); }));
const look = () => {
  const picture = document.querySelector(".ln-still svg, .main-svg")?.getBoundingClientRect();
  if (picture?.height) painted("lnFirst");
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
new MutationObserver((_, observer) => {
  if (document.querySelector(".ln-explorer")?.dataset.ready !== "yes") return;
  observer.disconnect();
  painted("lnLive");
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
    """Return the ms to the first picture and to the live figure, over cold loads."""
    times = []
    for _ in range(LOADS):
        with opened(browser, site, f"{name}.html#{anchor}", FIRST) as (page, _):
            page.wait_for_function("window.lnFirst && window.lnLive")
            times.append(page.evaluate("[lnFirst, lnLive]"))
    return map(median, zip(*times, strict=True))


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


def measure(browser, site, path):
    """Return the rows of one page; none without an explorer."""
    from tools.axe import violations

    raw = path.read_bytes()
    facts = {
        "html_kb": round(len(raw) / 1000),
        "gzip_kb": round(len(gzip.compress(raw, 9)) / 1000),
        "outside": 0,
    }
    times, anchor = [], None
    for theme in ("light", "dark"):
        preferences = {"color_scheme": theme, "reduced_motion": "reduce"}
        with opened(browser, site, path.name, **preferences) as (page, requests):
            roots = drawn(page)
            facts[f"axe_{theme}"] = len(violations(page))
            if theme == "light" and roots:
                anchor = roots[0].get_attribute("id")
                times = control_times(page, roots)
            facts["outside"] += len(requests)
    results = {}
    if anchor:
        first, live = first_figure(browser, site, path.stem, anchor)
        results |= {"first picture of a page": first, "live figure of a page": live}
    if times:
        results["answer of a control"] = median(times)
        facts |= {"moves": len(times), "p95_ms": round(quantiles(times, n=20)[-1])}
    return [
        row(what, path.stem, "the built book", ms, instead=("the goal", GOALS[what]), **facts)
        for what, ms in results.items()
    ]


def playground(browser, site):
    """Return the row of the playground: ms an update, and the longest task of its page."""
    with opened(browser, site, PLAY) as (page, _):
        page.wait_for_function("document.querySelector('[role=status]')?.textContent")
        page.evaluate(LONG)
        page.get_by_role("button", name="Start", exact=True).click()
        count = "Number(document.querySelector('[data-part=count]').textContent.replace(',', ''))"
        page.wait_for_timeout(1000)  # until the browser has compiled what it does often
        script = f"() => [performance.now(), {count}]"
        begin, before = page.evaluate(script)
        page.wait_for_timeout(1000 * PLAY_S)
        end, after = page.evaluate(script)
        longest = page.evaluate("Math.max(0, ...lnLong)")
    what = "update of the playground"
    ms = (end - begin) / (after - before)
    facts = {"longest_task_ms": round(longest)}  # 0: none took 50 ms or more
    return row(what, "24x32x16", "the built book", ms, instead=("the goal", GOALS[what]), **facts)


RUN = "transformer_ablation.html#run&norms=llllo"
SENTENCE = "ROMEO:\nWhat light through yonder window breaks? It is the east, "
ANSWER = """() => {
  const root = document.querySelector(".ln-transformer");
  let pressed = 0;
  window.lnTimes = [];
  root.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const start = pressed;
    requestAnimationFrame(() => setTimeout(() => lnTimes.push(performance.now() - start)));
  }).observe(root.querySelector("[data-part=says]"), { childList: true });
}"""


def transformer(browser, site):
    """Return the row of the transformer: ms from a key to its answer."""
    with opened(browser, site, RUN) as (page, _):
        page.wait_for_function("document.querySelector('.ln-transformer')?.dataset.ready")
        text = page.locator(".ln-transformer textarea")
        text.fill(SENTENCE)
        text.focus()
        page.keyboard.press("End")
        page.wait_for_timeout(8000)  # until it has written, and the browser has compiled
        page.evaluate(LONG)
        page.evaluate(ANSWER)
        for count in range(1, 2 * KEYS + 1):
            page.keyboard.press("Backspace" if count % 2 else "t")
            page.wait_for_function("n => lnTimes.length >= n", arg=count)
            page.wait_for_timeout(50)  # it writes meanwhile
        times = page.evaluate("lnTimes")
        facts = {
            "longest_task_ms": round(page.evaluate("Math.max(0, ...lnLong)")),
            "p95_ms": round(quantiles(times, n=20)[-1]),
            "pytorch_ms": round(pytorch_reads(), 1),
        }
    what = "answer of the transformer"
    goal = ("the goal", GOALS[what])
    return row(what, "64 characters", "the built book", median(times), instead=goal, **facts)


def pytorch_reads():
    """Return the ms that PyTorch takes for the logits with all norms on, and the last one off."""
    from lnlab import records
    from lnlab.experiments.transformer.reader import Reader

    on = Reader.of(records.read_all("transformer", ablate=True)[0])
    off = on.switch("on", "on", "on", "on", "off")
    return medians({"": lambda: (on.logits(SENTENCE), off.logits(SENTENCE))}, 1)[""]


def rows(device, folder=HTML) -> list[dict]:
    """Return the rows of every page of the book that has been built."""
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
    with served(folder) as site, sync_playwright() as playwright:
        try:
            browser, _ = launch(playwright)
        except NoBrowserError as error:
            print(f"Not measured: {error}")
            return []
        results = [r for path in paths for r in measure(browser, site, path)]
        results += [playground(browser, site), transformer(browser, site)]
        browser.close()
    return results
