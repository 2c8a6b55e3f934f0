"""Sphinx extension: what the page about the book says of the chapters.

``{notebooks}`` lists the notebooks to download, one by one and as one archive, which a browser
saves from a folder too, where it shows a notebook as text.

``{last-run}`` is a table of when each chapter last ran, and on what. myst-nb knows when a chapter
ran and for how long, but a result may come from its cache, and a cache from an earlier day or
another machine. So what a run ran on is written down beside the cache when it ends, under its time
to the last digit; a result without such a note is said to be unknown, and never given this
machine's name.
"""

import json
import os
import time
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import readers_copy
from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

STARTED = time.time()
COLUMNS = ("Chapter", "Ran (UTC)", "Seconds", "Result", "Machine")
ARCHIVE = "_downloads/chapters.zip"
UNKNOWN = "not known"  # of a result from a cache without a note


@cache
def machine():
    """Say what runs the chapters: processor, GPU, versions, and the commit in a clone."""
    import torch

    from lnlab.records import provenance

    facts = provenance(device="cpu", wall_s=0, command="")
    selected = {name: facts[name] for name in ("lnlib", "commit", "python", "numpy", "torch")}
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return selected | {
        "processor": facts["device"].removeprefix("CPU: "),
        "cores": os.cpu_count(),
        "gpu": gpu,
        "plotly": version("plotly"),
    }


def describe_machine(facts):
    """Put a machine into a sentence."""
    commit = "" if facts["commit"] == "unknown" else f" (commit {facts['commit']})"
    gpu = "no GPU" if facts["gpu"] == "none" else f"GPU {facts['gpu']}"
    return (
        f"{facts['processor']}, {facts['cores']} cores, {gpu}; Python {facts['python']}, "
        f"NumPy {facts['numpy']}, PyTorch {facts['torch']}, plotly {facts['plotly']}, "
        f"lnlib {facts['lnlib']}{commit}."
    )


def notes_path(app):
    """Where the notes on runs lie: in the cache they belong to."""
    return Path(app.config.nb_execution_cache_path) / "last_run.json"


def notes(app):
    """Read the notes: page, then the run's time to the last digit, then what it ran on."""
    path = notes_path(app)
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def note_run(app, doctree):
    """Write down what a chapter ran on, if it ran in this build."""
    run = NbMetadataCollector.get_exec_data(app.env, app.env.docname)
    # A result from the cache has the time at which an earlier build began, in UTC or as if in UTC.
    if run and run["runtime"] and STARTED <= run["mtime"] <= time.time():
        write_note(app, app.env.docname, run["runtime"])


def write_note(app, page, seconds):
    """Write down that a chapter has just run here, and how long it took."""
    known = notes(app)
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    known.setdefault(page, {}).setdefault(repr(seconds), {"date": when} | machine())
    notes_path(app).parent.mkdir(parents=True, exist_ok=True)
    notes_path(app).write_text(json.dumps(known, indent=1), "utf-8")


class Placeholder(nodes.General, nodes.Element):
    """Where something of all chapters goes, once every chapter has been read."""


class OfChapters(SphinxDirective):
    """``{last-run}`` or ``{notebooks}`` holds a place."""

    def run(self):
        """Mark the page, so that it is written again when a chapter has changed."""
        self.env.metadata[self.env.docname]["of_chapters"] = True
        return [Placeholder(what=self.name)]


def pages_with_placeholders(app, env):
    """Ask for the pages that tell of all chapters: any of these may have run since."""
    return [page for page, metadata in env.metadata.items() if metadata.get("of_chapters")]


