"""Captions and boxes of COCO: what is prepared of the originals, and where it is looked for."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import random

import numpy as np
import pooch
import pytest

from lnlib.data import coco_val2017_layout as coco
from lnlib.data import load
from lnlib.data.download import RemoteFile, find

IDS = [42, 7, 300, 12, 99, 8, 1000]
BOXES = {42: "1,2,3,4,0 5,6,7,8,79", 7: "0,0,9,9,16", 300: "", 12: "3,3,4,4,2",
         99: "1,1,2,2,5 1,1,2,2,5", 8: "0,1,2,3,4", 1000: "9,9,10,10,1"}  # fmt: skip


def originals() -> tuple[bytes, bytes]:
    """Return files as the two originals are: one image has no box, one six captions."""
    notes = [
        {"image_id": i, "id": 9 - k, "caption": f" A  {i}\tand {k} – \n"}
        for k in range(5)
        for i in IDS
    ]
    notes.insert(14, {"image_id": 8, "id": 1, "caption": "the sixth in time"})
    images = [{"id": i, "width": i + 1, "height": 2 * i + 1, "license": 3} for i in reversed(IDS)]
    lines = [f"/a/path/{i:012d}.jpg {BOXES[i]}\n" for i in IDS]
    told = json.dumps({"images": images, "annotations": notes})
    return told.encode(), "".join(lines).encode()


def expected() -> list[dict]:
    """Return what is prepared of them, by hand."""
    order = [7, 8, 12, 42, 99, 1000]
    random.Random(2016).shuffle(order)
    rows = []
    for k, i in enumerate(order):
        said = [f"A {i} and {n} –" for n in range(5)]
        if i == 8:
            said[2:] = ["the sixth in time", *said[2:4]]
        rows.append({
            "id": i, "w": i + 1, "h": 2 * i + 1,
            "boxes": [[b[4], *b[:4]] for b in (
                [int(n) for n in box.split(",")] for box in BOXES[i].split()
            )],
            "captions": said, "split": ["test", "test", "val", "val", "train", "train"][k],
        })  # fmt: skip
    return rows


def remote(name: str, content: bytes) -> RemoteFile:
    return RemoteFile(name, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
def source(serve):
    """Where the made-up originals are served, each by a mirror of its own."""
    captions, boxes = originals()
    prepared = coco.prepare(captions, boxes, held_out=2)
    mirrors = {}
    for name, content in (("captions_val2017.json", captions), ("val2017.txt", boxes)):
        mirror = serve("well")
        mirror.bodies = {f"/{name}": content}
        mirrors[name] = remote(name, content), mirror.url
        mirrors[f"{name} at"] = mirror
    made = coco._Source(
        remote("coco_layout.jsonl", prepared),
        mirrors["captions_val2017.json"],
        mirrors["val2017.txt"],
        held_out=2,
    )
    asked = [mirrors["captions_val2017.json at"].asked, mirrors["val2017.txt at"].asked]
    return made, prepared, lambda: sum(map(len, asked))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """What stands in for the user's cache."""
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "lnlib" / coco.NAME


def test_what_is_prepared_is_joined_trimmed_shuffled_and_split():
    head, *rows = (json.loads(line) for line in coco.prepare(*originals(), held_out=2).splitlines())
    assert rows == expected()
    assert head["categories"] == list(coco.CATEGORIES)
    assert (len(set(coco.CATEGORIES)), coco.CATEGORIES[0], coco.CATEGORIES[79]) == (
        80, "person", "toothbrush",
    )  # fmt: skip


def test_it_is_read_by_split_in_the_order_of_the_file():
    content = coco.prepare(*originals(), held_out=2)
    found = coco._read(content)
    for split in ("train", "val", "test"):
        assert found.images[split] == [row for row in expected() if row["split"] == split]
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert str(found) == "2 train + 2 val + 2 test images with 5 captions each and 8 boxes"


def test_the_originals_are_fetched_once_and_prepared_in_the_cache(source, cache):
    made, prepared, asked = source
    for _ in range(2):
        assert coco._gather(None, made) == (cache, prepared)
        assert asked() == 2
    assert gzip.decompress((cache / "coco_layout.jsonl.gz").read_bytes()) == prepared
    assert not list(cache.glob("*.part"))


def test_a_damaged_file_in_the_cache_is_prepared_again_without_the_net(source, cache):
    made, prepared, asked = source
    coco._gather(None, made)
    (cache / "coco_layout.jsonl.gz").write_bytes(b"damaged")
    assert coco._gather(None, made) == (cache, prepared)
    assert asked() == 2
    assert gzip.decompress((cache / "coco_layout.jsonl.gz").read_bytes()) == prepared


def test_an_original_that_is_another_is_not_used(source, cache):
    made, _, _ = source
    other = dataclasses.replace(made, boxes=(remote("val2017.txt", b"other"), made.boxes[1]))
    with pytest.raises(OSError, match=r"cannot download val2017\.txt:"):
        coco._gather(None, other)
    assert not (cache / "coco_layout.jsonl.gz").exists()


def test_what_is_prepared_otherwise_is_refused_and_not_kept(source, cache):
    made, _, _ = source
    other = dataclasses.replace(made, prepared=remote("coco_layout.jsonl", b"other"))
    with pytest.raises(ValueError, match=r"as prepared must be .*; this Python shuffles oth"):
        coco._gather(None, other)
    assert not (cache / "coco_layout.jsonl.gz").exists()


