"""Links to the public repository from which the book was cloned."""

import json
import re
import subprocess
import sys

import pytest

from tests.book.around.conftest import REMOTE
from tools.notebooks import git_remote, setup_cell, sources_in_repository

HOME = "https://github.com/some-one/their.book"


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        (REMOTE, ("github.com", "some-one", "their.book")),
        ("git@gitlab.com:a/b.git", ("gitlab.com", "a", "b")),
        ("ssh://git@github.com/a/b", ("github.com", "a", "b")),
        ("/srv/git/book.git", None),
        ("https://git.example.org/a/b.git", None),
        ("https://github.com.example.org/a/b", None),
        ("", None),
    ],
)
def test_public_remotes_are_recognized_by_their_host(remote, address):
    assert git_remote.parse_remote(remote) == address


def test_pages_link_to_the_repository_to_binder_and_to_colab(small):
    html = small.html("chapter")
    links = re.findall(r'href="(https://[^"]+)"', html)
    assert f"{HOME}" in links
    assert f"{HOME}/edit/main/book/chapter.ipynb" in links
    assert any(link.startswith(f"{HOME}/issues/new?title=") for link in links)
    where = "some-one/their.book"
    assert f"https://mybinder.org/v2/gh/{where}/main?urlpath=lab/tree/book/chapter.ipynb" in links
    colab = f"https://colab.research.google.com/github/{where}/blob/main/book/chapter.ipynb"
    assert colab in links
    site = "https://some-one.github.io/their.book/chapter.html"
    assert f'<meta property="og:url" content="{site}">' in html
    assert not re.findall(r'(?:src|<link[^>]+stylesheet[^>]+href)="https?:', html)
    assert f'<link rel="canonical" href="{site}"' in html
    sitemap = (small.folder / "_build" / "html" / "sitemap.xml").read_text("utf-8")
    assert site in re.findall(r"<loc>(.*?)</loc>", sitemap)
    assert "no page at this address" in small.html("404")
    for path in (small.folder / "_build" / "html").rglob("*.*"):
        if path.suffix in (".html", ".ipynb", ".js"):
            assert "hush-hush" not in path.read_text("utf-8"), path


def test_a_downloaded_chapter_contains_the_url_of_the_library(small):
    text = (small.folder / "_build" / "html" / "_sources" / "chapter.ipynb").read_text("utf-8")
    first = next(c for c in json.loads(text)["cells"] if c["cell_type"] == "code")
    assert "".join(first["source"]) == setup_cell(sources_in_repository(HOME))
    assert f'"lnbook": "git+{HOME}#subdirectory=book"' in "".join(first["source"])


RUN = """
import importlib.util, json, subprocess, sys
asked = []
subprocess.run = lambda words, check: asked.append(words)
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: find(name) if {there} else None
exec({cell!r})
print(json.dumps(asked))
"""


def run(sources, there, folder):
    code = RUN.format(there=there, cell=setup_cell(sources))
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("address", ["", HOME])
def test_the_first_cell_installs_the_library_from_its_folder_or_from_the_repository(
    tmp_path, address, beside
):
    wheels = [tmp_path / f"{name}-1.0-py3-none-any.whl" for name in ("lnlib", "lnlab", "lnbook")]
    if beside:
        for wheel in wheels:
            wheel.touch()
    done = run(sources_in_repository(address), False, tmp_path)
    if not beside and not address:
        assert done.stdout == ""
        assert "ModuleNotFoundError: download the three .whl files" in done.stderr
        return
    folders = ("", "#subdirectory=lnlab", "#subdirectory=book")
    where = [w.as_uri() for w in wheels] if beside else [f"git+{HOME}{f}" for f in folders]
    names = ("lnlib", "lnlab", "lnbook[live]")
    wanted = [f"{name} @ {source}" for name, source in zip(names, where, strict=True)]
    text, commands = done.stdout.splitlines()
    assert "a few minutes" in text
    ((*pip, first, second, third),) = json.loads(commands)
    assert pip == [sys.executable, "-m", "pip", "install", "-q"]
    assert {first, second, third} == set(wanted)


def test_the_first_cell_does_nothing_if_the_library_is_installed(tmp_path):
    for address in ("", HOME):
        assert run(sources_in_repository(address), True, tmp_path).stdout == "[]\n"
