"""Records: validation, round trips, and the records of the book."""

import copy
import hashlib
import io
import json
import shutil
import subprocess
import zipfile

import numpy as np
import pytest

import lnlab
from lnlab import claims, records

GOOD = {
    "format": 2,
    "experiment": "mnist",
    "paper": {"section": "6.6", "figure": "6"},
    "settings": {"norm": "layer", "batch_size": 4},
    "seed": 0,
    "data": {"name": "mnist", "sha256": "0" * 64, "cases": {"train": 55_000, "test": 10_000}},
    "curves": {"x": "epoch", "epoch": [0.0, 1.0], "train_nll": [2.3, None]},
    "arrays": {},
    "units": {"epoch": "epochs", "train_nll": "nats"},
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
        "command": "python -m lnlab replay mnist",
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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (changed("seed"), "'seed' is a required property"),
        (changed("curves", "train_nll", to=[1.0]), "curves must be of one length"),
        (changed("curves", "x", to="step"), "the axis 'step' is not among the curves"),
        (changed("curves", "train_nll", to=[1, "low"]), r"curves.train_nll\[1\] does not fit"),
        ([1, 2], "does not fit"),
        (changed("units", "train_nll"), "units must name epoch, train_nll, got epoch"),
        (changed("arrays", to={"a": np.zeros((1, 3))}), r"a row for each of the 2 points, got .*1"),
        (changed("arrays", to={"epoch": np.zeros((2, 1))}), "got epoch of both"),
        (changed("arrays", to={"a": np.array([None, 1])}), r"\$.arrays.a.dtype does not fit"),
        (changed("format", to=3), r"written in format 3.* update lnlib"),
    ],
)
def test_mismatches_are_named_in_the_error(bad, message):
    with pytest.raises(records.BadRecord, match=message):
        records.check(bad)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b'{"format": 2, "exp', b'{"seed":' * 100_000, b'{"seed": NaN}',
     b'{"seed": ' + b"9" * 5000 + b"}"],
    ids=lambda content: repr(content[:12]),
)  # fmt: skip
def test_damaged_files_are_named_in_the_error(tmp_path, content):
    (tmp_path / "mnist").mkdir()
    for path in (tmp_path / "mnist" / "any.json", tmp_path / "mnist-x.json"):
        path.write_bytes(content)
        text = f"{path.name}: not a JSON file that can be read .+; .* --again, or delete the file$"
        with pytest.raises(records.BadRecord, match=text):
            records.read_all("mnist", tmp_path)
        with pytest.raises(records.BadRecord, match=text):
            records.read(path)
        assert records.read_all("noise", tmp_path) == []
        path.unlink()


def test_read_all_filters_by_the_content_of_records_instead_of_file_names(tmp_path):
    for name, record in {
        "mnist-a": GOOD,
        "renamed": changed("settings", "norm", to="batch"),
        "mnist-c": changed("settings", to={"hidden": [8, 4], "clip": None}),
        "mnist-x": changed("experiment", to="noise"),
        "mnist-rotated-b4": changed("experiment", to="mnist-rotated"),
    }.items():
        records.write(record, tmp_path / f"{name}.json")
    (tmp_path / "other.json").write_text('[{"experiment": "mnist"}]')
    assert len(records.read_all("mnist", tmp_path)) == 3
    (result,) = records.read_all("mnist", tmp_path, norm="batch", batch_size=4)
    assert result["settings"]["norm"] == "batch"
    for wanted in ({"hidden": (8, 4)}, {"clip": None}):  # None is not the same as missing
        (result,) = records.read_all("mnist", tmp_path, **wanted)
        assert result["settings"]["hidden"] == [8, 4]
    assert [r["experiment"] for r in records.read_all("noise", tmp_path)] == ["noise"]
    assert records.read_all("draw", tmp_path) == []


