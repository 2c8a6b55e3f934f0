"""Sphinx extension: results of the recorded runs as a JSON file and as tables.

- ``claims.json`` contains the claims and the evidence that the page ``claims`` shows.
- ``<!-- here: table-2 -->`` is replaced by a table with the numbers of the paper and of the runs.
"""

import json
import re
from pathlib import Path

from lnlab import claims
from lnlab.claims import figure_6, numbers

PAGE = "claims"
PLACEHOLDER = re.compile(r"^<!-- here: ([\w-]+) -->$", re.M)
COLUMNS = ["Measure", "Paper, no norm", "Paper, layer norm", "Here, no norm", "Here, layer norm"]
MEASURE_OF_SEEDS = "Measure (here: mean of {} seeds)"


def table(name, records):
    """Return the numbers of a figure or table of the paper, next to ours, as a MyST table."""
    css_class = "ln-rows"
    if name == "figure-6":
        heads, *rows = figure_6.table(records)
    else:
        css_class += " ln-here"  # the columns are those of COLUMNS
        table_rows = numbers.rows(name, records)
        seeds = numbers.seeds(table_rows[0].experiment, records)
        rows = [row.cells for row in table_rows]
        heads = [MEASURE_OF_SEEDS.format(seeds), *COLUMNS[1:]] if seeds else COLUMNS
    lines = [heads, ["---"] * len(heads), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f":::{{table}}\n:class: {css_class}\n\n{body}\n:::"


def insert_tables(app, docname, source):
    """Replace the placeholders in the source of a page."""
    if PLACEHOLDER.search(source[0]):
        records = claims.Records(Path(app.srcdir, "runs"))
        source[0] = PLACEHOLDER.sub(lambda match: table(match[1], records), source[0])


def write_json(app, exception):
    """Evaluate the claims on the recorded runs and write ``claims.json``, if the page exists."""
    page = Path(app.outdir, f"{PAGE}.html")
    if exception is None and app.builder.format == "html" and page.exists():
        results = claims.as_json(claims.evaluate(Path(app.srcdir, "runs")))
        text = json.dumps(results, indent=1, ensure_ascii=False)
        page.with_suffix(".json").write_text(text + "\n", "utf-8")


def setup(app):
    """Connect the event handlers."""
    app.connect("source-read", insert_tables)
    app.connect("build-finished", write_json)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
