"""Validation of records: the same as with jsonschema, with NumPy only, and fast."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lnlib
from lnlab import record_schema, records
from tests.lnlab.test_records import changed, with_arrays


@pytest.mark.parametrize("path", [("settings", "rate"), ("provenance", "wall_s"), ("paper", "x")])
def test_infinite_numbers_are_rejected_everywhere(tmp_path, path):
    text = json.dumps(changed(*path, to=8765.0)).replace("8765.0", "1e999")
    (tmp_path / "mnist-x.json").write_text(text)
    texts = rf"numbers must be finite, got inf at \$.{path[0]}.{path[1]}; record the run again"
    with pytest.raises(records.BadRecord, match=texts):
        records.read(tmp_path / "mnist-x.json")


def test_reading_records_only_needs_numpy(tmp_path):
    records.write(with_arrays(), tmp_path / "run.json")
    code = (
        "import sys; from lnlab import records; from pathlib import Path\n"
        f"assert records.read({str(tmp_path / 'run.json')!r})['arrays']\n"
        f"assert records.read_all('mnist', Path({str(tmp_path)!r}))\n"
        "known = {*sys.stdlib_module_names, 'numpy', 'lnlib', 'lnlab', '__main__'}\n"
        "print(*{name.partition('.')[0] for name in sys.modules} - known)"
    )
    isolated = [sys.executable, "-S", "-c"]  # without what .pth files import
    path = os.pathsep.join([*sys.path, str(Path(lnlib.__file__).parents[1])])
    done = subprocess.run(
        [*isolated, code], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout.split() == []


def paths_within(value, *path):
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from paths_within(value[key], *path, key)


def test_validation_agrees_with_jsonschema():
    jsonschema = pytest.importorskip("jsonschema")
    good = record_schema.array_summaries(with_arrays())
    good["provenance"]["segments"] = [good["provenance"] | {"epochs": 1.5}] * 2
    library = jsonschema.Draft202012Validator(record_schema.SCHEMAS[2])
    unusual_values = [None, True, 0, -1, 1.5, "", "a b", [], [1, "x"], [None, True], {}]
    unusual_values += [{"a": []}, {"1": 0}, "gone"]
    verdicts = []
    for path in paths_within(good):
        for other in unusual_values:
            bad = copy.deepcopy(good)
            *parents, last = path
            place = bad
            for key in parents:
                place = place[key]
            if other == "gone":
                del place[last]
            else:
                place[last] = other
            verdicts.append(library.is_valid(bad))
            mismatch = record_schema._describe_mismatch(bad, record_schema.SCHEMAS[2])
            assert verdicts[-1] == (not mismatch), (path, other)
    assert 100 < sum(verdicts) < len(verdicts) - 100
