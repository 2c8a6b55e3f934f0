"""While writing: the tests of what has changed come first, and what is late is left out."""

import subprocess

import pytest

from tools import fast


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("lnlib/nn/recurrent/networks.py", ["tests/lnlib/nn/recurrent/test_recurrent.py"]),
        ("lnlab/cli.py", ["tests/lnlab/cli"]),
        (
            "book/introduction.ipynb",
            ["tests/lnbook/chapters/test_introduction.py", "tests/book/test_notebooks.py"],
        ),
        ("book/lnbook/explorer/explorer.js", ["tests/book/pages/test_explorers.py"]),
        ("book/lnbook/widgets/number_parsing.js", ["tests/book/quiz", "tests/book/norm_table"]),
        ("book/_ext/teaching.py", ["tests/book/around/test_extensions.py"]),
        ("tools/fast.py", ["tests/test_fast.py"]),
        ("tests/lnlib/nn/conftest.py", ["tests/lnlib/nn/test_norm.py"]),
    ],
)
def test_tests_of_a_file_are_found_by_its_name_or_folder(name, tests):
    result = fast.near(name)
    assert {*tests} <= {*result}
    assert all((fast.ROOT / path).exists() for path in result)


def test_tests_that_mention_the_file_come_first():
    first, *others = fast.near("lnlab/datasets/_cloze.py")
    assert first == "tests/lnlab/datasets/test_bible_cloze.py"
    assert "tests/lnlab/datasets/test_mnist.py" in others


def test_a_file_without_tests_has_none_near():
    assert fast.near("README.md") == fast.near("tests/conftest.py") == []
    assert fast.near("lnlib/nowhere/at_all.py") == []


@pytest.fixture
def clone(tmp_path):
    """``clone(…)``: git in a clone with a file on main."""

    def git(*words):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for name in ("one", "two"):
        (tmp_path / name).write_text("before")
        git("add", name)
        git("commit", "-m", name)
    return tmp_path, git


def test_changed_files_are_those_that_differ_from_main(clone):
    root, git = clone
    assert fast.changed(root) == ["two"]
    (root / "new").write_text("new")
    assert fast.changed(root) == ["new"]
    git("checkout", "-b", "branch")
    (root / "one").write_text("after")
    git("commit", "-am", "one")
    assert fast.changed(root) == ["new", "one"]
    (root / "two").unlink()
    assert fast.changed(root) == ["new", "one"]
