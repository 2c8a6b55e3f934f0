"""The Python part of the caption ranking: data of a page and of a notebook."""

import json
import re

from lnbook.widgets.replay.caption_ranking import WEB, CaptionRanking


def test_the_widget_runs_the_same_files_as_the_page_on_the_same_data():
    (widget,) = CaptionRanking(3).widget().children
    assert WEB.source() in widget._esm
    assert set(widget.data["files"]) == {name.removesuffix(".js") for name in WEB.data}
    for name, make in WEB.data.items():
        called, content = re.fullmatch(
            r'lnCaptionRankingData\("([\w-]+)", (.*)\);\n', make()
        ).groups()
        assert f"{called}.js" == name
        assert widget.data["files"][called] == json.loads(content)
