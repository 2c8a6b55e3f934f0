"""Find a browser for the pages: the system's Chromium, Chrome or Edge, or else Playwright's own.

Usage: python tools/browser.py     prints its path; if there is none, installs Playwright's own

``LNLIB_BROWSER=/path/to/browser`` selects a browser. A browser is used only if it starts, because
its file is not sufficient: Ubuntu's ``chromium-browser`` can be a script that prints how to install
one.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, sync_playwright

NAMES = (
    "chromium-headless-shell",  # Chromium without a window: the fastest
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "microsoft-edge-stable",
)
# Paths of browsers that are not on the PATH, relative to the root or the home folder.
BROWSER_PATHS = (
    "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "Applications/Chromium.app/Contents/MacOS/Chromium",
    "Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "snap/bin/chromium",
    "opt/google/chrome/chrome",
    "opt/microsoft/msedge/msedge",
    "var/lib/flatpak/exports/bin/org.chromium.Chromium",
    "var/lib/flatpak/exports/bin/com.google.Chrome",
    ".local/share/flatpak/exports/bin/org.chromium.Chromium",
    ".local/share/flatpak/exports/bin/com.google.Chrome",
)
FLAGS = [
    "--no-sandbox",  # required to start as root, as in CI
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
START_S, DOWNLOAD_S = 60, 900  # limits against hanging, not measures of speed
FIREFOX = ("firefox", "firefox-esr", "/Applications/Firefox.app/Contents/MacOS/firefox")
# Keep Firefox from accessing the network: nothing listens on port 9.
FIREFOX_PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
}


class NoBrowserError(RuntimeError):
    """No browser starts; the message says what to do."""


def find_browsers(root: Path = Path("/"), home: Path | None = None) -> Iterator[str]:
    """Yield the paths of the browsers of the system."""
    yield from filter(None, map(shutil.which, NAMES))
    for base in (root, home or Path.home()):
        yield from (str(base / path) for path in BROWSER_PATHS if os.access(base / path, os.X_OK))


def launch(playwright: Playwright) -> tuple[Browser, str]:
    """Start the first browser that works, and return it and its path."""
    selected = os.environ.get("LNLIB_BROWSER")
    for path in [selected] if selected else [*find_browsers(), None]:  # None: Playwright's own
        try:
            browser = playwright.chromium.launch(
                executable_path=path, args=FLAGS, timeout=1000 * START_S
            )
            return browser, path or "Playwright's own"
        except Error:
            continue
    if selected:
        raise NoBrowserError(
            f"LNLIB_BROWSER={selected} does not start as a browser: name a Chromium, Chrome or "
            "Edge, or unset it"
        )
    raise NoBrowserError(
        "no Chromium, Chrome or Edge starts here: install one (apt-get install chromium, "
        "brew install --cask chromium) or name it with LNLIB_BROWSER=/path/to/it"
    )


class Firefox:
    """The system's Firefox with the interface of a Playwright browser.

    WebDriver BiDi, which controls it, cannot set the theme, reduced motion or scripting. These are
    preferences, so each combination has its own Firefox process, which is started when it is
    needed. Open pages cannot change them or emulate print.
    """

    def __init__(self, playwright: Playwright) -> None:
        self._playwright, self._started = playwright, {}
        self.path = next(filter(None, map(shutil.which, FIREFOX)), None)
        if self.path is None:
            raise NoBrowserError(f"none of {', '.join(FIREFOX)} is on the PATH: install Firefox")

    def _start(self, preferences: dict[str, int | bool]) -> Browser:
        try:
            return self._playwright.firefox.launch(
                channel="moz-firefox",
                executable_path=self.path,
                firefox_user_prefs=FIREFOX_PREFERENCES | preferences,
                timeout=6000 * START_S,  # ms: it takes ten times as long as Chromium
            )
        except Error as error:
            raise NoBrowserError(f"{self.path} does not start: {error}") from None

    def new_context(
        self,
        *,
        color_scheme: str = "light",
        reduced_motion: str = "no-preference",
        java_script_enabled: bool = True,
        **options: object,
    ) -> BrowserContext:
        """Return a context of a Firefox with these preferences."""
        preference_key = color_scheme, reduced_motion, java_script_enabled
        if preference_key not in self._started:
            preferences = {
                "layout.css.prefers-color-scheme.content-override": int(color_scheme == "light"),
                "ui.prefersReducedMotion": int(reduced_motion == "reduce"),
                "javascript.enabled": java_script_enabled,
            }
            self._started[preference_key] = self._start(preferences)
        context = self._started[preference_key].new_context(**options)
        context.set_default_timeout(6000 * START_S)
        context.on("page", lambda page: setattr(page, "emulate_media", reject_emulation))
        return context

    def new_page(self, **options: object) -> Page:
        """Return a page in a new context."""
        return self.new_context(**options).new_page()

    def close(self) -> None:
        """Close all Firefox processes."""
        for browser in self._started.values():
            browser.close()
        self._started.clear()


def browser_name(page: Page) -> str:
    """Return the browser of a page: ``chromium``, ``firefox`` or ``webkit``."""
    return page.context.browser.browser_type.name


def reject_emulation(**options: str) -> NoReturn:
    """Raise an error, because Playwright would silently do nothing."""
    raise NotImplementedError(f"Firefox cannot turn {options} while a page is open")


def install() -> str:
    """Install Playwright's own browser; return an error message, or an empty string."""
    command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    env = {"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"} | os.environ  # ms
    with subprocess.Popen(
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            text, _ = process.communicate(timeout=DOWNLOAD_S)
        except BaseException as error:  # also ends the download after Ctrl-C
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return f"could not be downloaded within {DOWNLOAD_S} s"
            raise
    if process.returncode:
        lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
        reason = next((line for line in lines if line.startswith("Error")), lines[-1])
        return f"could not be installed ({reason})"
    return ""


def main() -> None:
    """Print which browser is used; if there is none, install Playwright's own."""
    with sync_playwright() as playwright:
        try:
            browser, where = launch(playwright)
        except NoBrowserError as error:
            if os.environ.get("LNLIB_BROWSER"):
                raise
            print(
                "No browser was found: installing Playwright's own (about 100 MB) ...", flush=True
            )
            problem = install()
            try:
                browser, where = launch(playwright)
            except NoBrowserError:
                problem = problem or (
                    "was installed and does not start (sudo playwright install-deps chromium "
                    "brings the libraries it needs)"
                )
                raise NoBrowserError(f"{error}; Playwright's own {problem}") from None
        print(f"The pages are opened in {where}, version {browser.version}.")
        browser.close()


if __name__ == "__main__":
    try:
        main()
    except NoBrowserError as error:
        sys.exit(f"browser: {error}")
