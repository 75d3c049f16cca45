"""HTML: the main text of a page, without its navigation, with headings, lists and tables."""

from __future__ import annotations

import re

import trafilatura

from heartbit_site.base.charsets import decode_text, html_charset
from memory.knowledge.passages import Extraction, RefusedDocumentError
from memory.knowledge.readers.markdown import blocks_of

#: Elements outside the main text: navigation, and the page's own header and footer.
_BESIDE = "|".join(
    (
        "//nav",
        "//*[@role='navigation']",
        "//aside",
        "//script",
        "//style",
        "//header[not(ancestor::main or ancestor::article)]",
        "//footer[not(ancestor::main or ancestor::article)]",
    )
)
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")  # names the encoding before decoding


def read(data: bytes, first: int) -> Extraction:
    """Read a page; ``first`` is 0, since it has no pages."""
    source, problem = decode_text(data, html_charset(data))
    tree = trafilatura.load_html(_XML_DECLARATION.sub("", source))
    if tree is None:
        raise RefusedDocumentError("has no readable HTML")
    for element in tree.xpath(_BESIDE):
        element.clear(keep_tail=True)
    text = trafilatura.extract(
        tree, output_format="markdown", favor_recall=True, include_comments=False
    )
    # Pages of few words have no main text.
    blocks = blocks_of(text or trafilatura.html2txt(tree) or "")
    return Extraction(blocks, problem=problem)
