from __future__ import annotations

import dataclasses
import errno
import gzip
import hashlib
import io
import os
import queue
import socket
import subprocess
import sys
import threading
import time
import types
import weakref
from http import HTTPStatus
from pathlib import Path

import pytest
import requests
import tqdm

import lnlib
from lnlib.data import transfer
from lnlib.data.download import Home, RemoteFile, download, find

TIMEOUT = (30.0, 30.0)  # far more than a busy machine needs

# Run in another process: the arguments are the folder, the file and the mirror.
DOWNLOAD = """
import sys
from http import HTTPStatus
from pathlib import Path
import filelock, requests, tqdm
from lnlib.data.download import RemoteFile, download

folder, name, size, sha256, mirror = sys.argv[1:]
print("ready", flush=True)
content = download(RemoteFile(name, int(size), sha256), [mirror], Path(folder))
print(len(content), flush=True)
"""


def start_process(folder, file, mirror) -> subprocess.Popen:
    root = str(Path(lnlib.__file__).parents[1])
    arguments = [folder, file.name, file.size, file.sha256, mirror.url]
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", DOWNLOAD, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": root},
    )


def names(folder) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"noise.lock"}


def break_off(folder, file, serve) -> int:
    """Leave the half of the file there, as a broken download does, and return its size."""
    with pytest.raises(OSError, match="cannot download noise"):
        download(file, [serve("breaking_off").url], folder, timeout=TIMEOUT)
    return (folder / "noise.part").stat().st_size


def get(file, folder, *mirrors) -> bytes:
    return bytes(download(file, [mirror.url for mirror in mirrors], folder, timeout=TIMEOUT))


def test_download_returns_and_keeps_the_verified_content(tmp_path, file, serve):
    content = get(file, tmp_path / "made" / "if need be", serve("well"))

    assert hashlib.sha256(content).hexdigest() == file.sha256
    assert names(tmp_path / "made" / "if need be") == {"noise.gz"}
    with gzip.open(tmp_path / "made" / "if need be" / "noise.gz") as kept:
        assert kept.read() == content


def test_download_keeps_a_file_that_comes_uncompressed_under_its_plain_name(tmp_path, file, serve):
    content = get(file, tmp_path, serve("not_gzipped"))

    assert names(tmp_path) == {"noise"}
    assert (tmp_path / "noise").read_bytes() == content


def test_download_asks_no_server_when_the_file_is_there(tmp_path, file, serve):
    mirror = serve("well")
    get(file, tmp_path, mirror)
    get(file, tmp_path, mirror)

    assert len(mirror.ranges) == 1


def test_download_resumes_where_it_broke_off(tmp_path, file, serve):
    half = break_off(tmp_path, file, serve)
    mirror = serve("well")
    get(file, tmp_path, mirror)

    assert half == len(mirror.body) // 2
    assert mirror.ranges == [f"bytes={half}-"]
    assert mirror.sent == len(mirror.body) - half
    assert names(tmp_path) == {"noise.gz"}


def test_download_goes_on_at_the_next_mirror_in_the_same_call(tmp_path, file, serve):
    first, second = serve("breaking_off"), serve("well")
    get(file, tmp_path, first, second)

    assert first.sent + second.sent == len(first.body)


def test_download_starts_anew_when_the_server_ignores_ranges(tmp_path, file, serve):
    half = break_off(tmp_path, file, serve)
    mirror = serve("ignoring_ranges")
    get(file, tmp_path, mirror)

    assert mirror.ranges == [f"bytes={half}-"]
    assert mirror.sent == len(mirror.body)


def test_download_starts_anew_when_the_server_sends_another_range(tmp_path, file, serve):
    break_off(tmp_path, file, serve)
    mirror = serve("other_range")
    get(file, tmp_path, mirror)

    assert [bool(asked) for asked in mirror.ranges] == [True, False]


@pytest.mark.parametrize("size", [500, 1_000_000], ids=["shorter", "longer"])
def test_download_starts_anew_when_the_part_is_of_another_file(tmp_path, file, serve, size):
    (tmp_path / "noise.part").write_bytes(b"x" * size)
    mirror = serve("well")
    get(file, tmp_path, mirror)

    assert mirror.ranges == [f"bytes={size}-", None]
    assert names(tmp_path) == {"noise.gz"}


