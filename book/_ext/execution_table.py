"""Sphinx extension: the table of when and where each chapter ran, and the list of downloads.

``{notebooks}`` lists the notebooks for download, one by one and as one archive. A browser that
opens the book from a folder would show a notebook as text instead of saving it.

``{last-run}`` is a table with the date, the run time and the machine of each chapter. myst-nb knows
the date and the run time, but a result may come from its cache, which may be older or from another
machine. So the machine is recorded next to the cache after each run, under the exact run time. A
cached result without such an entry is shown as "not known".
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

BUILD_START = time.time()
COLUMNS = ("Chapter", "Ran (UTC)", "Seconds", "Result", "Machine")
ARCHIVE = "_downloads/chapters.zip"
UNKNOWN = "not known"


@cache
def machine():
    """Return the processor, the GPU, the versions of packages, and the commit of the clone."""
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
    """Return the description of a machine as one sentence."""
    commit = "" if facts["commit"] == "unknown" else f" (commit {facts['commit']})"
    gpu = "no GPU" if facts["gpu"] == "none" else f"GPU {facts['gpu']}"
    return (
        f"{facts['processor']}, {facts['cores']} cores, {gpu}; Python {facts['python']}, "
        f"NumPy {facts['numpy']}, PyTorch {facts['torch']}, plotly {facts['plotly']}, "
        f"lnlib {facts['lnlib']}{commit}."
    )


def log_path(app):
    """Return the path of the execution log, which is in the cache that it describes."""
    return Path(app.config.nb_execution_cache_path) / "executions.json"


def read_log(app):
    """Return the execution log: ``{page: {repr(run time in s): machine and date}}``."""
    path = log_path(app)
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def log_if_executed(app, doctree):
    """Log the execution of a page if it ran in this build."""
    run = NbMetadataCollector.get_exec_data(app.env, app.env.docname)
    # The mtime of a cached result is the start of an earlier build, in UTC or as if in UTC.
    if run and run["runtime"] and BUILD_START <= run["mtime"] <= time.time():
        log_execution(app, app.env.docname, run["runtime"])


def log_execution(app, page, seconds):
    """Log that a page has just been executed on this machine, and its run time."""
    log = read_log(app)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    log.setdefault(page, {}).setdefault(repr(seconds), {"date": now} | machine())
    log_path(app).parent.mkdir(parents=True, exist_ok=True)
    log_path(app).write_text(json.dumps(log, indent=1), "utf-8")


class Placeholder(nodes.General, nodes.Element):
    """A node that is replaced after all pages have been read."""


class ChapterListDirective(SphinxDirective):
    """``{last-run}`` or ``{notebooks}``: inserts a placeholder."""

    def run(self):
        """Mark the page, so that it is written again when a chapter has changed."""
        self.env.metadata[self.env.docname]["lists_chapters"] = True
        return [Placeholder(directive=self.name)]


def pages_with_placeholders(app, env):
    """Return the pages that list the chapters, all of which may have changed."""
    return [page for page, metadata in env.metadata.items() if metadata.get("lists_chapters")]


class FillPlaceholders(SphinxPostTransform):
    """Replace the placeholders by the list and the table."""

    default_priority = 8  # before references are resolved

    def run(self, **kwargs):
        """Replace all placeholders of a page."""
        for placeholder in list(self.document.findall(Placeholder)):
            is_table = placeholder["directive"] == "last-run"
            placeholder.replace_self(self.table() if is_table else self.downloads())

    def downloads(self):
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
        """Return the table, followed by the list of machines."""
        log, machines, rows = read_log(self.app), [], []
        for page in chapters(self.env):
            run = NbMetadataCollector.get_exec_data(self.env, page)
            if not run:
                continue
            date = number = UNKNOWN
            if entry := log.get(page, {}).get(repr(run["runtime"])):
                name = describe_machine(entry)
                if name not in machines:
                    machines.append(name)
                date, number = entry["date"], str(machines.index(name) + 1)
            rows.append(
                [
                    self.chapter_link(page),
                    nodes.Text(date),
                    nodes.Text(f"{run['runtime']:.1f}" if run["runtime"] else UNKNOWN),
                    nodes.Text("ran to its end" if run["succeeded"] else run["error"]),
                    nodes.Text(number),
                ]
            )
        if len(machines) == 1 and not any(UNKNOWN in row for row in rows):
            rows = [row[:-1] for row in rows]
            return [
                table_node(rows, COLUMNS[:-1]),
                nodes.paragraph("", f"All ran on: {machines[0]}"),
            ]
        items = [nodes.list_item("", nodes.paragraph("", name)) for name in machines]
        return [
            table_node(rows, COLUMNS),
            nodes.paragraph("", "The machines:"),
            nodes.enumerated_list("", *items, enumtype="arabic"),
        ]

    def chapter_link(self, page):
        """Return a link to a chapter, with its title as the text."""
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
    """Return the names of the pages that are notebooks, in the order of the table of contents."""
    names, todo = [], [env.config.root_doc]
    while todo:
        name = todo.pop(0)
        names.append(name)
        todo = env.toctree_includes.get(name, []) + todo
    return [name for name in names if env.doc2path(name).endswith(".ipynb")]


def write_archive(app, exception):
    """Write the archive of notebooks; the same notebooks give the same bytes."""
    if exception is None and app.builder.format == "html" and pages_with_placeholders(app, app.env):
        path = Path(app.outdir, ARCHIVE)
        path.parent.mkdir(exist_ok=True)
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for page in chapters(app.env):
                source = Path(app.outdir, "_sources", f"{page}.ipynb")  # the reader's copy
                archive.writestr(ZipInfo(source.name), source.read_bytes(), ZIP_DEFLATED)
            if readers_copy.has_library(app):
                for wheel in map(path.with_name, readers_copy.WHEELS.values()):
                    archive.writestr(ZipInfo(wheel.name), wheel.read_bytes())


def table_node(rows, columns):
    """Return a table with these column names and rows of inline nodes."""

    def row(cells):
        return nodes.row("", *[nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells])

    widths = [nodes.colspec(colwidth=1) for _ in columns]
    head = nodes.thead("", row([nodes.Text(name) for name in columns]))
    body = nodes.tbody("", *map(row, rows))
    group = nodes.tgroup("", *widths, head, body, cols=len(columns))
    return nodes.table("", group, classes=["colwidths-auto", "ln-rows", "ln-last-run"])


def setup(app):
    """Add the directives and connect the event handlers."""
    app.add_node(Placeholder)
    app.add_directive("last-run", ChapterListDirective)
    app.add_directive("notebooks", ChapterListDirective)
    app.add_post_transform(FillPlaceholders)
    app.connect("doctree-read", log_if_executed)
    app.connect("env-updated", pages_with_placeholders)
    app.connect("build-finished", write_archive)
    # Processes that read in parallel would overwrite each other's entries of the log.
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
