"""Sphinx extension: where a page names a place of the paper, it leads there.

"eq. 15", "eqs. 3, 15 and 16", "section 6.6", "sections 2 and 3", "figure 6", "table 1" in running
text become links (class ``ln-paper``) to the anchors ``(paper-eq-15)=``, ``(paper-section-6-6)=``,
``(paper-figure-6)=``, ``(paper-table-1)=`` of ``equations.md``. A number without an anchor
there is a warning.

Headings, code, formulas, HTML and the text of other links stay as they are. So does the place of
another work: "{cite:t}`Wu2018`, section 3" and "section 3 of {cite:t}`Wu2018`" are left alone.
Elsewhere a no-break space says that another work is meant: ``section&nbsp;3``.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

LOGGER = logging.getLogger(__name__)
PAPER = "Ba2016"  # its key in references.bib
NUMBER = r"\d+(?:\.\d+)*(?!\w|[.,]\d)"  # not the 55 of 55,000
AND = r"(?:[-–]|,\s(?:and\s)?|\s(?:and|or|to)\s)"
REFERENCE = re.compile(
    rf"\b(?:(?:eq\.|equation|section|figure|table)[ \n]{NUMBER}"
    rf"|(?:eqs\.|equations|sections|figures|tables)[ \n]{NUMBER}(?:{AND}{NUMBER})*)",
    re.IGNORECASE,
)
LEFT_ALONE = (
    nodes.title,
    nodes.FixedTextElement,
    nodes.Invisible,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.reference,
    addnodes.pending_xref,
    addnodes.download_reference,
)


class LinkReferences(SphinxPostTransform):
    """Turn the names of places into links, before citations and references are resolved."""

    default_priority = 3

    def run(self, **kwargs):
        """Go through the running text of a page."""
        for element in list(self.document.findall(nodes.TextElement)):
            if any(isinstance(e, LEFT_ALONE) for e in [element, *ancestors(element)]):
                continue
            join_texts(element)
            element[:] = [new for i in range(len(element)) for new in self.parts(element, i)]

    def parts(self, element, i):
        """Split a child at its places, if it is a text."""
        text, parts, done = element[i], [], 0
        if not isinstance(text, nodes.Text):
            return [text]
        for match in REFERENCE.finditer(text):
            if of_another_work(element, i, match):
                continue
            kind = re.match(r"eq|section|figure|table", match[0].lower())[0]
            for k, number in enumerate(re.finditer(NUMBER, match[0])):
                start = match.start() + (number.start() if k else 0)  # the word goes with the first
                end = match.start() + number.end()
                parts.append(nodes.Text(text[done:start]))
                parts.append(self.link(element, text[start:end], kind, number[0]))
                done = end
        return [*parts, nodes.Text(text[done:])]

    def link(self, element, text, kind, number):
        """Link words to their place in the paper, or say that there is none."""
        label = f"paper-{kind}-{number.replace('.', '-')}"
        docname, anchor = self.env.get_domain("std").anonlabels.get(label, (None, None))
        shown = nodes.Text(text)
        if docname is None:
            LOGGER.warning(
                "%r: the page of the paper has no anchor (%s)=", text, label, location=element
            )
            return shown
        here = [element, *ancestors(element)]
        if docname == self.env.docname and any(anchor in e.get("ids", ()) for e in here):
            return shown  # a place does not lead to itself
        link = make_refnode(self.app.builder, self.env.docname, docname, anchor, shown)
        link["classes"].append("ln-paper")
        return link


def ancestors(node):
    """Yield the elements around a node, from the inside out."""
    while (node := node.parent) is not None:
        yield node


def join_texts(element):
    """Make one text of neighbors, which a line's end in the source keeps apart."""
    children = []
    for child in element:
        if isinstance(child, nodes.Text) and children and isinstance(children[-1], nodes.Text):
            child = nodes.Text(children.pop() + child)
        children.append(child)
    element[:] = children


def of_another_work(element, i, match):
    """Whether a citation of another work stands right before or after a place in child i."""
    before, after = element[i][: match.start()], element[i][match.end() :]
    follows = i and re.fullmatch(r"(?:['’]s)?[\s,;(]*", before)
    leads = re.fullmatch(r"\s(?:of|in)\s", after)
    return (follows and cites_another(element[i - 1 : i])) or (
        leads and cites_another(element[i + 1 : i + 2])
    )


def cites_another(siblings):
    """Whether a node, if there is one, cites something other than the paper."""
    return any(
        isinstance(node, addnodes.pending_xref)
        and node.get("refdomain") == "cite"
        and PAPER not in node["reftarget"].split(",")
        for node in siblings
    )


def setup(app):
    """Connect the parts."""
    app.add_post_transform(LinkReferences)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
