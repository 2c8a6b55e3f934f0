"""Sphinx extension: the line under a chapter's title that says where one is and how long it takes.

The tracks are the parts of ``_toc.yml`` whose chapters are notebooks; a page that is no notebook
has no line. The minutes are counted (``reading_time.py``). The role ``{minutes}`chapter``` puts the
same figure into a list of chapters.
"""

import html
import json
from pathlib import Path

import yaml
from docutils import nodes
from reading_time import measures, minutes

SHOW = '<button type="button" class="ln-show-code" aria-pressed="false">Show code</button>'


def read_tracks(toc):
    """Return the tracks in their order: name, then the chapters' names."""
    toc = yaml.safe_load(Path(toc).read_text("utf-8"))
    parts = [part for part in toc.get("parts", []) if "caption" in part]
    results = [(part["caption"], [entry["file"] for entry in part["chapters"]]) for part in parts]
    if results:
        results[0][1].insert(0, toc["root"])  # the first page is the first track's
    return results


def line(track, position, count, counted, show=SHOW):
    """Put a chapter's place and its times into one line of HTML, with a button if it hides code."""
    reading, working = minutes(counted)
    texts = [f"<b>{html.escape(track)}</b>", f"{position} of {count}", f"{reading} minutes"]
    if working:
        texts.append(f"{working} more for the {counted['exercises']} exercises")
    return f'<p class="ln-where"><span>{" · ".join(texts)}</span> {show}</p>'


def add_line(app, pagename, templatename, context, doctree):
    """Write the line under the title of a chapter."""
    source = Path(app.srcdir, f"{pagename}.ipynb")
    if doctree is None or not source.exists():
        return
    notebook = json.loads(source.read_text("utf-8"))
    for track, chapters in read_tracks(app.config.external_toc_path):
        chapters = [name for name in chapters if Path(app.srcdir, f"{name}.ipynb").exists()]
        if pagename in chapters:
            position = chapters.index(pagename) + 1
            show = SHOW * ("above-input" in context["body"])
            text = line(track, position, len(chapters), measures(notebook), show)
            context["body"] = context["body"].replace("</h1>", f"</h1>\n{text}", 1)


def minutes_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Write how many minutes a chapter takes without its exercises."""
    env = inliner.document.settings.env
    source = Path(env.srcdir, f"{text}.ipynb")
    if not source.exists():
        texts = f"minutes must name a chapter as _toc.yml does, got {text!r}"
        message = inliner.reporter.error(texts, line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]
    env.note_dependency(str(source))
    reading, _ = minutes(measures(json.loads(source.read_text("utf-8"))))
    return [nodes.inline(rawtext, f"{reading} min", classes=["ln-minutes"])], []


def setup(app):
    """Connect the line and the role."""
    app.connect("html-page-context", add_line)
    app.add_role("minutes", minutes_role)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