def test_download_takes_a_part_that_was_already_whole(tmp_path, file, serve):
    mirror = serve("well")
    (tmp_path / "noise.part").write_bytes(mirror.body)
    get(file, tmp_path, mirror)

    assert mirror.sent == 0
    assert names(tmp_path) == {"noise.gz"}


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("not_found", "HTTP 404 Not Found"),
        ("empty_handed", f"HTTP 416 {HTTPStatus(416).phrase}"),  # another in Python 3.13
        ("breaking_off", "IncompleteRead"),
        ("wrong_content", "SHA-256 of the uncompressed content must be"),
        ("bomb", "must hold at most 100,000 bytes, holds more"),
        ("announcing_gigabytes", "announces 5,000,000,000 bytes, more than 165,536"),
        ("endless", "sends more than 165,536 bytes"),
    ],
)
def test_download_says_what_a_mirror_did_wrong_and_takes_the_next(
    tmp_path, file, serve, does, says
):
    with pytest.raises(OSError, match=says):
        get(file, tmp_path / "alone", serve(does))

    assert len(get(file, tmp_path, serve(does), serve("well"))) == file.size


@pytest.mark.parametrize("does", ["wrong_content", "bomb", "announcing_gigabytes", "endless"])
def test_download_keeps_nothing_of_wrong_content(tmp_path, file, serve, does):
    with pytest.raises(OSError, match="cannot download noise"):
        get(file, tmp_path, serve(does))

    assert names(tmp_path) == set()


def test_download_stops_reading_an_endless_answer_soon(tmp_path, file, serve):
    mirror = serve("endless")
    with pytest.raises(OSError, match="sends more than"):
        get(file, tmp_path, mirror)
    mirror.close()

    # What the two ends of a connection buffer comes on top.
    assert mirror.sent < 64 << 20


def test_download_gives_up_on_a_server_that_stalls(tmp_path, file, serve):
    stalling = serve("stopping_halfway")
    with pytest.raises(OSError, match="timed out"):
        download(file, [stalling.url], tmp_path, timeout=(30.0, 0.2))


@pytest.mark.parametrize("does", ["dripping", "dripping_headers"])
def test_download_leaves_a_server_that_drips_and_keeps_what_arrived(tmp_path, file, serve, does):
    dripping, well = serve(does), serve("well")
    content = download(file, [dripping.url, well.url], tmp_path, timeout=(30.0, 1.0))
    assert hashlib.sha256(content).hexdigest() == file.sha256
    (asked,) = well.ranges
    assert well.sent == len(well.body) - int((asked or "bytes=0-")[6:-1])
    with pytest.raises(
        OSError, match=r"timed out: [\d,]+ bytes arrived in 1 s, fewer than 1,024 p"
    ):
        download(file, [dripping.url], tmp_path / "alone", timeout=(30.0, 1.0))


def test_download_has_patience_with_a_server_that_is_slow_and_steady(tmp_path, file, serve):
    steady = serve("steadily")
    download(file, [steady.url], tmp_path, timeout=(30.0, 2.0))
    assert steady.sent == len(steady.body)


@pytest.mark.parametrize("before", [0, 1 << 20], ids="{} bytes before".format)
def test_a_pause_of_the_process_is_not_the_servers_delay(monkeypatch, before):
    """A process that was stopped for ten intervals waits a whole one for the next bytes."""
    now = 0.0
    monkeypatch.setattr(transfer, "time", types.SimpleNamespace(monotonic=lambda: now))

    class Arriving:
        def get(self, timeout):
            if timeout < 30:
                raise queue.Empty
            return b"more"

    response = transfer._Response("https://server.invalid", 0, TIMEOUT)
    response._queue, response._received = Arriving(), before
    now = 10 * TIMEOUT[1]
    assert response.next() == b"more"


def test_download_passes_by_a_server_that_refuses_the_connection(tmp_path, file, serve):
    gone = serve("well")
    gone.close()
    with pytest.raises(OSError, match="refused"):
        get(file, tmp_path, gone)

    assert len(get(file, tmp_path, gone, serve("well"))) == file.size


