"""Every page of the built book, in a real browser, from a folder and from a server."""

import json
import random
from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError

from lnbook.show.explorer import page as written
from lnbook.show.explorer import still

PHONE = {"width": 390, "height": 844}
SIZE_LIMIT = 300_000  # bytes of one page's HTML
INK = "e => getComputedStyle(e.querySelector('.main-svg text')).fill"  # as a figure's text has it


@pytest.fixture(scope="session")
def opened(visit, built_book, chapter):
    """One visit that several tests look at."""
    with visit(built_book.as_uri(), chapter, reduced_motion="reduce") as v:
        v.explorers()
        yield v


def draws_and_never_complains(v, payloads):
    for root, states in zip(v.explorers(), payloads, strict=True):
        assert root.get_attribute("data-ready") == "yes", root.inner_text()
        assert_drawn(root, states)
    assert v.outside == []
    assert v.complaints == []


def test_page_draws_asks_no_network_and_never_complains(opened, chapter, payloads):
    draws_and_never_complains(opened, payloads(chapter))


def test_page_from_a_server_draws_itself_unscrolled_too(phone, chapter, payloads):
    draws_and_never_complains(phone, payloads(chapter))


def test_every_control_answers_and_draws_its_state(opened, payloads, chapter):
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        tall = root.bounding_box()["height"]
        for control in root.query_selector_all("input, select"):
            start = seen(root)
            before, changed = control.input_value(), False
            for value in stops(control):
                move(opened.page, root, control, value)
                assert_drawn(root, states)
                changed |= seen(root) != start
                assert root.bounding_box()["height"] == tall, "what is below would jump"
            label = root.evaluate("(r, c) => c.labels[0].textContent", control)
            assert changed, f"{label!r} changes neither figure nor sentence"
            move(opened.page, root, control, int(before))


def test_random_states_are_drawn_as_python_computed_them(opened, payloads, chapter):
    rng = random.Random(chapter)
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        controls = root.query_selector_all("input, select")
        for _ in range(3 if controls else 0):
            for control in controls:
                jump(control, rng.randint(0, stops(control)[-1]))
            wait_drawn(opened.page, root)
            assert_drawn(root, states)


def test_numbers_behind_a_figure_are_those_it_draws(opened, payloads, chapter):
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        summary = root.query_selector(".ln-numbers > summary")
        summary.focus()
        opened.page.keyboard.press("Enter")
        controls = root.query_selector_all("input, select")
        for place in (0, -1):
            for control in controls:
                jump(control, stops(control)[place])
            wait_drawn(opened.page, root)
            opened.page.wait_for_function(
                "r => r.querySelector('.ln-numbers table tbody td')", arg=root
            )
            shown = root.evaluate(
                "r => [...r.querySelectorAll('.ln-numbers table')].map(t => ({"
                "caption: t.caption?.textContent ?? '',"
                "rows: [...t.rows].map(row => [...row.cells].map(c => c.textContent))}))"
            )
            tables = written.numbers(states[index(root)]["panels"])
            assert [t["caption"] for t in shown] == [t["caption"] for t in tables]
            for found, table in zip(shown, tables, strict=True):
                expected = [table["columns"], *table["rows"]]
                assert [list(map(said, row)) for row in found["rows"]] == [
                    list(map(said, row)) for row in expected
                ]
        summary.click()


def test_a_figure_moves_to_the_next_unless_less_motion_is_asked_for(visit, built_book, payloads):
    """A choice is drawn in several frames; the figures in between are neither of the two."""
    watch = """(root, wanted) => {
      const frames = [];
      new MutationObserver(() => frames.push(JSON.stringify(
        [...root.querySelectorAll(".ln-panel")].map((p) => p.data.map((t) => t.z)))))
        .observe(root, { attributeFilter: ["data-frame"] });
      root.lnFrames = frames;
    }"""
    for motion, several in (("no-preference", True), ("reduce", False)):
        with visit(built_book.as_uri(), "start", reduced_motion=motion) as v:
            root = v.explorers()[0]
            wait_drawn(v.page, root)
            root.evaluate(watch)
            factor = root.query_selector_all("input")[1]
            jump(factor, stops(factor)[-1])
            wait_drawn(v.page, root)
            v.page.wait_for_timeout(50)
            frames = root.evaluate("r => r.lnFrames")
            assert (len(set(frames)) > 1) == several
            assert_drawn(root, payloads("start")[0])


