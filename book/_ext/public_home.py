"""Sphinx extension: where this book's clone came from, if that is a public repository.

Then, and only then, pages lead to the repository, to its issue tracker and to "edit this page",
chapters to Binder and Colab, a shared link names its page (``og:url``), and what is downloaded
installs the library from there (``readers_copy.py``). ``{home}`` says how to reach those who make
the book, and ``{versions}`` what built it.

The clone's remote ``origin`` decides. Without a public one the book is the same, less all that.
"""

import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

# With or without a user's name and secret in front, which are left out.
REMOTE = re.compile(
    r"(?:https?://(?:[^@/]+@)?|git@|ssh://git@)(?P<host>github\.com|gitlab\.com)[:/]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)
PAGES = {"github.com": "github.io", "gitlab.com": "gitlab.io"}
ROOM = "book"  # the folder of the sources in the repository
CELL = "cell-setup"  # the name of the first code of a chapter, which is:
SETUP = """\
# @title Installs the book's library where it is missing; then choose Run > Run All Cells
import importlib.util
import subprocess
import sys
from pathlib import Path

SOURCE = "{source}"  # of the library, where the book has a public address
if importlib.util.find_spec("lnbook") is None:
    found = [*(path.absolute().as_uri() for path in Path().glob("lnlib-*.whl")), SOURCE]
    if not found[0]:
        raise ModuleNotFoundError(
            "save lnlib-*.whl of the page 'About this book' beside this notebook; run this again"
        )
    wanted = f"lnlib[live] @ {{found[0]}}"
    print(f"Installing {{wanted}}: a few minutes, once.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", wanted], check=True)
    importlib.invalidate_caches()"""


def git(folder, *words):
    """Ask git; an empty text where there is no clone, or no git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def public(remote):
    """Return host, owner and name of a public repository, or ``None``."""
    found = REMOTE.fullmatch(remote)
    return found and tuple(found.groups())


def home(folder):
    """Return the address of the public repository that a folder is a clone of, or nothing."""
    # A folder within somebody else's clone is no clone of it.
    if Path(git(folder, "rev-parse", "--show-toplevel") or "/").resolve() != Path(folder).resolve():
        return ""
    found = public(git(folder, "remote", "get-url", "origin"))
    return "https://{}/{}/{}".format(*found) if found else ""


def branch(folder):
    """Return the branch that the remote shows first."""
    head = git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    return head.removeprefix("origin/") or "main"


def setup_cell(source):
    """Return the code with which a chapter begins.

    Args:
        source: Where it installs the library from where that is missing, as pip takes it after
            ``lnlib @``; nothing where the book has no public address.
    """
    return SETUP.format(source=source)


def lead_home(app, config):
    """Let the theme show its buttons, and tell Sphinx where the pages will be."""
    root = Path(app.srcdir).parent
    address = home(root)
    config.ln_home = address
    if not address:
        return
    host, owner, name = public(address)
    options = config.html_theme_options
    options |= {
        "repository_url": address,
        "repository_provider": host.removesuffix(".com"),
        "repository_branch": branch(root),
        "path_to_docs": ROOM,
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
    }
    launch = {"binderhub_url": "https://mybinder.org"}
    if host == "github.com":
        launch["colab_url"] = "https://colab.research.google.com"
    options["launch_buttons"] = dict(options.get("launch_buttons", {})) | launch
    config.html_baseurl = config.html_baseurl or f"https://{owner}.{PAGES[host]}/{name}/"


class Home(SphinxDirective):
    """``{home}``: how to reach those who make the book."""

    def run(self):
        """Lead to the issue tracker, or say that this copy names none."""
        address = self.config.ln_home
        if not address:
            return [nodes.paragraph("", "This copy was built in a folder that names no public "
                                        "repository. Ask whoever gave it to you.")]  # fmt: skip
        tracker = f"{address}/{'-/' if 'gitlab.com' in address else ''}issues"
        say = nodes.paragraph("", "An error, a question, a wish: ")
        say += nodes.reference("", "the issue tracker", refuri=tracker)
        say += nodes.Text(" of ")
        say += nodes.reference("", "the repository", refuri=address)
        say += nodes.Text(". The button at the top of each page opens an issue that names it.")
        return [say]


class Versions(SphinxDirective):
    """``{versions}``: what built these pages."""

    def run(self):
        """List them in a sentence."""
        told = [("lnlib", "lnlib"), ("NumPy", "numpy"), ("PyTorch", "torch"), ("plotly", "plotly"),
                ("Jupyter Book", "jupyter-book"), ("Sphinx", "sphinx")]  # fmt: skip
        said = [f"{name} {version(package)}" for name, package in told]
        text = f"Built with {', '.join(said)} and Python {platform.python_version()}."
        return [nodes.paragraph("", text)]


def setup(app):
    """Connect the parts."""
    app.add_config_value("ln_home", "", "env", [str])
    app.add_directive("home", Home)
    app.add_directive("versions", Versions)
    app.connect("config-inited", lead_home, priority=50)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
