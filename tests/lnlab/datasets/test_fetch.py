"""Downloads from a local server, and files found in the user's folders."""

import gzip
import hashlib
import io
import lzma
import random
import re
import zipfile

import pytest

from lnlab import datasets
from lnlab.datasets import fetch

CONTENT = random.Random(0).randbytes(100_000)
NAME = "made_up/noise"


def files(folder) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_a_file_is_downloaded_once_and_readable_by_others(cache, serve, register):
    mirror = serve({"noise": CONTENT})
    register(NAME, CONTENT, f"{mirror.url}noise")
    assert [fetch.get(NAME) for _ in range(2)] == [CONTENT, CONTENT]
    assert mirror.requested == ["noise"]
    assert (cache / "made_up" / "noise").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("behavior", "says"),
    [
        ("not_found", "404 Client Error"),
        ("breaking_off", "IncompleteRead"),
        ("stalling", "timed out"),
        ("wrong_content", f"expected sha256:{hashlib.sha256(CONTENT).hexdigest()} but got "
                          f"{hashlib.sha256(b'other').hexdigest()}"),
        (None, "Connection refused"),
    ],
)  # fmt: skip
def test_the_next_address_is_tried_and_an_error_names_what_failed(
    tmp_path, serve, register, monkeypatch, behavior, says
):
    monkeypatch.setattr(fetch, "TIMEOUT", (30.0, 0.3))
    first = serve({"noise": CONTENT}, behavior)
    if behavior is None:
        first.close = first.close() or (lambda: None)
    register(NAME, CONTENT, f"{first.url}noise")
    with pytest.raises(OSError, match=rf"cannot download noise:\n  {first.url}noise: .*{says}"):
        fetch.get(NAME, tmp_path / "alone")
    assert files(tmp_path / "alone") == set()

    register(NAME, CONTENT, f"{first.url}noise", f"{serve({'noise': CONTENT}).url}noise")
    assert fetch.get(NAME, tmp_path / "both") == CONTENT
    assert files(tmp_path / "both") == {"noise"}


def test_a_file_that_only_the_server_compresses_is_stored_uncompressed(tmp_path, serve, register):
    mirror = serve({"noise.gz": gzip.compress(CONTENT), "torn.gz": gzip.compress(CONTENT)[:-9]})
    register(NAME, CONTENT, f"{mirror.url}torn.gz", f"{mirror.url}noise.gz")
    assert fetch.get(NAME, tmp_path) == CONTENT
    assert (tmp_path / "noise").read_bytes() == CONTENT
    # A registered .gz is stored unchanged.
    packed = mirror.files["noise.gz"]
    register("made_up/noise.gz", packed, f"{mirror.url}noise.gz")
    assert fetch.get("made_up/noise.gz", tmp_path) == packed
    assert (tmp_path / "noise.gz").read_bytes() == packed


