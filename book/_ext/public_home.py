"""Sphinx extension: where this book's clone came from, if that is a public repository.

Then, and only then, pages lead to the repository, to its issue tracker and to "edit this page",
chapters to Binder and Colab, a shared link names its page (``og:url``), what is downloaded installs
the library from there (``readers_copy.py``), a sitemap lists all pages, and a page of its own
answers for addresses that have none. ``{home}`` says how to reach those who make the book, and
``{versions}`` what built it.

The clone's remote ``origin`` decides. Without a public one the book is the same, less all that.
"""

import platform
from importlib.metadata import version
from pathlib import Path
from xml.sax.saxutils import escape

from docutils import nodes
from repository_address import branch, home, public
from sphinx.util.docutils import SphinxDirective

PAGES = {"github.com": "github.io", "gitlab.com": "gitlab.io"}
ROOM = "book"  # the folder of the sources in the repository


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
    config.html_additional_pages = {**config.html_additional_pages, "404": "404.html"}


def write_sitemap(app, exception):
    """Write the addresses of all pages for search engines, where the pages have addresses."""
    if exception or app.builder.format != "html" or not app.config.html_baseurl:
        return
    addresses = (f"{app.config.html_baseurl}{name}.html" for name in sorted(app.env.found_docs))
    lines = "\n".join(f"<url><loc>{escape(address)}</loc></url>" for address in addresses)
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{schema}">\n{lines}\n</urlset>\n'
    )
    Path(app.outdir, "sitemap.xml").write_text(text, "utf-8")


class Home(SphinxDirective):
    """``{home}``: how to reach those who make the book."""

    def run(self):
        """Lead to the issue tracker, or say that this copy names none."""
        address = self.config.ln_home
        if not address:
            return [nodes.paragraph("", "This copy was built in a folder that names no public "
                                        "repository. Ask whoever gave it to you.")]  # fmt: skip
        tracker = f"{address}/{'-/' if 'gitlab.com' in address else ''}issues"
        paragraph = nodes.paragraph("", "An error, a question, a wish: ")
        paragraph += nodes.reference("", "the issue tracker", refuri=tracker)
        paragraph += nodes.Text(" of ")
        paragraph += nodes.reference("", "the repository", refuri=address)
        paragraph += nodes.Text(
            ". The button at the top of each page opens an issue that names it."
        )
        return [paragraph]


class Versions(SphinxDirective):
    """``{versions}``: what built these pages."""

    def run(self):
        """List them in a sentence."""
        packages = [("lnlib", "lnlib"), ("NumPy", "numpy"), ("PyTorch", "torch"),
                    ("plotly", "plotly"), ("Jupyter Book", "jupyter-book"),
                    ("Sphinx", "sphinx")]  # fmt: skip
        texts = [f"{name} {version(package)}" for name, package in packages]
        text = f"Built with {', '.join(texts)} and Python {platform.python_version()}."
        return [nodes.paragraph("", text)]


def setup(app):
    """Connect the parts."""
    app.add_config_value("ln_home", "", "env", [str])
    app.add_directive("home", Home)
    app.add_directive("versions", Versions)
    app.connect("config-inited", lead_home, priority=50)
    app.connect("build-finished", write_sitemap)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