def test_download_names_every_mirror_and_the_way_out(tmp_path, file, serve):
    first, second = serve("not_found"), serve("breaking_off")
    with pytest.raises(OSError, match="cannot download noise") as raised:
        get(file, tmp_path, first, second)

    assert f"{first.url}noise.gz: HTTP 404" in str(raised.value)
    assert f"{second.url}noise.gz: IncompleteRead" in str(raised.value)
    assert "LNLIB_DATA" in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_download_says_where_the_publisher_has_a_file_that_no_mirror_delivers(
    tmp_path, file, serve
):
    file = dataclasses.replace(file, origin="https://publisher.invalid/all.zip")
    with pytest.raises(OSError, match=r"noise is in https://publisher\.invalid/all\.zip"):
        get(file, tmp_path, serve("not_found"))


def test_download_keeps_a_gzip_file_that_is_labelled_as_encoded(tmp_path, file, serve):
    mirror = serve("labelled_as_encoded")
    get(file, tmp_path, mirror)

    assert mirror.asked[0]["Accept-Encoding"] == "identity"
    assert (tmp_path / "noise.gz").read_bytes() == mirror.body


def test_download_follows_a_redirect_over_http(tmp_path, file, serve):
    target = serve("well")
    get(file, tmp_path, serve("redirecting", to=f"{target.url}noise.gz"))

    assert target.sent == len(target.body)


@pytest.mark.parametrize("to", ["file:///etc/hostname", "ftp://127.0.0.1/noise.gz"])
def test_download_follows_no_redirect_to_another_scheme(tmp_path, file, serve, to):
    with pytest.raises(OSError, match="redirects out of http and https"):
        get(file, tmp_path, serve("redirecting", to=to))


def test_download_leaves_a_circle_of_redirects(tmp_path, file, serve):
    with pytest.raises(OSError, match="Exceeded 5 redirects"):
        get(file, tmp_path, serve("redirecting", to="/noise.gz"))


def test_download_never_follows_https_down_to_http(tmp_path, serve, monkeypatch):
    class Redirect(requests.adapters.HTTPAdapter):
        def send(self, request, **_):
            response = requests.Response()
            response.status_code, response.raw = 302, io.BytesIO()
            response.headers["Location"] = mirror.url
            response.url, response.request = request.url, request
            return response

    mirror = serve("well")
    plain = transfer._session

    def session(url):
        session = plain(url)
        session.mount("https://", Redirect())
        return session

    monkeypatch.setattr(transfer, "_session", session)
    with pytest.raises(transfer.TransferError, match=r"or of https: .*127\.0\.0\.1"):
        transfer.receive(
            "https://mirror.invalid/noise.gz",
            tmp_path / "noise.part",
            max_bytes=1,
            timeout=TIMEOUT,
            label="noise",
        )
    assert mirror.ranges == []


def test_two_processes_download_once_and_no_reader_sees_half_a_file(tmp_path, file, serve):
    mirror = serve("stopping_halfway")
    done = threading.Event()
    seen = []

    def read():
        while not done.wait(0.001):
            content = find(file, tmp_path)  # raises if what it finds is not whole
            seen.append(content is not None)

    reader = threading.Thread(target=read)
    first = start_process(tmp_path, file, mirror)
    assert mirror.halfway.wait(60)
    reader.start()
    second = start_process(tmp_path, file, mirror)
    assert second.stdout.readline() == "ready\n"
    time.sleep(0.5)  # time for the second to ask for the file, if it did
    mirror.go_on.set()
    outputs = [process.communicate(timeout=60) for process in (first, second)]
    done.set()
    reader.join()

    assert outputs == [(f"ready\n{file.size}\n", ""), (f"{file.size}\n", "")]
    assert mirror.ranges == [None]
    assert find(file, tmp_path) is not None
    assert not seen[0]
    assert sorted(seen) == seen  # once there, it stays


def test_download_resumes_after_its_process_was_killed(tmp_path, file, serve):
    mirror = serve("stopping_halfway")
    process = start_process(tmp_path, file, mirror)
    assert mirror.halfway.wait(60)
    part = tmp_path / "noise.part"
    while not (part.exists() and part.stat().st_size):
        assert process.poll() is None
    process.kill()
    process.communicate()
    kept = part.stat().st_size
    mirror.go_on.set()
    again = serve("well")
    get(file, tmp_path, again)

    assert again.ranges == [f"bytes={kept}-"]


FULL = (
    r"cannot write .*noise: No space left on device; 100,000 bytes are needed and [\d,]+ are free; "
    "make room, .*; or let LNLIB_DATA name a folder"
)


