"""Chapters in JupyterLab, as `make live` opens them: cells run and controls respond."""

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
from pathlib import Path

import numpy as np
import psutil  # comes with ipykernel
import pytest

from lnbook.chapters.introduction import figures

BOOK = Path(__file__).parents[2] / "book"
PATIENCE = 60  # seconds; a limit against hanging, not a measure of speed
SETTINGS = {
    "jupyter_lab_config.json": {
        "LabApp": {
            # default extensions that access the network
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "extension_manager": "readonly",
            "news_url": None,
            "expose_app_in_browser": True,  # so that one page opens all notebooks
        }
    },
    # otherwise Node.js is called
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
CLOSE = """() => {
  window.jupyterapp.shell.currentWidget.dispose();
  for (const name of ["lnlibPlotly", "Plotly"]) delete globalThis[name];
}"""


class Lab:
    """A JupyterLab with its own folders, port and token."""

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
        """Start the server for the folder; afterwards, end it and all kernels."""
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
                with contextlib.suppress(psutil.NoSuchProcess):  # the log contains the reason
                    family = [*process.children(recursive=True), process]
                    process.terminate()
                _, left = psutil.wait_procs(family, timeout=PATIENCE)
                for one in left:
                    one.kill()
                process.wait(PATIENCE)
        assert left == [], "these did not end with the server"

    def address(self, process):
        """The address of the server, which it writes to a file."""
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
    """The page of JupyterLab, loaded once, and its requests to other servers."""
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
    """``with run_all(path) as page``: a notebook in JupyterLab, after running all cells."""
    page, outside = opened

    @contextlib.contextmanager
    def open_notebook(path):
        shutil.copy(path, lab.root)
        kernel = {"name": "python3"}
        # Start a kernel before opening the notebook; otherwise the page asks for one.
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
def test_chapters_run_and_figures_respond_in_jupyterlab(run_all):
    with run_all(BOOK / "introduction.ipynb") as page:
        card = page.locator(".ln-live").first
        sentence = card.get_by_role("status")
        sentence.get_by_text(figures.describe(8, 1.0), exact=True).wait_for()
        assert_drawn(card, tables(8, 1.0))

        size, factor = card.get_by_role("slider").all()
        size.press("ArrowLeft")
        sentence.get_by_text(figures.describe(7, 1.0), exact=True).wait_for()
        assert_drawn(card, tables(7, 1.0))

        factor.press("End")
        sentence.get_by_text(figures.describe(7, 10.0), exact=True).wait_for()
        assert_drawn(card, tables(7, 10.0))
        errors = page.locator(".jp-OutputArea-output[data-mime-type*=error], .jp-mod-error")
        assert errors.all_inner_texts() == []


def assert_drawn(card, wanted):
    """Compare the data in plotly with what Python drew, to the last digit."""
    read = """card => [...card.querySelectorAll('.js-plotly-plot')].map(plot =>
        plot.querySelector('.trace, .hm') && [...plot.data?.[0]?.z ?? []].flat())"""
    wanted = [np.ravel(values).tolist() for values in wanted]
    end = time.monotonic() + PATIENCE
    while (held := card.evaluate(read)) != wanted and time.monotonic() < end:
        card.page.wait_for_timeout(100)
    assert held == wanted


def tables(batch_size, scale):
    return [figure.data[0].z for figure in figures.draw(batch_size, scale)]
