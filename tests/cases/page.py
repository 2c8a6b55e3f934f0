"""Parsers for tests: the elements of HTML, the parts of a widget, the states of an explorer."""

import base64
import gzip
import json
from html.parser import HTMLParser


class Page(HTMLParser):
    """Elements as (tag, attributes, text), in order."""

    EMPTY = ("br", "col", "img", "input", "link", "meta")

    def __init__(self, source):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(source)
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def find(self, *tags, **wanted):
        """Return the attributes of some elements."""
        return [a for tag, a, _ in self.elements if tag in tags and wanted.items() <= a.items()]

    def texts(self, tag, *attributes):
        """Return the texts of the elements that have attributes."""
        return [t for name, a, t in self.elements if name == tag and a.keys() >= {*attributes}]

    @property
    def tables(self):
        """The texts of the cells of each row of each table."""
        result = []
        for tag, _, text in self.elements:
            if tag == "table":
                result.append([])
            elif tag == "tr":
                result[-1].append([])
            elif tag in ("td", "th"):
                result[-1][-1].append(text)
        return result


def parts(box, kind):
    """Return all parts of a widget that are of a given kind, including itself."""
    result = [box] if isinstance(box, kind) else []
    for child in getattr(box, "children", ()):
        result += parts(child, kind)
    return result


def unpack(data):
    """Return the states of an explorer, decoded as the page does."""
    packed = json.loads(gzip.decompress(base64.b64decode(data)))

    def whole(value):
        if isinstance(value, dict):
            if "$" in value:
                return whole(packed["pool"][value["$"]])
            return {k: whole(v) for k, v in value.items()}
        return [whole(v) for v in value] if isinstance(value, list) else value

    return whole(packed["states"])
