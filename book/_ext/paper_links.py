"""Sphinx extension: turn references to the paper into links.

"eq. 15", "eqs. 3, 15 and 16", "section 6.6", "sections 2 and 3", "figure 6", "table 1" in running
text become links (class ``ln-paper``) to the anchors ``(paper-eq-15)=``, ``(paper-section-6-6)=``,
``(paper-figure-6)=``, ``(paper-table-1)=`` of ``equations.md``. A number without an anchor
there is a warning.

Headings, code, formulas, HTML and the text of other links are not changed. Neither are references
to another work, such as "{cite:t}`Wu2018`, section 3" and "section 3 of {cite:t}`Wu2018`"; without
a citation, a no-break space marks them: ``section&nbsp;3``.
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
EXCLUDED_NODES = (
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
    """Turn references into links before citations and cross-references are resolved."""

    default_priority = 3

    def run(self, **kwargs):
        """Replace the references in the running text of a page."""
        for element in list(self.document.findall(nodes.TextElement)):
            if any(isinstance(e, EXCLUDED_NODES) for e in [element, *ancestors(element)]):
                continue
            join_texts(element)
            element[:] = [new for i in range(len(element)) for new in self.split(element, i)]

    def split(self, element, i):
        """Split child ``i`` at its references if it is a text; return the new nodes."""
        text, result, done = element[i], [], 0
        if not isinstance(text, nodes.Text):
            return [text]
        for match in REFERENCE.finditer(text):
            if is_reference_to_other_work(element, i, match):
                continue
            kind = re.match(r"eq|section|figure|table", match[0].lower())[0]
            for k, number in enumerate(re.finditer(NUMBER, match[0])):
                start = match.start() + (number.start() if k else 0)  # the link starts at the word
                end = match.start() + number.end()
                result.append(nodes.Text(text[done:start]))
                result.append(self.link(element, text[start:end], kind, number[0]))
                done = end
        return [*result, nodes.Text(text[done:])]

    def link(self, element, text, kind, number):
        """Return the text as a link to an anchor of the paper, or warn that there is none."""
        label = f"paper-{kind}-{number.replace('.', '-')}"
        docname, anchor = self.env.get_domain("std").anonlabels.get(label, (None, None))
        text_node = nodes.Text(text)
        if docname is None:
            LOGGER.warning(
                "%r: the page of the paper has no anchor (%s)=", text, label, location=element
            )
            return text_node
        here = [element, *ancestors(element)]
        if docname == self.env.docname and any(anchor in e.get("ids", ()) for e in here):
            return text_node  # no link to the place itself
        link = make_refnode(self.app.builder, self.env.docname, docname, anchor, text_node)
        link["classes"].append("ln-paper")
        return link


def ancestors(node):
    """Yield the ancestors of a node, innermost first."""
    while (node := node.parent) is not None:
        yield node


def join_texts(element):
    """Merge adjacent texts, which line breaks of the source separate."""
    children = []
    for child in element:
        if isinstance(child, nodes.Text) and children and isinstance(children[-1], nodes.Text):
            child = nodes.Text(children.pop() + child)
        children.append(child)
    element[:] = children


def is_reference_to_other_work(element, i, match):
    """Return whether a citation of another work is adjacent to a match in child ``i``."""
    before, after = element[i][: match.start()], element[i][match.end() :]
    follows = i and re.fullmatch(r"(?:['’]s)?[\s,;(]*", before)
    leads = re.fullmatch(r"\s(?:of|in)\s", after)
    return (follows and cites_other_work(element[i - 1 : i])) or (
        leads and cites_other_work(element[i + 1 : i + 2])
    )


def cites_other_work(siblings):
    """Return whether any of the nodes cites something other than the paper."""
    return any(
        isinstance(node, addnodes.pending_xref)
        and node.get("refdomain") == "cite"
        and PAPER not in node["reftarget"].split(",")
        for node in siblings
    )


def setup(app):
    """Add the transform."""
    app.add_post_transform(LinkReferences)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
