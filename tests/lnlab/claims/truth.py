"""What every claim comes to on synthetic records.

``truth.json`` has the numbers. A second implementation of all claims, by plain loops, has computed
them. If a claim or the protocol is changed, ``python -m tests.lnlab.claims.truth`` writes the file
anew, from the library: compare each number that differs with the protocol
(``tests/cases/protocol.py``) before it is committed.
"""

import functools
import json
import zlib
from pathlib import Path

from lnlab import claims
from lnlab.claims.finding import evaluate
from tests.cases import toy_records
from tests.cases.protocol import Answer

FILE = Path(__file__).with_suffix(".json")
FIELDS = ("differences", "unit", "shares", "counts", "turned", "untestable")
_TRUTH = json.loads(FILE.read_text("utf-8"))
#: Every claim that rests on records.
RECORDED = list(_TRUTH)


@functools.cache
def records(case):
    """The synthetic records of a case."""
    return toy_records.records(case)


def expected(name, case):
    """The findings that a claim must have, those first on which the verdict rests."""
    return [Answer(**dict(zip(FIELDS, row, strict=True))) for row in _TRUTH[name][case][1:]]


def files(name, case):
    """Checksum of the names of the records on which a claim rests."""
    return _TRUTH[name][case][0]


def checksum(names):
    return zlib.crc32("\n".join(sorted(set(names))).encode())


def file_names(findings):
    return [f"{run['experiment']}/{run['stem']}.json" for one in findings for run in one.runs]


def row(finding):
    """The numbers of a finding, with eight digits."""
    values = {name: getattr(finding, name) for name in FIELDS}
    for name in ("differences", "shares"):
        if values[name] is not None:
            values[name] = [float(f"{value:.8g}") for value in values[name]]
    return [*values.values()]


def write():
    """Write the file anew, one line per claim and case."""
    lines = []
    for claim in (c for c in (*claims.PAPER, *claims.TUTORIALS) if c.experiments):
        cases = []
        for case in toy_records.CASES:
            findings = evaluate(claim, toy_records.InMemory(records(case))).findings
            content = [checksum(file_names(findings)), *map(row, findings)]
            cases.append(f'  "{case}": {json.dumps(content)}')
        lines.append(f' "{claim.name}": {{\n' + ",\n".join(cases) + "\n }")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    write()
