"""Records: what is refused, what survives a round trip, what the book's own say."""

import copy
import json

import pytest

from lnlib.replay import mnist, record

GOOD = {
    "format": 1,
    "experiment": "mnist",
    "paper": {"section": "6.6", "figure": "6"},
    "settings": {"norm": "layer", "batch_size": 4},
    "seed": 0,
    "data": {"name": "mnist", "sha256": "0" * 64, "train_cases": 55_000, "test_cases": 10_000},
    "curves": {"x": "epoch", "epoch": [0.0, 1.0], "train_nll": [2.3, None]},
    "provenance": {
        "lnlib": "0.1.0",
        "commit": "abc",
        "python": "3.11.7",
        "torch": "2.13.0",
        "numpy": "2.4.0",
        "device": "CPU: a model",
        "threads": 2,
        "date": "2026-11-20T12:00:00+00:00",
        "wall_s": 1.0,
        "command": "python -m lnlib replay mnist",
    },
}


def changed(*path, to=None):
    bad = copy.deepcopy(GOOD)
    *parents, last = path
    place = bad
    for key in parents:
        place = place[key]
    if to is None:
        del place[last]
    else:
        place[last] = to
    return bad


def test_a_record_survives_writing_and_reading(tmp_path):
    record.write(GOOD, tmp_path / "deep" / "run.json")
    assert record.read(tmp_path / "deep" / "run.json") == GOOD


@pytest.mark.parametrize("key", ["experiment", "settings", "seed", "data", "curves", "provenance"])
def test_a_missing_part_is_refused_by_name(key):
    with pytest.raises(record.BadRecord, match=f"'{key}' is a required property"):
        record.check(changed(key))


@pytest.mark.parametrize("key", sorted(GOOD["provenance"]))
def test_a_missing_provenance_is_refused_by_name(key):
    with pytest.raises(record.BadRecord, match=f"'{key}' is a required property"):
        record.check(changed("provenance", key))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (changed("data", "sha256", to="xyz"), r"\$.data.sha256 does not fit"),
        (changed("seed", to="0"), r"\$.seed does not fit"),
        (changed("curves", "train_nll", to=[1.0]), "curves must be of one length"),
        (changed("curves", "x", to="step"), "the axis 'step' is not among the curves"),
        (changed("curves", "train_nll", to=["low", 1]), r"curves.train_nll\[0\] does not fit"),
        ([1, 2], "does not fit"),
    ],
)
def test_what_does_not_fit_is_named(bad, said):
    with pytest.raises(record.BadRecord, match=said):
        record.check(bad)


def test_a_newer_format_says_to_update():
    with pytest.raises(record.BadRecord, match=r"written in format 2.* update lnlib"):
        record.check(changed("format", to=2))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"format": 1, "exp'])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / "mnist-x.json").write_bytes(content)
    with pytest.raises(record.BadRecord, match=r"mnist-x.json: not a JSON file"):
        record.read_all("mnist", tmp_path)


def test_nothing_is_written_for_a_bad_record(tmp_path):
    with pytest.raises(record.BadRecord):
        record.write(changed("seed"), tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == []


def test_read_all_chooses_by_settings(tmp_path):
    record.write(GOOD, tmp_path / "mnist-a.json")
    record.write(changed("settings", "norm", to="batch"), tmp_path / "mnist-b.json")
    assert len(record.read_all("mnist", tmp_path)) == 2
    (found,) = record.read_all("mnist", tmp_path, norm="batch", batch_size=4)
    assert found["settings"]["norm"] == "batch"
    assert record.read_all("draw", tmp_path) == []


def test_curves_keep_five_digits_and_say_null_for_not_measured():
    points = [{"epoch": 0.0, "nll": float("nan")}, {"epoch": 1 / 3, "nll": 123456.7}]
    assert record.curves(points, "epoch") == {
        "x": "epoch",
        "epoch": [0.0, 0.33333],
        "nll": [None, 123460.0],
    }


def test_every_record_of_the_book_fits_and_stays_small():
    paths = sorted(record.folder().glob("*.json"))
    assert paths, "book/runs is empty"
    for path in paths:
        if path.name == "bench.json":  # no run, and another format: see tests/test_bench.py
            continue
        kept = record.read(path)
        assert path.stem.startswith(kept["experiment"])
        assert not kept["provenance"]["commit"].endswith("dirty"), path
    assert sum(path.stat().st_size for path in paths) < 20e6


def test_the_book_has_the_runs_of_figure_6():
    all_ = record.read_all("mnist", data="mnist", learning_rate=1e-3, momentum=0.1)
    kept = [r for r in all_ if r["settings"]["batch_size"] in (4, 128)]
    cells = {(r["settings"]["norm"], r["settings"]["batch_size"], r["seed"]) for r in kept}
    assert cells >= {(n, b, s) for n in mnist.NORMS for b in (4, 128) for s in range(3)}
    # The content of the four files, as their source publishes it.
    assert len({r["data"]["sha256"] for r in kept}) == 1
    assert all(r["settings"]["epochs"] >= 20 for r in kept)
    assert json.dumps([r["data"]["train_cases"] for r in kept]) == json.dumps([55_000] * len(kept))