@pytest.mark.parametrize("inner", ["", coco.NAME], ids=["its own folder", "one folder a data set"])
@pytest.mark.parametrize("held", ["prepared", "gzipped", "originals"])
def test_what_lies_where_lnlib_data_says_is_used_and_nothing_written(
    source, tmp_path, monkeypatch, inner, held
):
    made, prepared, asked = source
    folder = tmp_path / "mine" / inner
    folder.mkdir(parents=True)
    captions, boxes = originals()
    files = {
        "prepared": {"coco_layout.jsonl": prepared},
        "gzipped": {"coco_layout.jsonl.gz": gzip.compress(prepared)},
        "originals": {"captions_val2017.json": captions, "val2017.txt.gz": gzip.compress(boxes)},
    }[held]
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "mine"))
    assert coco._gather(None, made) == (folder, prepared)
    assert {path.name for path in folder.iterdir()} == set(files)
    assert asked() == 0


@pytest.mark.parametrize("inner", ["", coco.NAME])
@pytest.mark.parametrize("has", ["nothing", "val2017.txt"])
def test_where_lnlib_data_lacks_it_the_file_is_named_and_none_downloaded(
    source, tmp_path, monkeypatch, inner, has
):
    made, _, asked = source
    (tmp_path / "mine" / inner).mkdir(parents=True)
    (tmp_path / "mine" / inner / has).write_bytes(originals()[1])
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "mine"))
    with pytest.raises(
        FileNotFoundError,
        match=rf"LNLIB_DATA names {tmp_path}/mine, where coco_layout\.jsonl must lie, gzipped or "
        "not, in it or in its folder coco_val2017_layout; put it there, name another folder, or "
        "unset LNLIB_DATA to download coco_val2017_layout",
    ):
        coco._gather(None, made)
    assert asked() == 0


def test_a_wrong_file_of_the_user_is_refused_and_left_alone(source, tmp_path):
    made, _, asked = source
    (tmp_path / "coco_layout.jsonl").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"coco_layout\.jsonl: SHA-256 of the uncompressed"):
        coco._gather(tmp_path, made)
    assert {path.name for path in tmp_path.iterdir()} == {"coco_layout.jsonl"}
    assert asked() == 0


def test_a_folder_given_is_filled(source, tmp_path):
    made, prepared, asked = source
    assert coco._gather(tmp_path / "new", made) == (tmp_path / "new", prepared)
    assert asked() == 2
    assert find(made.prepared, tmp_path / "new") == prepared


def test_the_originals_are_at_fixed_commits():
    for file, mirror in (coco._COCO.captions, coco._COCO.boxes):
        host, _, _, commit, *_ = mirror.removeprefix("https://").split("/")
        assert host == "raw.githubusercontent.com"
        assert len(commit) == 40
        assert mirror.endswith("/")
        assert file.size > 10**6


def test_features_say_what_is_there_how_often_and_where_the_largest_is():
    row = {"w": 200, "h": 100, "boxes": [[3, 0, 0, 20, 10], [3, 100, 50, 180, 90], [0, 0, 0, 1, 1],
                                         [3, 20, 10, 100, 50]]}  # fmt: skip
    none = {"w": 5, "h": 5, "boxes": []}
    layouts = coco.Layouts(coco.NAME, ("a", "b", "c", "d"), {"val": [none, row]}, "0" * 64)
    found = coco.features(layouts, "val")
    assert found.dtype == np.float32
    assert found.shape == (2, 20)
    assert not found[0].any()
    one = [1, np.log(2), (1 / 20_000) ** 0.5, 0.5 / 200, 0.5 / 100]
    # Two are equally large: the last of them counts.
    other = [1, np.log(4), (80 * 40 / 20_000) ** 0.5, 60 / 200, 30 / 100]
    np.testing.assert_allclose(found[1], [*one, *[0] * 10, *other], rtol=1e-6)


needs_coco = pytest.mark.needs_data(coco.NAME)


@needs_coco
def test_the_data_set_is_found_where_lnlib_data_says():
    assert coco.fetch().is_relative_to(os.environ["LNLIB_DATA"])
    found = load(coco.NAME)
    assert found.name == coco.NAME
    assert str(found) == (
        "3,952 train + 500 val + 500 test images with 5 captions each and 36,781 boxes"
    )


@needs_coco
def test_originals_that_say_what_it_says_make_every_byte_of_it():
    content = bytes(find(coco._COCO.prepared, coco.fetch()))
    rows = [json.loads(line) for line in content.splitlines()[1:]]
    random.Random(1).shuffle(rows)
    told = {
        "images": [{"id": r["id"], "width": r["w"], "height": r["h"]} for r in rows],
        "annotations": [
            {"image_id": r["id"], "caption": f" {r['captions'][k]}\n"}
            for k in range(5)
            for r in rows
        ],
    }
    lines = [
        f"/x/{r['id']:012d}.jpg" + "".join(f" {x},{y},{z},{w},{c}" for c, x, y, z, w in r["boxes"])
        for r in rows
    ]
    assert coco.prepare(json.dumps(told).encode(), "\n".join(lines).encode()) == content
