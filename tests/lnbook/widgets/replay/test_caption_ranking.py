"""The scene's Python half: what a page and a notebook are handed."""

import base64
import json
import re

import numpy as np

from lnbook.widgets.replay import caption_ranking
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


def test_the_networks_arrive_as_the_records_have_them():
    for norm, saved in caption_ranking.records().items():
        assert len(saved["curves"]["epoch"]) == caption_ranking.POINTS
        sent = caption_ranking.networks(5)[norm]
        for name, array, dtype in (
            ("captions", "caption_levels", "u1"),
            ("caption_scales", "caption_scales", "<f4"),
            ("image", "image_levels", "i1"),
            ("image_scales", "image_scales", "<f4"),
        ):
            result = np.frombuffer(base64.b64decode(sent[name]), dtype)
            np.testing.assert_array_equal(result, saved["arrays"][array][5].ravel())
    assert set(caption_ranking.records()) == set(caption_ranking.NORMS)


def test_both_networks_were_kept_at_the_same_updates_of_the_same_captions():
    none, layer = (caption_ranking.records()[norm] for norm in caption_ranking.NORMS)
    assert none["curves"]["epoch"] == layer["curves"]["epoch"]
    pictures = caption_ranking.pictures()
    assert none["data"]["sha256"] == layer["data"]["sha256"] == pictures["sha256"]
    assert len(pictures["pictures"]) == none["settings"]["keep"] == layer["settings"]["keep"]
    assert pictures["updates"][:5] == [0, 19, 76, 172, 305]
