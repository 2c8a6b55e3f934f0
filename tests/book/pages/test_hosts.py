"""Pages in a frame of another site, and on a host with a strict content security policy."""

import pytest

from tools.server import QuietHandler, serve

THEME = "document.documentElement.dataset.theme"


@pytest.fixture
def framed(browser, http):
    """``framed(address)``: a page in a frame without an origin, and therefore without storage."""
    page = browser.new_page(color_scheme="light")

    def frame(address):
        page.set_content(f'<iframe sandbox="allow-scripts" src="{http}/{address}" width="1200">')
        page.wait_for_selector("iframe")
        return page.frames[1]

    yield frame
    page.close()


def test_theme_and_quiz_work_in_a_sandboxed_frame(framed):
    frame = framed("introduction.html")
    frame.wait_for_function(f"{THEME} === 'light'")
    frame.wait_for_load_state()
    button = frame.locator(".theme-switch-button").first
    for _ in range(3):
        if frame.evaluate(THEME) == "light":
            button.dispatch_event("click")
    assert frame.evaluate(THEME) == "dark"
    frame.wait_for_selector(".ln-quiz[data-ready]", state="attached")
    assert frame.evaluate("localStorage.setItem('a', 1), localStorage.getItem('a')") == "1"


class StrictHandler(QuietHandler):
    def end_headers(self):
        self.send_header("Content-Security-Policy", "default-src 'self'")
        super().end_headers()


@pytest.fixture(scope="module")
def strict(built_book):
    """The URL of a server with the strictest policy under which the book works."""
    with serve(built_book, StrictHandler) as address:
        yield address


def test_formulas_and_figures_work_under_a_strict_policy(visit, strict):
    with visit(strict, "effective_learning_rate") as v:
        root = v.explorers()[0]
        assert root.get_attribute("data-ready") == "yes"
        before = root.get_attribute("data-state")
        root.query_selector(".ln-controls input").press("ArrowRight")
        v.page.wait_for_function("([r, s]) => r.dataset.state !== s", arg=[root, before])
        v.page.wait_for_selector("mjx-container", state="attached")
        stopped = [text for text in v.complaints if "inline style" not in text]
        assert stopped == []  # style attributes are forbidden, too


def test_the_playground_runs_without_a_worker_under_a_strict_policy(visit, strict):
    with visit(strict, "introduction") as v:
        v.page.get_by_role("button", name="Start", exact=True).click()
        count = "document.querySelector('.ln-playground [data-part=count]').textContent"
        v.page.wait_for_function(f"() => Number({count}) > 0")
