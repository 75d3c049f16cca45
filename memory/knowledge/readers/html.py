"""HTML: the main text of a page, without its navigation, with headings, lists and tables."""

from __future__ import annotations

import trafilatura

from memory.knowledge.blocks import Extraction, RefusedDocumentError
from memory.knowledge.readers.markdown import blocks_of


def read(data: bytes, first: int) -> Extraction:
    """Read a page; ``first`` is 0, since it has no pages."""
    tree = trafilatura.load_html(data)
    if tree is None:
        raise RefusedDocumentError("has no HTML that can be read")
    text = trafilatura.extract(
        tree, output_format="markdown", favor_recall=True, include_comments=False
    )
    # Pages of few words have no main text.
    return Extraction(blocks_of(text or trafilatura.html2txt(tree) or ""))
