"""Sphinx extension: what the book's records say, where they are not shown by a chapter's cell.

- Beside the page of claims lies all that it is made of, as JSON.
- In the page of the paper ``<!-- here: table-2 -->`` becomes a table: the paper's numbers, and
  those of the records.
"""

import json
import re
from pathlib import Path

from lnlab import claims
from lnlab.claims import figure_6, numbers

PAGE = "claims"
MARK = re.compile(r"^<!-- here: ([\w-]+) -->$", re.M)
HEADS = ["Measure", "Paper, no norm", "Paper, layer norm", "Here, no norm", "Here, layer norm"]
OF_SEEDS = "Measure (here: mean of {} seeds)"


def table(name, records):
    """Write the numbers of a figure or table of the paper beside those here, as MyST."""
    if name == "figure-6":
        heads, *rows = figure_6.table(records)
    else:
        table_rows = numbers.rows(name, records)
        seeds, rows = (
            numbers.seeds(table_rows[0].experiment, records),
            [row.cells for row in table_rows],
        )
        heads = [OF_SEEDS.format(seeds), *HEADS[1:]] if seeds else HEADS
    lines = [heads, ["---"] * len(heads), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f":::{{table}}\n:class: ln-rows ln-here\n\n{body}\n:::"


def fill(app, docname, source):
    """Put the tables in."""
    if MARK.search(source[0]):
        records = claims.Records(Path(app.srcdir, "runs"))
        source[0] = MARK.sub(lambda match: table(match[1], records), source[0])


def write(app, exception):
    """Weigh the claims by the book's records and write them as JSON, if the book has the page."""
    page = Path(app.outdir, f"{PAGE}.html")
    if exception is None and app.builder.format == "html" and page.exists():
        weighed = claims.as_json(claims.evaluate(Path(app.srcdir, "runs")))
        text = json.dumps(weighed, indent=1, ensure_ascii=False)
        page.with_suffix(".json").write_text(text + "\n", "utf-8")


def setup(app):
    """Fill pages as they are read, and write when they stand."""
    app.connect("source-read", fill)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
