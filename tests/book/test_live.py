"""A chapter in JupyterLab, as `make live` opens it: cells run, controls answer from Python."""

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import psutil  # comes with ipykernel
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from lnbook.chapters.introduction import figures
from lnbook.chapters.normalization_axes import figures as axes
from lnbook.widgets.norm_table import NormTable

BOOK = Path(__file__).parents[2] / "book"
PATIENCE = 60  # seconds; a limit against hanging, not a measure of speed
SETTINGS = {
    "jupyter_lab_config.json": {
        "LabApp": {
            # what asks the network, in JupyterLab as it comes
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "extension_manager": "readonly",
            "news_url": None,
            "expose_app_in_browser": True,  # so that one page opens all notebooks
        }
    },
    # else Node.js is asked what could be built
    "labconfig/page_config.json": {"buildAvailable": False, "buildCheck": False},
}
START = """async () => {
  while (!window.jupyterapp) await new Promise((then) => setTimeout(then, 50));
  await window.jupyterapp.restored;
}"""
OPEN = """async (path) => {
  const panel = await window.jupyterapp.commands.execute("docmanager:open", { path });
  await panel.sessionContext.ready;
}"""
# It asks not whether to save; and the next notebook has to bring plotly.js itself.
CLOSE = """() => {
  window.jupyterapp.shell.currentWidget.dispose();
  for (const name of ["lnlibPlotly", "Plotly"]) delete globalThis[name];
}"""
RUN = """
import time
from lnbook.show import LiveRun, choice, show
import plotly.graph_objects as go

def run(n):
    for i in range(n):
        time.sleep(0.1)
        yield i

LiveRun(
    run,
    lambda results, n: go.Figure(go.Scatter(y=results)),
    {"n": choice("Results", [5, 100000])},
    title="Count",
    describe=lambda results, n: f"{len(results)} of {n}.",
)
"""


