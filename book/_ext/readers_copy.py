"""Sphinx extension: copies of the chapters for notebook programs.

The stored chapters contain directives and roles of MyST, folded solutions, and cells with
assertions. JupyterLab, Notebook, VS Code and Colab would show these as source text. The copies,
which pages offer for download and ``make live`` opens, contain plain Markdown:

- roles and labels become links, and equations get their numbers;
- solutions are collapsed (``<details>``), and their code is not run;
- the cell of an exercise imports what it needs, so that it also runs after a restart of the kernel;
- code that a page folds is folded by the metadata of JupyterLab, Notebook 7 and Colab;
- cells with assertions are left out, because the tests run the stored chapters.
"""

import ast
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from importlib.metadata import version
from pathlib import Path

from reading_time import measures, minutes_text
from setup_cell import CELL, DISTRIBUTIONS, FOLDED, setup_cell, sources_in_repository

from lnbook.classroom import chapters

RUN_ALL_HINT = (
    "> **To begin, choose *Run* › *Run All Cells* in the menu**, in VS Code *Run All*, in Colab "
    "*Runtime* › *Run all*. Until then a figure is some lines of text. After a restart of the "
    "kernel, do it again; the cell of an exercise also runs alone."
)
WHEELS = {name: f"{name}-{version('lnlib')}-py3-none-any.whl" for name in DISTRIBUTIONS}
DIRECTIVE = re.compile(
    r"^`{3,}\{((?:exercise|solution)-(?:start|end))\}.*\n(?::.*\n)*`{3,}\n*", re.M
)
LABELED = re.compile(r"^\(([\w-]+)\)=\n(#+ (.+))?", re.M)
EQUATION = re.compile(r"^\$\$ \(([\w-]+)\)$", re.M)
# A sentence in the exercises that only concerns the built page.
PAGE_ONLY = re.compile(r"^The check runs in a live notebook.*\n?", re.M)
TABLE = re.compile(r"^:::\{table\}(.*)\n((?::\w.*\n)*)([\s\S]*?)^:::$", re.M)
HEADING = re.compile(r"^#+ (.+)$", re.M)
SAME_PAGE_LINK = re.compile(r"\]\(#([\w-]+)\)")  # a link to a heading of the same page
LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)(\.md|\.ipynb)?(#[\w-]+)?\)")


def copy(path, *, site="", library=None):
    """Return the copy of a chapter as a notebook in JSON form.

    Args:
        path: The stored chapter.
        site: URL of the built book with a trailing slash, or an empty string.
        library: URLs that the first code cell installs the distributions from, by name; ``None``
            does not change that cell.
    """
    stored = json.loads(path.read_text("utf-8"))
    text = "\n".join("".join(c["source"]) for c in stored["cells"] if c["cell_type"] == "markdown")
    translate = Translator(path.parent, text, site)
    cells, solution, number = [], None, 0
    for k, cell in enumerate(stored["cells"]):
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code":
            if cell["id"] == CELL:
                code = source if library is None else setup_cell(library)
                cells.append(cell | {"metadata": FOLDED, "source": code})
            elif "remove-cell" in tags:
                later = "\n".join(visible_code(stored["cells"][k + 1 :]))
                if needed := chapters.needs(ast.parse(source).body, later):
                    cells.append(cell | {"metadata": FOLDED, "source": "\n".join(needed)})
            elif solution is not None:
                solution.append(f"```python\n{source}\n```")
            elif number and "exercises.check(" in source:
                task = list(chapters.tasks(path.stem).values())[number - 1]
                cells.append(cell | {"source": self_contained(task, source)})
            else:
                folded = {"hide-input", "remove-input"} & set(tags)
                cells.append(cell | {"metadata": FOLDED if folded else {}})
            continue
        kind, parts = "", DIRECTIVE.split(source)
        for part in parts:
            if re.fullmatch(r"(exercise|solution)-(start|end)", part):
                kind = part
                if kind == "solution-start":
                    solution = []
                elif kind == "solution-end":
                    cells.append(markdown(collapsed(solution)))
                    solution = None
                elif kind == "exercise-start":
                    number += 1
                continue
            texts = translate(part)
            if kind == "exercise-start":
                texts = f"### Exercise {number}\n\n{texts}"
            if texts and solution is not None:
                solution.append(texts)
            elif texts:
                cells.append(markdown(texts))
    cells[0]["source"] = re.sub(
        r"^# .+\n?", rf"\g<0>\n{RUN_ALL_HINT}\n", cells[0]["source"], count=1
    )
    for k, cell in enumerate(cells):
        cell["id"] = cell["id"] if cell.get("id") == CELL else f"cell-{k:02d}"
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    return stored | {"cells": cells}


def myst_anchor(title):
    """Return the anchor of a heading in MyST."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def jupyterlab_anchor(title):
    """Return the anchor of a heading in JupyterLab."""
    return title.replace(" ", "-").replace("(", "%28").replace(")", "%29")


def visible_code(cells):
    """Return the code that a page shows, one string per cell."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    visible = [cell for cell in code if "remove-cell" not in cell["metadata"].get("tags", [])]
    return ["".join(cell["source"]) for cell in visible]


def self_contained(task, source):
    """Return the code of an exercise after the imports and definitions that it needs."""
    needed = [*task.needs, "from lnbook import exercises"]
    present = {ast.unparse(statement) for statement in ast.parse(source).body}
    imports = [s for s in needed if s.startswith(("import ", "from ")) and s not in present]
    rest = [statement for statement in needed if statement not in {*imports, *present}]
    text = "\n".join(imports)
    for part in (*rest, source):
        text += ("\n" if part.startswith(("import ", "from ")) else "\n\n") + part
    return text


def markdown(source):
    """Return a Markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def collapsed(solution):
    """Return the Markdown of a collapsed solution."""
    return "\n\n".join(["<details><summary>Solution</summary>", *solution, "</details>"])


class Translator:
    """Translate the MyST of a chapter into Markdown that every notebook program renders.

    Args:
        folder: Folder of the chapters and the bibliography.
        text: All Markdown of the chapter, which defines equation numbers and labels.
        site: See :func:`copy`.
    """

    def __init__(self, folder, text, site):
        self.folder, self.site = folder, site
        self.equations = {label: k for k, label in enumerate(EQUATION.findall(text), 1)}
        self.labels = {label: title for label, _, title in LABELED.findall(text)}
        self.headings = {myst_anchor(title): title for title in HEADING.findall(text)}

    def __call__(self, text):
        """Return a part of the text in plain Markdown."""
        text = PAGE_ONLY.sub("", text)
        text = TABLE.sub(lambda m: f"**{m[1].strip()}**\n\n{m[3]}" if m[1].strip() else m[3], text)
        text = LABELED.sub(lambda m: m[2] or "", text)
        text = EQUATION.sub(lambda m: f"\\tag{{{self.equations[m[1]]}}}\n$$", text)
        text = re.sub(r"\{eq\}`([\w-]+)`", lambda m: f"({self.equations[m[1]]})", text)
        text = re.sub(r"\{cite:([pt])\}`([^`]+)`", self.citation, text)
        text = re.sub(r"\{minutes\}`(\w+)`", lambda m: self.minutes(m[1]), text)
        text = re.sub(r"\{term\}`([^`<]+?)(?: <[^>]*>)?`", r"\1", text)
        text = re.sub(r"\{doc\}`(\w+)`", self.page_link, text)
        text = SAME_PAGE_LINK.sub(
            lambda m: f"](#{jupyterlab_anchor(self.headings.get(m[1], m[1]))})", text
        )
        return LINK.sub(self.link, text).strip()

    def minutes(self, name):
        """Return the reading time of a chapter, with its unit."""
        stored = json.loads((self.folder / f"{name}.ipynb").read_text("utf-8"))
        return minutes_text(measures(stored))

    def citation(self, match):
        """Return the authors and the year of a citation, linked to the paper."""
        texts = []
        for key in match[2].split(","):
            authors, year, address = references(self.folder / "references.bib")[key.strip()]
            text = f"{authors}, {year}" if match[1] == "p" else f"{authors} ({year})"
            texts.append(f"[{text}]({address})" if address else text)
        return f"({'; '.join(texts)})" if match[1] == "p" else " and ".join(texts)

    def page_link(self, match):
        """Return a link to a page, with its title as the text."""
        chapter = self.folder / f"{match[1]}.ipynb"
        if chapter.exists():
            text = "".join(json.loads(chapter.read_text("utf-8"))["cells"][0]["source"])
            kind = ".ipynb"
        else:
            text, kind = (self.folder / f"{match[1]}.md").read_text("utf-8"), ".md"
        return f"[{re.search(r'^# (.+)$', text, re.M)[1]}]({match[1]}{kind})"

    def link(self, match):
        """Return a link to another chapter, to a page of the book, or to a labeled heading."""
        text, name, kind, part = match.groups(default="")
        if kind == ".ipynb":
            return f"[{text}]({name}.ipynb{part})"
        if kind == ".md":
            return f"[{text}]({self.site}{name}.html{part})" if self.site else f"*{text}*"
        page, title = self.find_label(name)
        return f"[{text}]({page}#{jupyterlab_anchor(title)})" if title else match[0]

    def find_label(self, label):
        """Return the file name of the chapter with a label, and the labeled heading.

        The file name is empty for a label of this chapter. Both are empty for an unknown label.
        """
        if label in self.labels:
            return "", self.labels[label]
        for path in sorted(self.folder.glob("*.ipynb")):
            for cell in json.loads(path.read_text("utf-8"))["cells"]:
                for match in LABELED.finditer("".join(cell["source"])):
                    if match[1] == label:
                        return path.name, match[3]
        return "", ""


@functools.cache
def references(path):
    """Return ``{key: (authors, year, URL)}`` for a BibTeX file."""
    results = {}
    for key, entry in re.findall(
        r"^@\w+\{([^,]+),\n(.*?)^\}", path.read_text("utf-8"), re.M | re.S
    ):
        fields = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", entry, re.M))
        last = [name.partition(",")[0] for name in fields.get("author", key).split(" and ")]
        last = [decode_tex(name) for name in last]
        if len(last) > 2 or last[-1] == "others":
            last = [f"{last[0]} et al."]
        address = fields.get("url", "")
        if "eprint" in fields:
            address = f"https://arxiv.org/abs/{fields['eprint']}"
        elif "doi" in fields:
            address = f"https://doi.org/{fields['doi']}"
        results[key] = " and ".join(last), fields.get("year", ""), address
    return results


def decode_tex(name):
    r"""Return a name without TeX commands, such as ``Kočiský`` of ``Ko{\v{c}}isk{\'y}``."""
    marks = {
        "'": "\u0301",
        "`": "\u0300",
        '"': "\u0308",
        "^": "\u0302",
        "~": "\u0303",
        "v": "\u030c",
    }
    name = re.sub(r"\\(['`\"^~v])\{?(\w)\}?", lambda m: m[2] + marks[m[1]], name)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", name))


def to_json(notebook):
    """Return a notebook as the text of its file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def has_library(app):
    """Return whether the book is in a repository with the library."""
    return Path(app.srcdir).parent.joinpath("pyproject.toml").exists()


def build_wheels(root, folder):
    """Build the wheels of the library without the recorded runs, which are 15 times larger.

    Args:
        root: Root of the repository.
        folder: Output folder.
    """
    with tempfile.TemporaryDirectory() as parent:
        copied = Path(parent, "clone")
        ignored = shutil.ignore_patterns("__pycache__")
        for name in ("lnlib", "lnlab", "book/lnbook"):
            shutil.copytree(root / name, copied / name, ignore=ignored)
        for name in ("README.md", "LICENSE", "pyproject.toml", "book/pyproject.toml"):
            shutil.copy(root / name, copied / name)
        project = copied / "lnlab" / "pyproject.toml"
        lines = project.read_text("utf-8").splitlines()
        project.write_text("\n".join(line for line in lines if "book/runs" not in line), "utf-8")
        for part in DISTRIBUTIONS.values():
            command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
            subprocess.run(command, cwd=copied / part, check=True, capture_output=True)


def write_downloads(app, exception):
    """Write the files for download: the copies of the chapters and the wheels of the library."""
    if exception is not None or app.builder.format != "html":
        return
    site, out = app.config.html_baseurl, Path(app.outdir)
    library = sources_in_repository(app.config.ln_repository_url)
    if site and not library:
        library = {name: f"{site}_downloads/{wheel}" for name, wheel in WHEELS.items()}
    for path in (out / "_sources").glob("*.ipynb"):
        copied = copy(Path(app.srcdir, path.name), site=site, library=library)
        path.write_text(to_json(copied), "utf-8")
    if has_library(app):
        build_wheels(Path(app.srcdir).parent, out.resolve() / "_downloads")


def setup(app):
    """Connect the event handler, which runs before the archive of the copies is written."""
    app.connect("build-finished", write_downloads, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
