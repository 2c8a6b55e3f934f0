"""Captions and boxes of COCO: joining of the original files, and features of images."""

import hashlib
import json
import random

import numpy as np

from lnlab.datasets import coco_val2017_layout as coco

IDS = [42, 7, 300, 12, 99, 8, 1000]
BOXES = {42: "1,2,3,4,0 5,6,7,8,79", 7: "0,0,9,9,16", 300: "", 12: "3,3,4,4,2",
         99: "1,1,2,2,5 1,1,2,2,5", 8: "0,1,2,3,4", 1000: "9,9,10,10,1"}  # fmt: skip


def originals() -> tuple[bytes, bytes]:
    """Return files in the format of the originals: one image has no box, one six captions."""
    notes = [
        {"image_id": i, "id": 9 - k, "caption": f" A  {i}\tand {k} – \n"}
        for k in range(5)
        for i in IDS
    ]
    notes.insert(14, {"image_id": 8, "id": 1, "caption": "the sixth in time"})
    images = [{"id": i, "width": i + 1, "height": 2 * i + 1, "license": 3} for i in reversed(IDS)]
    lines = [f"/a/path/{i:012d}.jpg {BOXES[i]}\n" for i in IDS]
    listing = json.dumps({"images": images, "annotations": notes})
    return listing.encode(), "".join(lines).encode()


def expected() -> list[dict]:
    """Return the derived rows, written by hand."""
    order = [7, 8, 12, 42, 99, 1000]
    random.Random(2016).shuffle(order)
    rows = []
    for k, i in enumerate(order):
        texts = [f"A {i} and {n} –" for n in range(5)]
        if i == 8:
            texts[2:] = ["the sixth in time", *texts[2:4]]
        rows.append({
            "id": i, "w": i + 1, "h": 2 * i + 1,
            "boxes": [[b[4], *b[:4]] for b in (
                [int(n) for n in box.split(",")] for box in BOXES[i].split()
            )],
            "captions": texts, "split": ["test", "test", "val", "val", "train", "train"][k],
        })  # fmt: skip
    return rows


def test_captions_and_boxes_are_joined_trimmed_shuffled_and_split():
    head, *rows = (json.loads(line) for line in coco.join(*originals(), held_out=2).splitlines())
    assert rows == expected()
    assert head["categories"] == list(coco.CATEGORIES)
    assert (len(set(coco.CATEGORIES)), coco.CATEGORIES[0], coco.CATEGORIES[79]) == (
        80, "person", "toothbrush",
    )  # fmt: skip


def test_the_data_set_is_derived_and_read_by_split(tmp_path, register, monkeypatch):
    content = coco.join(*originals(), held_out=2)
    monkeypatch.setattr(coco.join, "__kwdefaults__", {"held_out": 2})
    for name, original in zip(("captions_val2017.json", "val2017.txt"), originals(), strict=True):
        (tmp_path / name).write_bytes(original)
        register(f"{coco.NAME}/{name}", original)
    register(f"{coco.NAME}/coco_layout.jsonl", content)
    result = coco.load(tmp_path)
    for split in ("train", "val", "test"):
        assert result.images[split] == [row for row in expected() if row["split"] == split]
    assert result.sha256 == hashlib.sha256(content).hexdigest()


def test_features_contain_presence_count_and_largest_object():
    row = {"w": 200, "h": 100, "boxes": [[3, 0, 0, 20, 10], [3, 100, 50, 180, 90], [0, 0, 0, 1, 1],
                                         [3, 20, 10, 100, 50]]}  # fmt: skip
    none = {"w": 5, "h": 5, "boxes": []}
    layouts = coco.Layouts(coco.NAME, ("a", "b", "c", "d"), {"val": [none, row]}, "0" * 64)
    result = coco.features(layouts, "val")
    assert result.dtype == np.float32
    assert result.shape == (2, 20)
    assert not result[0].any()
    one = [1, np.log(2), (1 / 20_000) ** 0.5, 0.5 / 200, 0.5 / 100]
    # Two are equally large: the last one counts.
    other = [1, np.log(4), (80 * 40 / 20_000) ** 0.5, 60 / 200, 30 / 100]
    np.testing.assert_allclose(result[1], [*one, *[0] * 10, *other], rtol=1e-6)