def test_download_says_that_the_disk_is_full_and_leaves_nothing(tmp_path, file, serve):
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.size // 2, limits[1]))
    try:
        with pytest.raises(
            OSError, match=FULL.replace("No space left on device", "File too large")
        ):
            get(file, tmp_path, serve("well"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == set()


@pytest.mark.parametrize("lies", ["link", "dangling link", "hard link", "pipe", "socket"])
def test_download_is_not_led_astray_by_what_lies_in_its_place(tmp_path, file, serve, lies):
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    part = folder / "noise.part"
    if lies != "dangling link":
        other.write_bytes(b"mine")
    if "link" in lies:
        (part.hardlink_to if lies == "hard link" else part.symlink_to)(other)
    elif lies == "pipe":
        os.mkfifo(part)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(part))
    get(file, folder, serve("well"))
    assert names(folder) == {"noise.gz"}
    assert other.exists() == (lies != "dangling link")
    assert lies == "dangling link" or other.read_bytes() == b"mine"


def test_download_refuses_a_folder_in_its_place(tmp_path, file, serve):
    (tmp_path / "noise.part").mkdir()
    with pytest.raises(OSError, match=r"cannot write .*noise: noise\.part is a folder; mend that"):
        get(file, tmp_path, serve("well"))


def test_download_is_on_the_disk_before_it_gets_its_name(tmp_path, file, serve, monkeypatch):
    fsync = os.fsync

    def full(opened):
        assert names(tmp_path) == {"noise.part"}
        fsync(opened)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=FULL):
        get(file, tmp_path, serve("well"))
    assert names(tmp_path) == set()


def test_download_says_that_it_cannot_make_the_folder(tmp_path, file, serve):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot write .*folder/noise: Not a directory; mend that"):
        get(file, tmp_path / "file" / "folder", serve("well"))


@pytest.mark.parametrize("does", ["garbage", "garbled_reason"])
def test_download_shows_no_control_character_of_a_server(tmp_path, file, serve, does):
    with pytest.raises(OSError, match=r"cannot download noise:\n.*\\x1b\[") as raised:
        get(file, tmp_path, serve(does))
    assert all(line.isprintable() for line in str(raised.value).split("\n"))
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_find_does_not_wait_for_what_is_no_file(tmp_path, kind):
    {"pipe": os.mkfifo, "folder": os.mkdir}[kind](tmp_path / "noise")
    with pytest.raises(ValueError, match=f"noise: must be a file, is a {kind}"):
        find(RemoteFile("noise", 3, "0" * 64), tmp_path)


def test_download_prints_nothing_where_no_terminal_is(tmp_path, file, serve, capfd):
    get(file, tmp_path, serve("well"))

    assert capfd.readouterr() == ("", "")


def test_download_shows_a_bar_that_starts_where_it_broke_off(tmp_path, file, serve, monkeypatch):
    break_off(tmp_path, file, serve)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(tqdm.tqdm, "_instances", weakref.WeakSet())  # of other tests
    get(file, tmp_path, serve("well"))

    assert terminal.getvalue().lstrip("\r").startswith("noise:  50%")
    assert "100k/100k" in terminal.getvalue()


def test_find_takes_the_right_one_of_a_damaged_and_a_whole_file(tmp_path, file, serve):
    content = get(file, tmp_path, serve("well"))
    (tmp_path / "noise").write_bytes(content[:-1])

    assert find(file, tmp_path) == content


def test_find_knows_files_by_their_content_not_by_their_size(tmp_path):
    file = RemoteFile("noise", 3, hashlib.sha256(b"abc").hexdigest())
    (tmp_path / "noise").write_bytes(b"abd")
    with pytest.raises(ValueError, match="noise: SHA-256 of the uncompressed content must be"):
        find(file, tmp_path)


def test_what_is_prepared_otherwise_is_named_beside_all_that_would_do(tmp_path):
    first, last = (RemoteFile(f"{name}.txt", 5, "0" * 64) for name in ("first", "last"))
    wrong = r"SHA-256 of last\.txt as prepared must be 0{64}, .* has first\.txt or last\.txt"
    with pytest.raises(ValueError, match=wrong):
        Home("made", tmp_path).prepared([first, last], lambda: b"other")
    assert not names(tmp_path)
