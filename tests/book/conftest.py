"""Fixtures of the tests of pages: the built book, a browser, and visits that record errors."""

import os
import re
import shutil
import subprocess
import sys
import threading
import traceback
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import greenlet
import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Error, sync_playwright

from tests.cases.page import unpack
from tools import axe, book
from tools import browser as browsers
from tools.server import serve

ROOT = Path(__file__).parents[2]
READY = "e => ['yes', 'failed'].includes(e.dataset.ready)"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1300, "height": 900}
PATIENCE = 180_000  # ms; a limit against hanging, not a measure of speed
FIREFOX = any(map(shutil.which, browsers.FIREFOX))
TOC = "format: jb-book\nroot: introduction\nchapters:\n{chapters}"


def build(command, *words, folder, **environment):
    """Run a command of this environment in a folder; its output is without colors."""
    env = {k: v for k, v in os.environ.items() if k != "LNLIB_STATIC"} | environment
    done = subprocess.run(
        [Path(sys.executable).with_name(command), *words], cwd=folder, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    done.stdout = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    return done


class Book:
    """A small book with the configuration of this one."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = []
        (folder / "book").mkdir()
        shutil.copy(ROOT / "_config.yml", folder)
        shutil.copy(ROOT / "book" / "references.bib", folder / "book")
        for part in ("_ext", "_static", "_templates"):
            shutil.copytree(ROOT / "book" / part, folder / "book" / part)
        self.add(
            "introduction",
            "# Start\n\nThis page has nothing to hide and takes {minutes}`introduction`; see "
            "{cite:t}`Ba2016`.\n\n```{bibliography}\n```",
        )

    def add(self, name, text, *code, metadata=None, run=True):
        cells = [new_markdown_cell(text), *map(new_code_cell, code)]
        for i, cell in enumerate(cells):
            cell["id"] = f"cell-{i}"
            cell.metadata.update(metadata or {})
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        # Pages without code need no kernel, which takes a second to start.
        mode = {} if code and run else {"mystnb": {"execution_mode": "off"}}
        notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel} | mode)
        nbformat.write(notebook, self.folder / "book" / f"{name}.ipynb")
        self.pages = [*dict.fromkeys([*self.pages, name])]

    def build(self):
        chapters = "".join(f"  - file: {name}\n" for name in self.pages if name != "introduction")
        toc = TOC.format(chapters=chapters).removesuffix("chapters:\n")
        (self.folder / "_toc.yml").write_text(toc)
        command = (
            "build book --config _config.yml --toc _toc.yml --path-output . -W -n --keep-going"
        )
        return build("jupyter-book", *command.split(), folder=self.folder)

    def html(self, name):
        return (self.folder / "_build" / "html" / f"{name}.html").read_text("utf-8")


def pages(toc=ROOT / "_toc.yml"):
    """All pages in the table of contents, in order."""

    def files(entry):
        if isinstance(entry, list):
            return [name for item in entry for name in files(item)]
        if not isinstance(entry, dict):
            return []
        own = [entry[key] for key in ("root", "file") if key in entry]
        return own + [
            name for key in ("parts", "chapters", "sections") for name in files(entry.get(key))
        ]

    return files(yaml.safe_load(toc.read_text("utf-8")))


BROWSERS = {
    "chromium": lambda playwright: browsers.launch(playwright)[0],
    "firefox": browsers.Firefox,
    "webkit": lambda playwright: playwright.webkit.launch(),
}


def in_browsers(metafunc):
    """Return the browsers of a test: BROWSERS, or else Chromium and, if marked, Firefox.

    In the latter case, Firefox is slow, because it was not requested.
    """
    names = os.environ.get("BROWSERS", "").split()
    if wrong := set(names) - set(BROWSERS):
        raise pytest.UsageError(f"BROWSERS names {wrong}, and has to be of {list(BROWSERS)}")
    marks = {
        name: pytest.mark.skip(reason=f"{name}: {mark.kwargs['reason']}")
        for mark in metafunc.definition.iter_markers("not_in")
        for name in mark.args
    }
    if not names:
        marked = metafunc.definition.get_closest_marker("every_browser")
        names = ["chromium", "firefox"] if marked and FIREFOX else ["chromium"]
        marks.setdefault("firefox", pytest.mark.slow)
    return [pytest.param(name, marks=marks.get(name, ())) for name in names]


def pytest_generate_tests(metafunc):
    if "browser" in metafunc.fixturenames:
        metafunc.parametrize("browser", in_browsers(metafunc), indirect=True, scope="session")
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", pages(), scope="session")


def pytest_collection_modifyitems(items):
    """Run a test of pages again after a timeout: rarely, Chromium stops drawing a page.

    A page that does not work times out twice, and the summary counts tests that ran again.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun="^TimeoutError"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Show where a test hangs before pytest ends it: pytest sees only Playwright's event loop."""
    if "browser" not in item.fixturenames:
        return (yield)
    test = greenlet.getcurrent()

    def show():
        stack = "".join(traceback.format_stack(test.gr_frame)[-12:])
        with item.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"{item.nodeid} hangs:\n{stack}", file=sys.stderr, flush=True)

    timer = threading.Timer(0.9 * float(item.config.getini("faulthandler_timeout")), show)
    timer.daemon = True
    timer.start()
    try:
        return (yield)
    finally:
        timer.cancel()