def said(cell):
    """A cell as a number where it is one: two languages write 1e-7 in two ways."""
    if cell is None:
        return "–"
    try:
        return float(cell)
    except ValueError:
        return str(cell)


def test_every_play_button_runs_to_the_end(opened, payloads, chapter):
    opened.page.emulate_media(reduced_motion="no-preference")
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        for button in root.query_selector_all(".ln-play"):
            slider = root.evaluate_handle("(r, b) => b.nextElementSibling", button).as_element()
            last = int(slider.get_attribute("max"))
            move(opened.page, root, slider, max(last - 2, 0))
            button.click()
            opened.page.wait_for_function(
                "([r, b, s]) => s.value === s.max && b.textContent === '▶'"
                " && r.querySelector('.ln-text').ariaLive === 'polite'",
                arg=[root, button, slider],
            )
            opened.page.wait_for_function(
                "([r, i]) => r.dataset.state == i", arg=[root, index(root)]
            )
            assert_drawn(root, states)
    opened.page.emulate_media(reduced_motion="reduce")


def test_formulas_are_typeset(opened):
    page = opened.page
    if not page.query_selector(".math"):
        pytest.skip("no formula on this page")
    page.wait_for_function("window.MathJax?.startup?.promise")
    page.evaluate("MathJax.startup.promise")
    wrong = "mjx-merror, [data-mjx-error], mjx-container [style*='color: red']"  # unknown macro
    assert [e.text_content() for e in page.query_selector_all(wrong)] == []
    assert len(page.query_selector_all("mjx-container")) >= len(page.query_selector_all(".math"))
    prose = page.evaluate(
        "() => { const a = document.querySelector('article').cloneNode(true);"
        "a.querySelectorAll('pre, code, script, mjx-container').forEach(e => e.remove());"
        "return a.textContent }"
    )
    assert not [sign for sign in ("$", r"\(", r"\[", r"\begin") if sign in prose]


def test_the_keyboard_reaches_a_formula_that_scrolls(visit, built_book):
    scrolls = (
        "() => [...document.querySelectorAll('div.math, div.math mjx-container')]"
        ".filter(e => e.scrollWidth > e.clientWidth).map(e => e.tabIndex)"
    )
    with visit(built_book.as_uri(), "one_example") as v:
        v.page.wait_for_selector("div.math mjx-container")
        assert v.page.evaluate(scrolls) == []
        assert not v.page.query_selector("div.math[tabindex], div.math [tabindex]")
        v.page.add_style_tag(content="div.math { width: 120px }")
        v.page.wait_for_selector("div.math [tabindex='0']")
        assert set(v.page.evaluate(scrolls)) == {0}


def test_no_code_is_wider_than_its_box(opened):
    wide = opened.page.evaluate("""() => {
      const shut = [...document.querySelectorAll("article details:not([open])")];
      const off = [...document.querySelectorAll("article .toggle-hidden")];
      for (const e of shut) e.open = true;
      for (const e of off) e.classList.remove("toggle-hidden");
      const code = document.querySelectorAll("article :is(.highlight, .cell_output) pre");
      const wide = [...code].filter((e) => e.scrollWidth > e.clientWidth + 1);
      const said = wide.map((e) => e.textContent);
      for (const e of shut) e.open = false;
      for (const e of off) e.classList.add("toggle-hidden");
      return said;
    }""")
    assert wide == []


