"""Chapters in JupyterLab, as `make live` opens them: cells run and controls respond."""

import json
import os
import re
import subprocess
import time
import urllib.request

import numpy as np
import pytest

from lnbook.chapters.introduction import figures
from tests.book.conftest import new_visit
from tools import live

PATIENCE = 60  # seconds; a limit against hanging, not a measure of speed
SETTINGS = {
    "jupyter_lab_config.json": {
        "LabApp": {
            # default extensions that access the network
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "extension_manager": "readonly",
            "news_url": None,
            "expose_app_in_browser": True,
        }
    },
    # otherwise Node.js is called
    "labconfig/page_config.json": {"buildAvailable": False, "buildCheck": False},
}
OPEN = """async (path) => {
  while (!window.jupyterapp) await new Promise((then) => setTimeout(then, 50));
  await window.jupyterapp.restored;
  const panel = await window.jupyterapp.commands.execute("docmanager:open", { path });
  await panel.sessionContext.ready;
}"""


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab with copies of the chapters, with its own settings and token."""
    config, runtime, token = tmp_path / "config", tmp_path / "runtime", os.urandom(16).hex()
    for name, settings in SETTINGS.items():
        (config / name).parent.mkdir(parents=True, exist_ok=True)
        (config / name).write_text(json.dumps(settings))
    own = {"JUPYTER_CONFIG_DIR": config, "JUPYTER_RUNTIME_DIR": runtime, "JUPYTER_TOKEN": token}
    for name in ("JUPYTER_DATA", "JUPYTERLAB_WORKSPACES", "JUPYTERLAB_SETTINGS", "IPYTHON"):
        own[f"{name}{'' if name == 'IPYTHON' else '_'}DIR"] = tmp_path / name
    env = {k: v for k, v in os.environ.items() if k != "LNLIB_STATIC"}
    live.write(tmp_path / "live")
    command = live.command(tmp_path / "live", ["--no-browser", "--ServerApp.port=0"])
    process = subprocess.Popen(command, env=env | {k: str(v) for k, v in own.items()})
    try:
        yield address(process, runtime), token
    finally:
        process.terminate()  # which also ends its kernels
        process.wait(PATIENCE)


def address(process, runtime):
    """The address of the server, which it writes to a file."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        for note in runtime.glob("jpserver-*.json"):
            if text := note.read_text():
                return json.loads(text)["url"].rstrip("/")
        time.sleep(0.2)
    raise RuntimeError("JupyterLab did not start")


@pytest.mark.slow
def test_chapters_run_and_figures_respond_in_jupyterlab(lab, browser):
    url, token = lab
    with new_visit(browser, url) as v:
        page = v.page
        page.goto(f"{url}/doc?reset&token={token}")
        # Start a kernel before opening the notebook; otherwise the page asks for one.
        session = {"path": "introduction.ipynb", "name": "", "type": "notebook",
                   "kernel": {"name": "python3"}}  # fmt: skip
        headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        urllib.request.urlopen(
            urllib.request.Request(f"{url}/api/sessions", json.dumps(session).encode(), headers)
        ).close()
        page.evaluate(OPEN, "introduction.ipynb")
        page.get_by_text(re.compile(r"\| Idle$")).wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.locator("#jp-mainmenu-run").get_by_text("Run All Cells", exact=True).click()

        card = page.locator(".ln-live").first
        sentence = card.get_by_role("status")

        def shows(batch_size, scale):
            sentence.get_by_text(figures.describe(batch_size, scale), exact=True).wait_for()
            drawn = figures.draw(batch_size, scale)
            assert_drawn(card, [figure.data[0].z for figure in drawn])

        shows(8, 1.0)
        size, factor = card.get_by_role("slider").all()
        size.press("ArrowLeft")
        shows(7, 1.0)
        factor.press("End")
        shows(7, 10.0)
        errors = page.locator(".jp-OutputArea-output[data-mime-type*=error], .jp-mod-error")
        assert errors.all_inner_texts() == []
        assert [one for one in v.outside if not one.startswith("ws")] == []


def assert_drawn(card, wanted):
    """Compare the data in plotly with what Python drew, to the last digit."""
    read = """card => [...card.querySelectorAll('.js-plotly-plot')].map(plot =>
        plot.querySelector('.trace, .hm') && [...plot.data?.[0]?.z ?? []].flat())"""
    wanted = [np.ravel(values).tolist() for values in wanted]
    end = time.monotonic() + PATIENCE
    while (held := card.evaluate(read)) != wanted and time.monotonic() < end:
        card.page.wait_for_timeout(100)
    assert held == wanted