class FillPlaceholders(SphinxPostTransform):
    """Put the list and the table in their places."""

    default_priority = 8  # before references are resolved

    def run(self, **kwargs):
        """Make them from what is known of each chapter."""
        for placeholder in list(self.document.findall(Placeholder)):
            placeholder.replace_self(
                self.table() if placeholder["what"] == "last-run" else self.notebooks()
            )

    def notebooks(self):
        """Return the list of downloads."""
        files = [
            (f"_sources/{page}.ipynb", self.env.titles[page].astext())
            for page in chapters(self.env)
        ]
        entries = []
        files.append((ARCHIVE, "All of them in one archive (.zip)"))
        if readers_copy.has_library(self.app):
            for name, wheel in readers_copy.WHEELS.items():
                files.append((f"_downloads/{wheel}", f"The library: {name} (.whl)"))
        for uri, title in files:
            link = addnodes.download_reference(refuri=uri)
            link += nodes.Text(title)
            entries.append(nodes.list_item("", nodes.paragraph("", "", link)))
        return nodes.bullet_list("", *entries)

    def table(self):
        """Return the table, and below it each machine once."""
        known, machines, rows = notes(self.app), [], []
        for page in chapters(self.env):
            run = NbMetadataCollector.get_exec_data(self.env, page)
            if run:
                fact = known.get(page, {}).get(repr(run["runtime"]))
                if fact and describe_machine(fact) not in machines:
                    machines.append(describe_machine(fact))
                rows.append(
                    [
                        self.chapter(page),
                        nodes.Text(fact["date"] if fact else UNKNOWN),
                        nodes.Text(f"{run['runtime']:.1f}" if run["runtime"] else UNKNOWN),
                        nodes.Text("ran to its end" if run["succeeded"] else run["error"]),
                        nodes.Text(
                            f"{machines.index(describe_machine(fact)) + 1}" if fact else UNKNOWN
                        ),
                    ]
                )
        if len(machines) == 1 and not any(UNKNOWN in row for row in rows):
            return [grid(rows, COLUMNS[:-1]), nodes.paragraph("", f"All ran on: {machines[0]}")]
        below = nodes.enumerated_list("", *[item(text) for text in machines], enumtype="arabic")
        return [grid(rows, COLUMNS), nodes.paragraph("", "The machines:"), below]

    def chapter(self, page):
        """Name a chapter and lead to it."""
        link = addnodes.pending_xref(
            refdoc=self.env.docname,
            refdomain="std",
            reftype="doc",
            reftarget=f"/{page}",
            refexplicit=True,
            refwarn=True,
        )
        link += nodes.inline(text=self.env.titles[page].astext())
        return link


def chapters(env):
    """Return the pages that are notebooks, as the table of contents has them."""
    order, todo = [], [env.config.root_doc]
    while todo:
        page = todo.pop(0)
        order.append(page)
        todo = env.toctree_includes.get(page, []) + todo
    return [page for page in order if env.doc2path(page).endswith(".ipynb")]


def write_archive(app, exception):
    """Pack the notebooks that pages offer; the same notebooks give the same bytes."""
    if exception is None and app.builder.format == "html" and pages_with_placeholders(app, app.env):
        path = Path(app.outdir, ARCHIVE)
        path.parent.mkdir(exist_ok=True)
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for page in chapters(app.env):
                source = Path(app.outdir, "_sources", f"{page}.ipynb")  # as the page offers it
                archive.writestr(ZipInfo(source.name), source.read_bytes(), ZIP_DEFLATED)
            if readers_copy.has_library(app):
                for wheel in map(path.with_name, readers_copy.WHEELS.values()):
                    archive.writestr(ZipInfo(wheel.name), wheel.read_bytes())


def item(text):
    """Return one entry of a list."""
    return nodes.list_item("", nodes.paragraph("", text))


def grid(rows, columns):
    """Return a table of these columns; a row may have more cells, which are left out."""

    def row(cells):
        return nodes.row("", *[nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells])

    widths = [nodes.colspec(colwidth=1) for _ in columns]
    head = nodes.thead("", row([nodes.Text(name) for name in columns]))
    body = nodes.tbody("", *[row(cells[: len(columns)]) for cells in rows])
    group = nodes.tgroup("", *widths, head, body, cols=len(columns))
    return nodes.table("", group, classes=["colwidths-auto", "ln-rows", "ln-last-run"])


def setup(app):
    """Connect the parts."""
    app.add_node(Placeholder)
    app.add_directive("last-run", OfChapters)
    app.add_directive("notebooks", OfChapters)
    app.add_post_transform(FillPlaceholders)
    app.connect("doctree-read", note_run)
    app.connect("env-updated", pages_with_placeholders)
    app.connect("build-finished", write_archive)
    # The notes on runs are files: what was read in parallel could not write them down in turn.
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