def test_images_and_figures_speak(opened):
    silent = opened.page.evaluate(
        "() => [...document.querySelectorAll('article img, article [role=img], article svg')]"
        ".filter(e => !e.closest('[aria-hidden=true], [role=img] *, button, summary'))"
        ".filter(e => !(e.alt || e.ariaLabel || '').trim()).map(e => e.outerHTML.slice(0, 200))"
    )
    assert silent == []


def test_page_is_small(built_book, chapter):
    assert (built_book / f"{chapter}.html").stat().st_size < SIZE_LIMIT


def test_page_reads_without_javascript(visit, built_book, payloads, chapter):
    with visit(built_book.as_uri(), chapter, java_script_enabled=False) as v:
        assert v.page.locator("article h1").first.is_visible()
        roots = v.page.locator(".ln-explorer").all()
        for root, states in zip(roots, payloads(chapter), strict=True):
            sentence = root.locator(".ln-text")
            assert sentence.is_visible()
            assert sentence.inner_text() in [state["text"] for state in states]
            assert root.locator("noscript").is_visible()
            for panel in root.locator(".ln-panel").all():
                assert panel.locator(".ln-still div > svg").bounding_box()["width"] > 100
                assert panel.locator(".ln-still div > svg > :not(.ln-grid)").count()
        assert v.outside == []


def test_a_still_has_the_axes_that_plotly_gives_the_figure(opened, payloads, chapter):
    for root, states in zip(opened.explorers(), payloads(chapter), strict=True):
        for panel, shown in zip(
            states[index(root)]["panels"], root.query_selector_all(".ln-panel"), strict=True
        ):
            for letter, axis in still.axes(panel).items():
                low, high = shown.evaluate("(e, a) => e._fullLayout[a].range", letter)
                room = (
                    0.13 * abs(high - low)
                    if "scaleanchor" not in panel["layout"].get("yaxis", {})
                    else 1e9
                )
                assert abs(axis.low - low) < room, (letter, axis.low, low)
                assert abs(axis.high - high) < room, (letter, axis.high, high)


@pytest.fixture(scope="session")
def phone(visit, http, chapter):
    """The same page on a phone, from a server; nobody has scrolled before it was drawn."""
    with visit(http, chapter, viewport=PHONE, reduced_motion="reduce") as v:
        v.page.wait_for_function(
            "() => [...document.querySelectorAll('.ln-explorer')]"
            ".every(e => e.dataset.ready === 'yes')"
        )
        yield v


def test_a_control_and_all_that_it_compares_are_on_one_screen_of_a_phone(phone):
    head = phone.page.locator(".bd-header-article").bounding_box()["height"]
    for root in phone.explorers():
        if controls := root.query_selector(".ln-controls"):
            top = controls.bounding_box()["y"]
            panels = root.query_selector(".ln-panels").bounding_box()
            tall = panels["y"] + panels["height"] - top
            assert tall <= PHONE["height"] - head, root.query_selector(".ln-title").inner_text()


def test_a_card_on_a_phone_keeps_its_height(phone, payloads, chapter):
    rng = random.Random(chapter)
    for root in phone.explorers():
        tall, controls = root.bounding_box()["height"], root.query_selector_all("input, select")
        for _ in range(4 if controls else 0):
            for control in controls:
                jump(control, rng.choice(stops(control)))
            wait_drawn(phone.page, root)
            assert root.bounding_box()["height"] == tall, root.query_selector(
                ".ln-text"
            ).inner_text()


def test_phone_scrolls_down_and_never_sideways(phone):
    stays_narrow(phone.page, PHONE["width"])
    as_firefox_has_it = phone.page.add_style_tag(content="input[type='range'] { width: 12em }")
    for width in (360, 320, PHONE["width"]):
        phone.page.set_viewport_size({"width": width, "height": PHONE["height"]})
        stays_narrow(phone.page, width)
    as_firefox_has_it.evaluate("e => e.remove()")