def archive(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("another", b"another")
        file.writestr(name, CONTENT)
    return content.getvalue()


def test_a_member_of_an_archive_is_extracted_or_the_next_url_is_tried(tmp_path, serve, register):
    for content, says in (
        (archive("other"), r"in/noise cannot be extracted: .*no item named"),
        (b"no archive" * 10, "in/noise cannot be extracted: File is not a zip file"),
    ):
        url = f"{serve({'all.zip': content}).url}all.zip#in/noise"
        register(NAME, CONTENT, url)
        with pytest.raises(OSError, match=says):
            fetch.get(NAME, tmp_path)
    register(NAME, CONTENT, url, f"{serve({'all.zip': archive('in/noise')}).url}all.zip#in/noise")
    assert fetch.get(NAME, tmp_path) == CONTENT
    assert files(tmp_path) == {"noise"}


COMPRESSED = {"": CONTENT, ".gz": gzip.compress(CONTENT), ".xz": lzma.compress(CONTENT)}


@pytest.mark.parametrize(("inner", "suffix"), [("", ""), ("made_up", ".gz"), ("", ".xz")])
def test_lnlib_data_is_read_only(tmp_path, register, monkeypatch, inner, suffix):
    folder = tmp_path / "mine" / inner
    folder.mkdir(parents=True)
    (folder / f"noise{suffix}").write_bytes(COMPRESSED[suffix])
    register(NAME, CONTENT, "http://127.0.0.1:1/noise")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LNLIB_DATA", "mine")
    assert fetch.get(NAME) == CONTENT
    assert files(folder) == {f"noise{suffix}"}


def test_the_subfolder_of_a_data_set_has_priority(tmp_path, register, monkeypatch):
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    register(NAME, CONTENT)
    (tmp_path / "noise").write_bytes(b"another data set's")
    with pytest.raises(ValueError, match="SHA-256 of its uncompressed content must be"):
        fetch.get(NAME)
    (tmp_path / "made_up").mkdir()
    (tmp_path / "made_up" / "noise.gz").write_bytes(COMPRESSED[".gz"])
    assert fetch.get(NAME) == CONTENT


@pytest.mark.parametrize("folder_exists", [True, False])
def test_files_missing_in_lnlib_data_raise_an_error_without_downloads(
    tmp_path, serve, register, monkeypatch, folder_exists
):
    mirror = serve({"noise": CONTENT})
    register(NAME, CONTENT, f"{mirror.url}noise")
    where = tmp_path if folder_exists else tmp_path / "gone"
    monkeypatch.setenv("LNLIB_DATA", str(where))
    gone = "" if folder_exists else "; there is no such folder"
    with pytest.raises(FileNotFoundError, match=rf"names {where}, which must .*made_up{gone}; put"):
        fetch.get(NAME)
    assert mirror.requested == []
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("noise", b"mine", rf"must be {hashlib.sha256(CONTENT).hexdigest()}, got "
                           rf"{hashlib.sha256(b'mine').hexdigest()}"),
        ("noise.gz", COMPRESSED[".gz"][:-9], "noise.gz: must be a complete gz file"),
    ],
)  # fmt: skip
def test_wrong_files_of_the_user_raise_an_error_and_are_unchanged(
    tmp_path, serve, register, name, content, says
):
    mirror = serve({"noise": CONTENT})
    register(NAME, CONTENT, f"{mirror.url}noise")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=says):
        fetch.get(NAME, tmp_path)
    assert (tmp_path / name).read_bytes() == content
    assert (files(tmp_path), mirror.requested) == ({name}, [])


DERIVED = "made_up/derived"


def test_derived_files_are_stored_and_derived_once(cache, register):
    register(DERIVED, CONTENT)
    requested = []
    for _ in range(2):
        assert fetch.get_or_derive([DERIVED], lambda: requested.append(1) or CONTENT) == CONTENT
    assert requested == [1]
    assert files(cache / "made_up") == {"derived.gz"}
    (cache / "made_up" / "derived.gz").write_bytes(b"damaged")
    assert fetch.get_or_derive([DERIVED], lambda: CONTENT) == CONTENT
    assert fetch.find(DERIVED) == CONTENT


def test_supplied_files_have_priority_over_derived_ones(tmp_path, register):
    register(NAME, CONTENT)
    register(DERIVED, b"derived")
    (tmp_path / "derived").write_bytes(b"derived")
    assert fetch.get_or_derive([NAME, DERIVED], pytest.fail, tmp_path) == b"derived"
    (tmp_path / "noise").write_bytes(CONTENT)
    assert fetch.get_or_derive([NAME, DERIVED], pytest.fail, tmp_path) == CONTENT


def test_derived_files_with_a_wrong_hash_are_not_stored(cache, register):
    register(NAME, CONTENT)
    register(DERIVED, CONTENT)
    sums = [hashlib.sha256(content).hexdigest() for content in (CONTENT, b"other")]
    with pytest.raises(
        ValueError, match="SHA-256 of derived as derived must be {}, got {}".format(*sums)
    ):
        fetch.get_or_derive([NAME, DERIVED], lambda: b"other")
    assert files(cache / "made_up") == set()


def test_every_registered_file_has_a_checksum_and_a_fixed_url():
    plain = ("http://www.cs.toronto", "http://fashion-mnist", "http://images.cocodataset")
    for name, (sha256, urls) in fetch.REGISTRY.items():
        assert re.fullmatch("[0-9a-f]{64}", sha256), name
        assert name.partition("/")[0] in datasets.NAMES
        for url in urls:
            assert url.startswith(("https://", *plain)), url
            if url.startswith("https://raw.githubusercontent.com/"):
                assert re.fullmatch("[0-9a-f]{40}", url.split("/")[5]), url
