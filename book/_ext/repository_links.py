"""Sphinx extension: links to the public repository that this book was cloned from.

If the remote ``origin`` is on GitHub or GitLab, pages link to the repository, to its issue tracker
and to "edit this page", and chapters to Binder and Colab. Link previews contain the URL of the page
(``og:url``), downloaded notebooks install the library from the repository (``readers_copy.py``),
and the build writes a sitemap and ``404.html``. Otherwise all of this is left out.

The directive ``{home}`` says how to contact the authors, and ``{versions}`` lists the versions of
the packages that built the book.
"""

import platform
from importlib.metadata import version
from pathlib import Path
from xml.sax.saxutils import escape

from docutils import nodes
from git_remote import default_branch, parse_remote, repository_url
from sphinx.util.docutils import SphinxDirective

PAGES_DOMAINS = {"github.com": "github.io", "gitlab.com": "gitlab.io"}
SOURCE_FOLDER = "book"  # in the repository


def set_repository_links(app, config):
    """Set the options of the theme and the base URL of the pages."""
    root = Path(app.srcdir).parent
    url = repository_url(root)
    config.ln_repository_url = url
    if not url:
        return
    host, owner, name = parse_remote(url)
    options = config.html_theme_options
    options |= {
        "repository_url": url,
        "repository_provider": host.removesuffix(".com"),
        "repository_branch": default_branch(root),
        "path_to_docs": SOURCE_FOLDER,
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
    }
    launch = {"binderhub_url": "https://mybinder.org"}
    if host == "github.com":
        launch["colab_url"] = "https://colab.research.google.com"
    options["launch_buttons"] = dict(options.get("launch_buttons", {})) | launch
    config.html_baseurl = config.html_baseurl or f"https://{owner}.{PAGES_DOMAINS[host]}/{name}/"
    config.html_additional_pages = {**config.html_additional_pages, "404": "404.html"}


def write_sitemap(app, exception):
    """Write a sitemap for search engines, if the base URL of the pages is known."""
    if exception or app.builder.format != "html" or not app.config.html_baseurl:
        return
    urls = (f"{app.config.html_baseurl}{name}.html" for name in sorted(app.env.found_docs))
    lines = "\n".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{schema}">\n{lines}\n</urlset>\n'
    )
    Path(app.outdir, "sitemap.xml").write_text(text, "utf-8")


class HomeDirective(SphinxDirective):
    """``{home}``: how to contact the authors."""

    def run(self):
        """Return a paragraph with a link to the issue tracker, if there is one."""
        url = self.config.ln_repository_url
        if not url:
            return [nodes.paragraph("", "This copy was built in a folder that names no public "
                                        "repository. Ask whoever gave it to you.")]  # fmt: skip
        tracker = f"{url}/{'-/' if 'gitlab.com' in url else ''}issues"
        paragraph = nodes.paragraph("", "An error, a question, a wish: ")
        paragraph += nodes.reference("", "the issue tracker", refuri=tracker)
        paragraph += nodes.Text(" of ")
        paragraph += nodes.reference("", "the repository", refuri=url)
        paragraph += nodes.Text(
            ". The button at the top of each page opens an issue that names it."
        )
        return [paragraph]


class VersionsDirective(SphinxDirective):
    """``{versions}``: the versions of the packages that built the book."""

    def run(self):
        """Return a paragraph with the versions."""
        packages = [("lnlib", "lnlib"), ("NumPy", "numpy"), ("PyTorch", "torch"),
                    ("plotly", "plotly"), ("Jupyter Book", "jupyter-book"),
                    ("Sphinx", "sphinx")]  # fmt: skip
        texts = [f"{name} {version(package)}" for name, package in packages]
        text = f"Built with {', '.join(texts)} and Python {platform.python_version()}."
        return [nodes.paragraph("", text)]


def setup(app):
    """Add the directives and connect the event handlers."""
    app.add_config_value("ln_repository_url", "", "env", [str])
    app.add_directive("home", HomeDirective)
    app.add_directive("versions", VersionsDirective)
    app.connect("config-inited", set_repository_links, priority=50)
    app.connect("build-finished", write_sitemap)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
