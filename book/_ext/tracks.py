"""Sphinx extension: the line under the title of a chapter with its track, position and minutes.

A track is a part of ``_toc.yml`` whose chapters are notebooks. Other pages have no such line. The
minutes are computed by ``reading_time.py``; the role ``{minutes}`chapter``` inserts them into a
text.
"""

import html
import json
from pathlib import Path

import yaml
from docutils import nodes
from reading_time import measures, minutes, minutes_text
from sphinx.util.docutils import SphinxRole

SHOW_CODE = '<button type="button" class="ln-show-code" aria-pressed="false">Show all code</button>'


def resolve_toc_path(app, config):
    """Make the path of the table of contents absolute.

    Jupyter Book passes it relative to the working directory, Sphinx looks for it in ``book/``.
    """
    config.external_toc_path = str(Path(config.external_toc_path).resolve())


def read_tracks(toc):
    """Return the tracks in order, each as its name and the names of its chapters."""
    toc = yaml.safe_load(Path(toc).read_text("utf-8"))
    parts = [part for part in toc.get("parts", []) if "caption" in part]
    results = [(part["caption"], [entry["file"] for entry in part["chapters"]]) for part in parts]
    if results:
        results[0][1].insert(0, toc["root"])  # the first page belongs to the first track
    return results


def line_html(track, position, count, counted, button=SHOW_CODE):
    """Return the line of a chapter as HTML.

    Args:
        track: Name of the track.
        position: Position of the chapter in the track, from 1.
        count: Number of chapters in the track.
        counted: See :func:`reading_time.measures`.
        button: HTML of a button, if the page hides code.
    """
    reading, folded = minutes(counted)
    texts = [f"<b>{html.escape(track)}</b>", f"{position} of {count}", f"{reading} minutes"]
    if folded:
        texts.append(f"{folded} more for folded parts")  # with the button, on one line
    return f'<p class="ln-where"><span>{" · ".join(texts)}</span> {button}</p>'


def add_line(app, pagename, templatename, context, doctree):
    """Insert the line under the title of a chapter."""
    source = Path(app.srcdir, f"{pagename}.ipynb")
    if doctree is None or not source.exists():
        return
    notebook = json.loads(source.read_text("utf-8"))
    for track, chapters in read_tracks(app.config.external_toc_path):
        chapters = [name for name in chapters if Path(app.srcdir, f"{name}.ipynb").exists()]
        if pagename in chapters:
            position = chapters.index(pagename) + 1
            button = SHOW_CODE * ("above-input" in context["body"])
            line = line_html(track, position, len(chapters), measures(notebook), button)
            context["body"] = context["body"].replace("</h1>", f"</h1>\n{line}", 1)


class MinutesRole(SphinxRole):
    """The minutes that a chapter takes, and those of what it folds."""

    def run(self):
        """Insert the minutes, and note that the page depends on the chapter."""
        source = Path(self.env.srcdir, f"{self.text}.ipynb")
        if not source.exists():
            text = f"minutes must name a chapter as _toc.yml does, got {self.text!r}"
            message = self.inliner.reporter.error(text, line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        self.env.note_dependency(str(source))
        text = minutes_text(measures(json.loads(source.read_text("utf-8"))))
        return [nodes.inline(self.rawtext, text, classes=["ln-minutes"])], []


def setup(app):
    """Connect the event handlers and add the role."""
    app.connect("config-inited", resolve_toc_path, priority=100)
    app.connect("html-page-context", add_line)
    app.add_role("minutes", MinutesRole())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