def git(folder, *arguments):
    name = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *name, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_marked_dirty_if_files_have_changed(tmp_path, monkeypatch):
    package = tmp_path / "lnlab"
    package.mkdir()
    monkeypatch.setattr(lnlab, "__file__", str(package / "__init__.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert records._commit() == "unknown"
    (package / "__init__.py").write_text("one = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert records._commit() == commit
    (package / "__init__.py").write_text("one = 2\n")
    assert records._commit() == f"{commit}-dirty"
    # Installed within the clone of another project.
    monkeypatch.setattr(lnlab, "__file__", str(package / "installed.py"))
    (package / "installed.py").touch()
    assert records._commit() == "unknown"


def test_curves_have_five_digits_and_null_for_missing_values():
    points = [{"epoch": 0.0, "nll": float("nan")}, {"epoch": 1 / 3, "nll": 123456.7}]
    assert records.curves(points, "epoch") == {
        "x": "epoch",
        "epoch": [0.0, 0.33333],
        "nll": [None, 123460.0],
    }


KEPT = {
    "strokes": np.arange(12, dtype=">i2").reshape(2, 3, 2)[:, ::-1],
    "file": np.array([[np.nan], [1.5]], np.float16),
    "seen": np.array([[True], [False]]),
}


def with_arrays():
    units = GOOD["units"] | dict.fromkeys(KEPT, "m")
    return copy.deepcopy(GOOD) | {"arrays": dict(KEPT), "units": units}


def same(actual, expected):
    np.testing.assert_equal(actual["arrays"], expected["arrays"])
    assert actual | {"arrays": {}} == expected | {"arrays": {}}
    return True


def test_arrays_survive_writing_and_reading(tmp_path):
    path = tmp_path / "run-0.5.json"
    records.write(with_arrays(), path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run-0.5.json", "run-0.5.npz"]
    assert same(records.read(path), with_arrays())
    listed = json.loads(path.read_text())["arrays"]["strokes"]
    assert listed == {
        "shape": [2, 3, 2], "dtype": "int16",
        "sha256": hashlib.sha256(KEPT["strokes"].astype("<i2").tobytes()).hexdigest(),
    }  # fmt: skip


UNREADABLE = r"the arrays cannot be read \("


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: path.unlink(), f"{UNREADABLE}.*No such file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), UNREADABLE),
        (lambda path: held(path, strokes=KEPT["strokes"] + 1), "strokes is not the array that"),
        (lambda path: held(path, seen=np.array([[None]])), f"{UNREADABLE}.*pickle"),
    ],
    ids=["gone", "cut", "other values", "an object"],
)
def test_wrong_arrays_raise_an_error(tmp_path, harm, message):
    records.write(with_arrays(), tmp_path / "run.json")
    harm(tmp_path / "run.npz")
    with pytest.raises(
        records.BadRecord, match=rf"run.npz: {message}.*; record the run again with"
    ):
        records.read(tmp_path / "run.json")


def held(path, **other):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, value in (KEPT | other).items():
            with file.open(f"{name}.npy", "w") as part:
                np.lib.format.write_array(part, value)
    path.write_bytes(content.getvalue())


# Format 1 and its folders.


def of_format_1():
    old = {k: copy.deepcopy(v) for k, v in GOOD.items() if k not in ("arrays", "units")}
    old["data"] = {"name": "mnist", "sha256": "0" * 64, "train_cases": 7, "test_cases": 5}
    old["curves"] |= {"length_1": [3.0, 4.0], "length_10": [5.0, 6.0]}
    for k in (2, 0, 1):  # the order of columns is that of the names
        old["curves"] |= {f"mean_2_0{k}": [k + 0.5, None if k else 9.0]}
    return old | {"format": 1}


def test_records_of_format_1_are_converted(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(of_format_1()))
    result = records.read(path)
    assert result["data"]["cases"] == {"train": 7, "test": 5}
    assert set(result["curves"]) == {"x", "epoch", "train_nll", "length_1", "length_10"}
    expected = {"mean_2": [[0.5, 1.5, 2.5], [9.0, np.nan, np.nan]]}
    np.testing.assert_equal(result["arrays"], expected)
    with pytest.raises(records.BadRecord, match="written in format 2, got 1; record the run anew"):
        records.write(result, tmp_path / "new.json")


def test_records_are_in_one_folder_per_experiment_or_for_format_1_in_the_root(tmp_path):
    new = tmp_path / "mnist" / "mnist-a.json"
    assert records.path_of(tmp_path, "mnist", "mnist-a") == new
    records.write(GOOD, tmp_path / "mnist-a.json")
    assert records.path_of(tmp_path, "mnist", "mnist-a") == tmp_path / "mnist-a.json"
    records.write(changed("seed", to=4), tmp_path / "mnist" / "mnist-b.json")
    assert [r["seed"] for r in records.read_all("mnist", tmp_path)] == [0, 4]
    records.write(GOOD, new)
    assert records.path_of(tmp_path, "mnist", "mnist-a") == new


def test_every_record_of_the_book_is_valid_and_small():
    paths = sorted(records.folder().glob("*/*.json"))
    assert paths, "book/runs is empty"
    for path in paths:
        stored = records.read(path)
        assert path.parent.name == stored["experiment"]
        assert path.stem.startswith(stored["experiment"])
        assert not stored["provenance"]["commit"].endswith("dirty"), path
    held = [p for p in records.folder().rglob("*") if p.is_file()]
    assert {p for p in held if p.parent == records.folder()} == {records.folder() / "bench.json"}
    assert sum(p.stat().st_size for p in held) < 25e6


def test_reading_missing_records_of_the_book_gives_an_install_command(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "folder", lambda: tmp_path / "recorded")
    with pytest.raises(FileNotFoundError, match="install it from a clone of the book"):
        records.read_all("mnist")
    with pytest.raises(FileNotFoundError, match="install it from a clone of the book"):
        claims.evaluate()
    assert records.read_all("mnist", tmp_path) == []