class Lab:
    """A JupyterLab of its own: its folders, port and token are nobody else's."""

    def __init__(self, folder):
        self.root, self.token = folder / "chapters", secrets.token_hex(16)
        self.root.mkdir()
        named = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
        own = {f"JUPYTER_{name}": folder / name.lower() for name in named}
        own |= {f"JUPYTERLAB_{n}_DIR": folder / n.lower() for n in ("WORKSPACES", "SETTINGS")}
        own |= {"IPYTHONDIR": folder / "ipython", "JUPYTER_TOKEN": self.token}
        (own["JUPYTER_CONFIG_DIR"] / "labconfig").mkdir(parents=True)
        for name, settings in SETTINGS.items():
            (own["JUPYTER_CONFIG_DIR"] / name).write_text(json.dumps(settings))
        self.env = os.environ | {name: str(value) for name, value in own.items()}
        self.env.pop("LNLIB_STATIC", None)
        self.runtime, self.log = own["JUPYTER_RUNTIME_DIR"], folder / "log.txt"

    @contextlib.contextmanager
    def running(self):
        """Serve the folder; afterwards the server and every kernel are gone."""
        flags = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
        flags.append(f"--ServerApp.root_dir={self.root}")
        with self.log.open("w") as log:
            process = psutil.Popen(
                [sys.executable, "-m", "jupyterlab", *flags],
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                self.url = self.address(process)
                yield self
            finally:
                family = []
                with contextlib.suppress(psutil.NoSuchProcess):  # the log says why
                    family = [*process.children(recursive=True), process]
                    process.terminate()
                _, left = psutil.wait_procs(family, timeout=PATIENCE)
                for one in left:
                    one.kill()
                process.wait(PATIENCE)
        assert left == [], "these did not end with the server"

    def address(self, process):
        """Where it listens; it writes that down when it does."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and process.poll() is None:
            for note in self.runtime.glob("jpserver-*.json"):
                try:
                    url = json.loads(note.read_text())["url"].rstrip("/")
                    urllib.request.urlopen(f"{url}/api?token={self.token}").close()
                except (OSError, ValueError):  # half written, or not listening yet
                    continue
                return url
            time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()}")

    def ask(self, what, **body):
        """Post to the server's API."""
        request = urllib.request.Request(
            f"{self.url}/api/{what}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with Lab(tmp_path_factory.mktemp("lab")).running() as lab:
        yield lab


@pytest.fixture(scope="module")
def opened(lab, browser):
    """The page of JupyterLab, which is loaded once, and what it asks of others than its server."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    outside = []
    context.route(
        lambda url: not url.startswith((lab.url, "data:", "blob:")),
        lambda route: (outside.append(route.request.url), route.abort()),
    )
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{lab.url}/doc?reset&token={lab.token}")
    page.evaluate(START)
    yield page, outside
    context.close()


@pytest.fixture
def run_all(lab, opened):
    """``with run_all(path) as page``: a notebook open in JupyterLab, every cell run."""
    page, outside = opened

    @contextlib.contextmanager
    def open_notebook(path):
        shutil.copy(path, lab.root)
        kernel = {"name": "python3"}
        # A kernel before the notebook: else the page asks which one.
        lab.ask("sessions", path=path.name, name=path.name, type="notebook", kernel=kernel)
        page.evaluate(OPEN, path.name)
        try:
            page.get_by_text(re.compile(r"\| Idle$")).wait_for()
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_text("Run All Cells", exact=True).click()
            yield page
            assert outside == []
        finally:
            page.evaluate(CLOSE)

    return open_notebook


@pytest.mark.slow
def test_chapter_runs_and_its_figure_answers_in_jupyterlab(run_all):
    with run_all(BOOK / "introduction.ipynb") as page:
        card = page.locator(".ln-live").first
        sentence = card.get_by_role("status")
        sentence.get_by_text(figures.describe(8, 1.0), exact=True).wait_for()
        assert_drawn(card, "z", tables(8, 1.0))

        size, factor = card.get_by_role("slider").all()
        size.press("ArrowLeft")
        sentence.get_by_text(figures.describe(7, 1.0), exact=True).wait_for()
        assert_drawn(card, "z", tables(7, 1.0))

        factor.press("End")
        sentence.get_by_text(figures.describe(7, 10.0), exact=True).wait_for()
        assert_drawn(card, "z", tables(7, 10.0))
        errors = page.locator(".jp-OutputArea-output[data-mime-type*=error], .jp-mod-error")
        assert errors.all_inner_texts() == []


def assert_drawn(card, axis, wanted):
    """What plotly holds in the page is what Python drew, to the last digit."""
    read = f"""card => [...card.querySelectorAll('.js-plotly-plot')].map(plot =>
        plot.querySelector('.trace, .hm') && [...plot.data?.[0]?.{axis} ?? []].flat())"""
    wanted = [np.ravel(values).tolist() for values in wanted]
    end = time.monotonic() + PATIENCE
    while (held := card.evaluate(read)) != wanted and time.monotonic() < end:
        card.page.wait_for_timeout(100)
    assert held == wanted


def tables(batch_size, scale):
    return [figure.data[0].z for figure in figures.draw(batch_size, scale)]


@pytest.mark.slow
def test_number_typed_into_a_chapters_table_is_computed_and_a_word_is_told(run_all):
    sheet = NormTable(axes.TABLE, title="", running=axes.POPULATION, start="layer norm")
    with run_all(BOOK / "normalization_axes.ipynb") as page:
        field = page.get_by_title("example 1, feature 1", exact=True)
        sentence = page.locator(".ln-norm-table-live").get_by_role("status")
        for typed in ("-7.5", "seven"):
            field.fill(typed)
            (_, *row), *rows = sheet.start.x
            text = sheet.read(replace(sheet.start, x=((typed, *row), *rows), cell=(0, 0)))
            for words in filter(None, (text.text, text.warning)):
                sentence.get_by_text(words).wait_for()


@pytest.mark.slow
def test_a_run_starts_stops_and_resumes_in_jupyterlab(run_all, tmp_path):
    path = tmp_path / "run.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(RUN)]), path)
    with run_all(path) as page:
        card = page.locator(".ln-live")

        def press(name):
            card.get_by_role("button", name=re.compile(f"{name}$")).click()  # after its icon

        def says(words):
            card.get_by_role("status").get_by_text(re.compile(words)).wait_for()

        says("Press Start")
        card.get_by_role("combobox").select_option("100000")
        press("Start")
        says(r"^\d+ of 100000\. Running")
        assert card.get_by_role("combobox").is_disabled()
        press("Stop")
        says(r"of 100000\. Stopped: Resume goes on")
        press("Resume")
        says("Running")
        press("Stop")
        says("Stopped")
        press("Start over")
        card.get_by_role("combobox").select_option("5")
        press("Start")
        says(r"^5 of 5\. Done\.$")
        assert_drawn(card, "y", [range(5)])
