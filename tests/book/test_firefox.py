"""Every page in Firefox, whose controls are wider than Chromium's: frames as narrow as a phone."""

import json
import os
import shutil
import subprocess
import threading
from functools import partial

import pytest

from tests.book.conftest import QuietHandler, QuietServer, pages

FIREFOX = ("firefox", "firefox-esr", "/Applications/Firefox.app/Contents/MacOS/firefox")
PATIENCE = 600  # s, for all pages; a limit against hanging, not a measure of speed
WIDTHS = [390, 360, 320]
# Nothing leaves the machine, whatever a new browser would like to fetch: port 9 discards.
PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
}
VISITOR = """<!doctype html><meta charset="utf-8"><title>Widths</title><body><script>
const NAMES = %s, WIDTHS = %s;
const rest = (ms) => new Promise((done) => setTimeout(done, ms));
const patiently = async (holds) => { for (let i = 0; i < 200 && !holds(); i++) await rest(25); };
const wide = ({ document: { documentElement: e } }) => e.scrollWidth - e.clientWidth;
async function visit(name) {
  const frame = document.createElement("iframe"), found = {};
  frame.style = `width: ${WIDTHS[0]}px; height: 844px; border: 0`; // drawn once for the first
  document.body.replaceChildren(frame);
  await new Promise((done) => { frame.onload = done; frame.src = name + ".html"; });
  const inside = frame.contentWindow, explorers = inside.document.querySelectorAll(".ln-explorer");
  for (const root of explorers) {
    root.scrollIntoView();
    await patiently(() => ["yes", "failed"].includes(root.dataset.ready));
  }
  for (const width of WIDTHS) {
    frame.style.width = width + "px";
    await patiently(() => inside.innerWidth === width);
    await patiently(() => wide(inside) <= 0); // figures follow the window after a while
    found[width] = wide(inside);
  }
  return [explorers.length, found];
}
addEventListener("load", async () => {
  const all = {};
  for (const name of NAMES) all[name] = await visit(name).catch(String);
  fetch("found", { method: "POST", body: JSON.stringify(all) });
});
</script>"""


@pytest.fixture
def firefox(tmp_path):
    """``firefox(address)``: open it in a Firefox of its own, until the test ends."""
    found = next(filter(None, map(shutil.which, FIREFOX)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(FIREFOX)} found")
    lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
    (tmp_path / "user.js").write_text("\n".join(lines), "utf-8")
    opened = []

    def open_page(address):
        command = [found, "--headless", "--no-remote", "--profile", str(tmp_path), address]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        opened.append(subprocess.Popen(command, env=os.environ | {"HOME": str(tmp_path)}, **quiet))

    yield open_page
    for browser in opened:
        browser.terminate()
        browser.wait()


def test_no_page_scrolls_sideways_in_firefox_on_a_phone(built_book, firefox):
    said, found = threading.Event(), {}
    visitor = VISITOR % (json.dumps(pages()), WIDTHS)

    class Handler(QuietHandler):
        def do_GET(self):
            if self.path != "/visitor":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(visitor.encode())

        def do_POST(self):
            found.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            said.set()

    with QuietServer(("127.0.0.1", 0), partial(Handler, directory=str(built_book))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        firefox(f"http://127.0.0.1:{server.server_port}/visitor")
        answered = said.wait(PATIENCE)
        server.shutdown()
    assert answered, "Firefox did not come to the last page"
    assert list(found) == pages()
    assert sum(explorers for explorers, _ in found.values()) > 10
    assert found == {
        name: [explorers, {str(width): 0 for width in WIDTHS}]
        for name, (explorers, _) in found.items()
    }
