"""The reader of IAM-OnDB, with synthetic files in its format."""

import numpy as np
import pytest

from lnlab.datasets import load
from lnlab.datasets.iam_ondb import URL

XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<WhiteboardCaptureSession>
  <WhiteboardDescription>
    <SensorLocation corner="top_left"/>
    <DiagonallyOppositeCoords x="6512" y="1376"/>
  </WhiteboardDescription>
  <StrokeSet>{strokes}</StrokeSet>
</WhiteboardCaptureSession>
"""
STROKES = ([(895, 992), (900, 990)], [(910, 1010), (912, 1000), (905, 1000)])


def xml(strokes):
    points = (
        "".join(f'<Point x="{x}" y="{y}" time="{k}.5"/>' for k, (x, y) in enumerate(stroke))
        for stroke in strokes
    )
    body = "".join(f'<Stroke colour="black" start_time="1">{one}</Stroke>' for one in points)
    return XML.format(strokes=body).encode()


def write(where, text, transcript, strokes=STROKES, count=None):
    """Write a text and the strokes of its lines."""
    inner = f"{text[:3]}/{text[:7]}"
    (where / "ascii" / inner).mkdir(parents=True, exist_ok=True)
    (where / "lineStrokes" / inner).mkdir(parents=True, exist_ok=True)
    content = "OCR:\n\nnot this\n\nCSR:\n\n" + "\n".join(transcript) + "\n"
    (where / "ascii" / inner / f"{text}.txt").write_text(content)
    for k in range(len(transcript) if count is None else count):
        path = where / "lineStrokes" / inner / f"{text}-{k + 1:02d}.xml"
        path.write_bytes(xml([*strokes, [(k, k)]]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    where = tmp_path / "iam_ondb"
    write(where, "a01-000u", ["A MOVE to stop", "Mr. Gaitskell"])
    write(where, "a01-000x", ["other"])
    write(where, "b02-013", ["it's%%%%%%%%%%%two"], count=2)
    write(where, "c03-001z", ["one", "too many"], count=3)
    for name, texts in (("trainset", "a01-000u\n\nc03-001z\nb02-013\n"), ("testset_v", "a01-000x"),
                        ("testset_f", "a01-000u\n"), ("testset_t", "a01-000x\n")):  # fmt: skip
        (where / f"{name}.txt").write_text(texts)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    return where


def test_each_split_has_the_lines_listed_in_its_file(folder):
    result = load("iam_ondb")
    assert {split: [line.text for line in lines] for split, lines in result.splits.items()} == {
        # A text with more stroke files than lines is left out.
        "train": ["A MOVE to stop", "Mr. Gaitskell", "it's", "two"],
        "val_new": ["other"],
        "test_new": ["A MOVE to stop", "Mr. Gaitskell"],
    }
    assert (result.name, result.resolution, len(result.sha256)) == ("iam_ondb", 1.0, 64)
    assert [line.writer for line in result.splits["train"]][1:3] == ["a01-000u", "b02-013"]


def test_strokes_are_offsets_with_y_upward_and_an_end(folder):
    line = load("iam_ondb").splits["train"][1]
    points = np.array([p for stroke in STROKES for p in stroke] + [(1, 1)])
    np.testing.assert_array_equal(line.strokes[0], [0, 0, 0])
    np.testing.assert_array_equal(line.strokes[1:, 0], np.diff(points[:, 0]))
    np.testing.assert_array_equal(line.strokes[1:, 1], -np.diff(points[:, 1]))
    assert line.strokes[:, 2].tolist() == [0, 1, 0, 0, 1, 1]
    assert line.strokes.dtype == np.float32
    assert line.characters is None


@pytest.mark.parametrize("lacks", ["lineStrokes", "testset_v.txt"])
def test_missing_data_raise_an_error_with_the_address_for_registration(folder, lacks):
    (folder / lacks).rename(folder / "away")
    with pytest.raises(
        FileNotFoundError,
        match=rf"iam_ondb: {folder} must have lineStrokes, ascii .*, missing: {lacks}; "
        rf"register at {URL} to get IAM-OnDB and unpack it there, or use the data set omni",
    ):
        load("iam_ondb")


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"<a>", "ParseError"), (xml([]), "there is no point"), (xml(STROKES).replace(b'y="', b'z="'),
                                                             "KeyError: 'y'")],
    ids=["torn", "empty", "without y"],
)  # fmt: skip
def test_malformed_files_are_named_in_the_error(folder, content, says):
    (path,) = (folder / "lineStrokes" / "a01" / "a01-000").glob("a01-000x-*.xml")
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=rf"a01-000x-01\.xml: it must be XML of .*{says}.*; unpack"
    ):
        load("iam_ondb")
