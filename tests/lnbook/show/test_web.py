"""Every widget is a folder, whose files reach the page by one way."""

import importlib
import re
from pathlib import Path

import pytest

import lnbook.show

FOLDERS = [path.parent for path in Path(lnbook.show.__file__).parent.glob("*/__init__.py")]
WIDGETS = {path.name: importlib.import_module(f"lnbook.show.{path.name}").WEB for path in FOLDERS}
EXAMPLES = {"element": '<div class="{}" id="x">', "several": '<div class="{} more">'}


def test_there_are_widgets():
    assert {"explorer", "sheet", "quiz", "playground", "sphere", "diagrams"} <= set(WIDGETS)


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_brings_every_script_of_its_folder_and_its_look(name, tmp_path):
    web = WIDGETS[name]
    assert (web.name, web.folder.name) == (name, name)
    scripts = {path.name for path in web.folder.glob("*.js")} - {"book.js"}
    assert {script for script in web.scripts if "/" not in script} == scripts
    web.write(tmp_path)
    code = (tmp_path / name / f"{name}.js").read_text("utf-8")
    places = [code.index((web.folder / script).read_text("utf-8")) for script in web.scripts]
    assert places == sorted(places)
    if (start := web.folder / "book.js").exists():
        assert code.endswith(start.read_text("utf-8"))
    look = (web.folder / f"{name}.css").read_text("utf-8")
    assert (tmp_path / name / f"{name}.css").read_text("utf-8") == look
    assert {path.name for path in (tmp_path / name).iterdir()} == {
        f"{name}.js", f"{name}.css", *web.data,
    }  # fmt: skip


def test_a_script_beside_the_folders_is_shared_by_two_widgets_or_more():
    beside = {path.name for path in Path(lnbook.show.__file__).parent.glob("*.js")}
    from_there = [s for web in WIDGETS.values() for s in web.scripts if "/" in s]
    assert {script.removeprefix("../") for script in from_there} == beside
    assert min(map(from_there.count, from_there)) >= 2


@pytest.mark.parametrize("name", WIDGETS)
def test_a_page_has_a_widget_if_it_has_its_element(name):
    web = WIDGETS[name]
    element = web.element or f"ln-{name}"
    assert re.search(rf"\.{element}\b", web.book())  # by which the scripts find it
    for wanted, page in ((True, EXAMPLES["element"]), (True, EXAMPLES["several"])):
        assert web.on(page.format(element)) == wanted
    others = (f"{element}-live", f"no-{element}", "x")
    assert not any(web.on(EXAMPLES["element"].format(other)) for other in others)