def stays_narrow(page, width):
    """Figures follow the window after a while; then the page is no wider than it."""
    wide = "document.documentElement.scrollWidth"
    with suppress(TimeoutError):
        page.wait_for_function(f"width => {wide} <= width", arg=width, timeout=5000)
    page.evaluate("scrollTo(1000, 0)")
    beyond = page.evaluate(
        "() => [...document.querySelectorAll('body *')].filter("
        "e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5)"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert page.evaluate("scrollX") == 0, beyond
    assert page.evaluate(wide) <= width, beyond


@pytest.mark.parametrize("window", ["opened", "phone"])
def test_axe_finds_nothing_in_light_and_dark(request, violations, chapter, window):
    page = request.getfixturevalue(window).page
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function("t => document.documentElement.dataset.theme === t", arg=theme)
        page.wait_for_timeout(500)  # the theme fades in
        assert (theme, violations(page, colors=theme == "dark")) == (theme, [])
    page.emulate_media(color_scheme="light")


PLANTED = """<!doctype html><html lang="en"><title>t</title><main><h1>h</h1><img src="data:,">
<button aria-label="Go">Stop</button><p style="color: #999; background: #fff">pale</p></main>"""


def test_axe_finds_what_is_planted(chromium, violations):
    page = chromium.new_page()
    page.set_content(PLANTED)
    wrong = dict(violations(page))
    assert set(wrong) == {"image-alt", "label-content-name-mismatch", "color-contrast"}
    assert wrong["image-alt"] == ['<img src="data:,">']
    assert [rule for rule, _ in violations(page, colors=True)] == ["color-contrast"]
    page.close()


def test_figures_follow_the_theme(opened):
    roots = opened.explorers()
    light = [root.evaluate(INK) for root in roots]
    opened.page.emulate_media(color_scheme="dark")
    for root, before in zip(roots, light, strict=True):
        opened.page.wait_for_function(f"([e, before]) => ({INK})(e) !== before", arg=[root, before])
    opened.page.emulate_media(color_scheme="light")
    for root, before in zip(roots, light, strict=True):
        opened.page.wait_for_function(f"([e, before]) => ({INK})(e) === before", arg=[root, before])


def test_figures_follow_the_button_that_chooses_a_theme(visit, built_book, explored):
    with visit(built_book.as_uri(), explored, color_scheme="light") as v:
        root = v.explorers()[0]
        light = root.evaluate(INK)
        button = v.page.locator(".theme-switch-button").first
        while v.page.evaluate("document.documentElement.dataset.theme") != "dark":
            button.click()
        v.page.wait_for_function(f"([e, before]) => ({INK})(e) !== before", arg=[root, light])


@pytest.mark.parametrize("name", ["start", "one_example", "train_with_four"])
def test_the_address_has_every_moved_control_and_brings_it_back(visit, built_book, name, payloads):
    with visit(built_book.as_uri(), name) as v:
        roots = [r for r in v.explorers() if r.query_selector(".ln-controls :is(input, select)")]
        for root in roots[:2]:
            for control in root.query_selector_all(".ln-controls :is(input, select)"):
                last = stops(control)[-1]
                jump(control, 0 if int(control.input_value()) == last else last)
            wait_drawn(v.page, root)
        moved = sum(len(root.query_selector_all("input, select")) for root in roots[:2])
        v.page.wait_for_function("n => (location.hash.match(/=/g) ?? []).length === n", arg=moved)
        there = [(root.get_attribute("id"), index(root)) for root in roots[:2]]
        address = v.page.evaluate("location.hash")
    with visit(built_book.as_uri(), name, address + "&nonsense=%F0&explorer-99&x=1") as v:
        v.explorers()
        for id_, state in there:
            root = v.page.query_selector(f"#{id_}")
            wait_drawn(v.page, root)
            assert index(root) == state
            assert_drawn(root, payloads(name)[int(id_.split("-")[1]) - 1])
        assert not v.complaints


def test_less_motion_means_one_step_a_press(visit, built_book, payloads, explored):
    with visit(built_book.as_uri(), explored, reduced_motion="reduce") as v:
        for root in v.explorers():
            for button in root.query_selector_all(".ln-play"):
                slider = root.evaluate_handle("(r, b) => b.nextElementSibling", button).as_element()
                assert button.get_attribute("aria-label").startswith("Next: ")
                move(v.page, root, slider, 0)
                button.click()
                v.page.wait_for_timeout(900)  # longer than two steps of a player
                assert int(slider.input_value()) == 1
        moving = v.page.evaluate(
            "() => [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() &&"
            " parseFloat(getComputedStyle(e).transitionDuration) > 0).length"
        )
        assert moving == 0


def test_old_browser_is_told_why_there_is_no_figure(visit, built_book, explored, payloads):
    def make_old(page):
        page.add_init_script("delete window.DecompressionStream")

    with visit(built_book.as_uri(), explored, before=make_old) as v:
        assert_says_why(v, payloads(explored)[0], "this browser is too old")


def test_missing_plotly_is_told(visit, http, explored, payloads):
    def lose_plotly(page):
        page.route("**/plotly.min.js", lambda route: route.abort())

    with visit(http, explored, before=lose_plotly) as v:
        assert_says_why(v, payloads(explored)[0], "plotly.min.js is missing")


def assert_says_why(v, states, reason):
    root = v.explorers()[0]
    said = root.query_selector(".ln-text").inner_text()
    assert root.get_attribute("data-ready") == "failed"
    assert said.startswith(states[index(root)]["text"])
    assert reason in said
    assert not root.query_selector(".ln-controls").is_visible()
    assert all(one.is_visible() for one in root.query_selector_all(".ln-still"))
    assert root.query_selector(".ln-still svg")


def test_print_is_light_and_without_controls(visit, built_book, explored):
    with visit(built_book.as_uri(), explored, color_scheme="dark") as v:
        root = v.explorers()[0]
        v.page.emulate_media(media="print")
        dark = root.evaluate(INK)
        v.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert root.evaluate(INK) != dark
        assert root.query_selector(".ln-panels").is_visible()
        assert not root.query_selector(".ln-controls").is_visible()
        v.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert v.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_answers_stand_at_the_end_of_a_printed_chapter(visit, built_book):
    """Hints open where they are; afterwards the page is as it was."""
    with visit(built_book.as_uri(), "one_example") as v:
        article = v.page.locator("article.bd-article")
        v.explorers()
        v.page.wait_for_selector("mjx-container")
        count = "() => [...document.querySelectorAll('article *')].length"
        before, order = v.page.evaluate(count), article.inner_text()
        v.page.emulate_media(media="print")
        v.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        end = article.locator("section:last-of-type > .ln-answers, :scope > section > .ln-answers")
        assert end.count() == 1
        assert end.evaluate("e => !e.nextElementSibling")
        assert end.locator("li").count() == v.page.locator(".ln-question").count() > 0
        assert end.locator(".solution").count() == v.page.locator(".exercise").count() > 0
        assert (
            article.locator("[data-right]").filter(visible=True).count()
            == end.locator("li").count()
        )
        assert v.page.locator(".ln-question [data-right]").filter(visible=True).count() == 0
        hidden = article.locator("details:not(.above-input, .ln-numbers, .ln-answer)")
        assert all(one.get_attribute("open") is not None for one in hidden.all())
        v.page.evaluate("dispatchEvent(new Event('afterprint'))")
        v.page.emulate_media(media="screen")
        assert (v.page.evaluate(count), article.inner_text()) == (before, order)


def test_card_keeps_its_height_when_the_figure_comes(visit, http, explored):
    height, held = "e => e.getBoundingClientRect().height", []

    def hold_plotly(page):
        page.route("**/plotly.min.js", lambda route: held.append(route))

    with visit(http, explored, before=hold_plotly, until="domcontentloaded") as v:
        root = v.page.query_selector(".ln-explorer")
        root.scroll_into_view_if_needed()
        while not held:
            v.page.wait_for_timeout(10)
        before = root.evaluate(height)
        held[0].continue_()
        v.explorers()
        assert abs(root.evaluate(height) - before) <= 1


def test_search_finds_a_page(visit, site):
    with visit(site, "search", "?q=normalization") as v:
        v.page.wait_for_selector("#search-results li a")
        assert (v.outside, v.complaints) == ([], [])


def test_index_leads_to_the_first_page(visit, site):
    with visit(site, "index") as v:
        v.page.wait_for_url("**/start.html")
        v.page.wait_for_load_state()
        assert v.page.locator("article h1").first.is_visible()
        assert (v.outside, v.complaints) == ([], [])


# Hands and eyes.


def sizes(root):
    return json.loads(root.get_attribute("data-sizes"))


def index(root):
    """The state the controls ask for, the last control running fastest."""
    number = 0
    for size, control in zip(sizes(root), root.query_selector_all("input, select"), strict=True):
        number = number * size + int(control.input_value())
    return number


def stops(control):
    """First, middle and last position."""
    last = control.evaluate("e => e.options ? e.options.length - 1 : Number(e.max)")
    return sorted({0, last // 2, last})


def jump(control, value):
    """Put a control where a drag would leave it."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.select_option(index=value)
    else:
        control.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input')) }", value)


def wait_drawn(page, root):
    page.wait_for_function("([r, i]) => r.dataset.state == i", arg=[root, index(root)])


def move(page, root, control, value):
    """Move a control as a reader does: keys on a slider, a choice in a list."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.select_option(index=value)
    else:
        control.focus()
        while abs(int(control.input_value()) - value) > 1:  # the long way in one drag
            jump(control, value + (1 if value == 0 else -1))
        while (now := int(control.input_value())) != value:
            page.keyboard.press("ArrowRight" if now < value else "ArrowLeft")
    wait_drawn(page, root)


def seen(root):
    """The sentence, and every mark as it stands in the figure."""
    return root.evaluate(
        "r => [r.querySelector('.ln-text').textContent, ...[...r.querySelectorAll('.main-svg')]"
        ".map(s => s.innerHTML.replace(/(clip|legend|topdefs-|defs-)[0-9a-f]{6}\\w*/g, ''))]"
    )


def assert_drawn(root, states):
    """What plotly holds is what Python computed for this position of the controls."""
    state = states[index(root)]
    assert root.query_selector(".ln-text").inner_text() == state["text"]
    drawn = root.evaluate("r => [...r.querySelectorAll('.ln-panel')].map(p => p.data)")
    assert drawn == [panel["data"] for panel in state["panels"]]
    marks = root.evaluate(
        "r => [...r.querySelectorAll('.ln-panel')].map(p => p.querySelectorAll("
        "'.trace, .hm, .point, .shapelayer path, .annotation').length)"
    )
    assert all(marks), "a panel is empty"


@pytest.mark.parametrize(
    "state",
    [
        "localStorage.mode = localStorage.theme = 'banana'",
        "localStorage.mode = '<img>'; localStorage.theme = '__proto__';"
        "localStorage.pst_banner_pref = '{'; sessionStorage['sidebar-scroll-top'] = 'x'",
        "Storage.prototype.setItem = () => { throw new DOMException('full') }",
        "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty("
        "window, name, { get() { throw new DOMException('no') } })",
    ],
    ids=["no theme", "nonsense", "full", "forbidden"],
)
def test_a_page_works_whatever_the_storage_holds_of_its_look(visit, built_book, explored, state):
    with visit(
        built_book.as_uri(),
        explored,
        before=lambda page: page.add_init_script(state),
        color_scheme="dark",
    ) as v:
        v.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        assert {e.get_attribute("data-ready") for e in v.explorers()} == {"yes"}
        assert v.page.locator(".ln-quiz[data-ready]").count() == 1
        v.page.wait_for_selector("mjx-container", state="attached")