@pytest.fixture(scope="session")
def built_book():
    """The folder of the built book."""
    html = ROOT / "_build" / "html"
    if "BOOK_IS_COMING" in os.environ and book.outcome() != "built":
        pytest.fail("The book was not built: what `make book` says comes first.")
    if not (html / "index.html").exists():
        pytest.fail(f"There is no book in {html}: run `make book` first.")
    return html


@pytest.fixture(scope="session")
def playwright():
    """A running Playwright."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(request, playwright):
    """A browser, controlled by Playwright."""
    try:
        started = BROWSERS[request.param](playwright)
    except browsers.NoBrowserError as error:
        pytest.fail(str(error))
    except Error as error:
        pytest.skip(f"Playwright's {request.param} does not start: {str(error).splitlines()[0]}")
    yield started
    started.close()


@pytest.fixture(scope="session")
def http(built_book):
    """The URL of a local server with the book."""
    with serve(built_book) as address:
        yield address


@pytest.fixture(params=["file", "http"], scope="session")
def site(request, built_book):
    """The location of the book: a folder or a server."""
    return built_book.as_uri() if request.param == "file" else request.getfixturevalue("http")


@dataclass
class Visit:
    """An open page, and the errors that occurred."""

    page: object
    outside: list = field(default_factory=list)
    complaints: list = field(default_factory=list)
    shift: float = 0  # unexpected layout shift, if measured

    def explorers(self, which=".ln-explorer"):
        """Scroll to every explorer, or to those of a selector, and wait until it is drawn."""
        roots = self.page.query_selector_all(which)
        for root in roots:
            root.scroll_into_view_if_needed()
            self.page.wait_for_function(READY, arg=root)
        return roots


@contextmanager
def new_visit(browser, site="file://", **options):
    """An empty page, which records its errors and its requests to other places than the site."""
    context = browser.new_context(**({"viewport": DESK} | options))
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    v = Visit(page)
    page.on("request", lambda r: is_inside(r.url, site) or v.outside.append(r.url))
    page.on("requestfailed", lambda r: v.complaints.append(f"failed: {r.url}"))
    page.on("response", lambda r: r.status < 400 or v.complaints.append(f"{r.status}: {r.url}"))
    page.on("websocket", lambda w: v.outside.append(w.url))
    page.on("pageerror", lambda e: v.complaints.append(f"error: {e}"))
    page.on(
        "console",
        lambda m: m.type in ("error", "warning") and v.complaints.append(f"{m.type}: {m.text}"),
    )
    try:
        yield v
    finally:
        context.close()


@pytest.fixture(scope="session")
def visit(browser):
    """``with visit(site, name, …) as v``: open a page and record its requests and errors.

    ``query`` is appended to the address, ``before`` is called with the page before it is loaded,
    ``until`` is the event to wait for; other options are those of the browser context.
    """

    @contextmanager
    def open_page(site, name, query="", before=None, until="load", **options):
        with new_visit(browser, site, **options) as v:
            v.page.context.route(
                lambda url: url.startswith("http") and not is_inside(url, site),
                lambda route: route.abort(),
            )
            v.page.add_init_script(UNFOLD)
            if before:
                before(v.page)
            v.page.goto(f"{site}/{name}.html{query}", wait_until=until)
            yield v

    return open_page


class Widget:
    """A widget of an open page, once it is drawn."""

    def __init__(self, page, name):
        self.page, self.root = page, page.locator(f".ln-{name}").first
        page.wait_for_function(
            "name => document.querySelector(`.ln-${name}`)?.dataset.ready === 'yes'", arg=name
        )

    def part(self, name):
        return self.root.locator(f"[data-part='{name}']")

    def text(self, name):
        return self.part(name).first.inner_text()

    def texts(self, name):
        return self.part(name).all_inner_texts()

    def press(self, name, *keys):
        """Press keys in a part."""
        self.part(name).first.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def play(self, name, part):
        """Press a button that moves a slider to its end, and wait until it has."""
        last = self.part(part).first.get_attribute("max")
        self.root.get_by_role("button", name=name).first.click()
        self.root.get_by_role("button", name="Stop", pressed=True).first.wait_for()
        self.root.get_by_role("button", name=name, pressed=False).first.wait_for()
        assert self.part(part).first.input_value() == last

    def announces(self, text):
        """Wait until a text is in the status for screen readers."""
        self.root.get_by_role("status").filter(has_text=text).first.wait_for(state="attached")


@pytest.fixture(scope="session")
def use(visit, built_book):
    """``with use(chapter, widget, query, …) as w``: the widget of a chapter, without any error."""

    @contextmanager
    def opened(chapter, name, query="", **options):
        options = {"reduced_motion": "reduce"} | options
        with visit(built_book.as_uri(), chapter, query, **options) as v:
            yield Widget(v.page, name)
            assert (v.complaints, v.outside) == ([], [])

    return opened


@pytest.fixture(scope="module")
def browse(browser, tmp_path_factory):
    """``browse(source, web, **options)``: open a page with this source, next to files of a widget.

    The errors of the page are its ``complaints``.
    """
    with ExitStack() as visits:

        def open_page(source, web=None, **options):
            path = tmp_path_factory.mktemp("page") / "page.html"
            path.write_text(source, "utf-8")
            if web:
                web.write(path.parent)
            v = visits.enter_context(new_visit(browser, **options))
            v.page.complaints = v.complaints
            v.page.goto(path.as_uri())
            return v.page

        yield open_page


@pytest.fixture(scope="module")
def scripts(request, browser):
    """A page that contains only the scripts of a widget, named by ``SCRIPTS`` of the module.

    ``MORE``, if defined, is run after them.
    """
    web, *names = request.module.SCRIPTS
    page = browser.new_page()
    within_reach = "".join(f"\nwindow.{name} = {name};" for name in names)
    more = getattr(request.module, "MORE", "")
    page.add_script_tag(content=web.source() + within_reach + more)
    yield page
    page.close()


def go_to(page, address):
    """Go to another address of the open page, like a pasted link or the back button."""
    page.evaluate(
        "(hash) => new Promise((done) => { location.hash = hash; addEventListener('hashchange', "
        "done, { once: true }); })",
        address,
    )


def is_inside(url, site):
    return url.startswith((site + "/", "data:", "blob:"))


# Quiz and exercises are folded; tests unfold them first.
UNFOLD = """addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll("details.ln-part")) part.open = true;
});"""


@pytest.fixture(scope="session")
def violations():
    """``violations(page)``: the accessibility rules that a page violates, and the elements."""
    return axe.violations


@pytest.fixture(scope="session")
def payloads(built_book):
    """``payloads(page)``: the states of each explorer, read without a browser."""

    @lru_cache(maxsize=2)  # the tests of a page run consecutively
    def read(name):
        source = (built_book / f"{name}.html").read_text("utf-8")
        files = re.findall(r'class="ln-data" data-file="([^"?]*)\?v=', source)
        written = [(built_book / "_static" / file).read_text("utf-8") for file in files]
        return [unpack(text.split('"')[3]) for text in written]

    return read


@pytest.fixture(scope="session")
def explored(payloads):
    """A page that has an explorer with controls."""
    return next(name for name in pages() if any(len(states) > 1 for states in payloads(name)))
