"""Which records a claim rests on: those of its experiment and settings, as they are now."""

import hashlib
import json

import pytest

from lnlab.claims import Records
from tests.cases import toy_records
from tests.lnlab.claims import truth


@pytest.fixture(scope="module")
def runs():
    return [run for run in truth.records("better") if run["experiment"] in ("draw", "handwriting")]


@pytest.fixture(scope="module")
def folder(runs, tmp_path_factory):
    where = tmp_path_factory.mktemp("records")
    toy_records.write(runs, where)
    return where


def keys(records_read):
    return sorted(
        (run["experiment"], run["seed"], json.dumps(run["settings"])) for run in records_read
    )


def of(runs, experiment, **settings):
    return keys(run for run in runs if run["experiment"] == experiment
                and settings.items() <= run["settings"].items())  # fmt: skip


def test_each_question_is_answered_by_its_own_experiment_settings_and_pattern(runs, folder):
    records = Records(folder)
    for experiment, settings in [
        ("draw", {}), ("handwriting", {}), ("draw", {"norm": "layer"}), ("draw", {"glimpses": 16}),
        ("draw", {}), ("handwriting", {"length": 1400}),
    ]:  # fmt: skip
        result = keys(records.select(experiment, **settings))
        assert result == of(runs, experiment, **settings) != []
    for glimpses in (16, 8):
        for norm in ("layer", "none"):
            result = keys(records.select("draw", f"{norm}-usual-T{glimpses}-*"))
            wanted = {"norm": norm, "start": "usual", "glimpses": glimpses}
            assert result == of(runs, "draw", **wanted) != []
    assert records.select("convnet") == []


def test_files_are_those_of_the_runs_asked_for_with_their_own_checksums(runs, folder):
    records = Records(folder)
    records.select("draw")
    some = records.select("handwriting", norm="layer", length=1400)
    result = records.files(some)
    assert set(result) == {
        f"handwriting/{run['stem']}.json" for run in runs if run["experiment"] == "handwriting"
        and run["settings"]["norm"] == "layer" and run["settings"]["length"] == 1400
    }  # fmt: skip
    for name, digest in result.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
