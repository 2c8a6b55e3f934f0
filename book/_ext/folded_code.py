"""Sphinx extension: label the control that opens a folded code cell, where the cell is.

MyST-NB makes each folded cell a ``<details>`` element, so opening it needs no script. The label
says which names the code defines, because later cells use them.
"""

import ast

from docutils import nodes

MAX_NAMES = 3  # the label stays on one line of a phone


def defined_names(source):
    """Return what a cell defines for later ones: ``imports``, and the names that it assigns."""
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.append("imports")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            targets = [part for target in node.targets for part in ast.walk(target)]
            names += [part.id for part in targets if isinstance(part, ast.Name)]
    return list(dict.fromkeys(name for name in names if not name.startswith("_")))


def label_folded_cells(app, doctree):
    """Set the labels of the folded cells of a page."""
    for cell in doctree.findall(nodes.container):
        if "hide_mode" not in cell:
            continue
        code = next(cell.findall(nodes.literal_block)).astext()
        names = defined_names(code)
        if len(names) > MAX_NAMES:
            names[MAX_NAMES:] = ["…"]
        what = f": {', '.join(names)}" * bool(names)
        cell["prompt_show"], cell["prompt_hide"] = f"Show code{what}", "Hide code"


def setup(app):
    """Connect the event handler."""
    app.connect("doctree-read", label_folded_cells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
