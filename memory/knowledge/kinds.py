"""Format of a document, by its content and the extension of its name."""

from __future__ import annotations

import codecs
from typing import Final

from memory.choices import DocumentKind
from memory.errors import UnreadableDocumentError

_HEAD: Final = 1_024
#: Of UTF-16, with which those of UTF-32 begin in this order of bytes, and of UTF-32 in the other.
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_ENDS: Final = {
    "md": DocumentKind.MARKDOWN,
    "markdown": DocumentKind.MARKDOWN,
    "html": DocumentKind.HTML,
    "htm": DocumentKind.HTML,
    "xhtml": DocumentKind.HTML,
}
#: What a person is told that can be read.
READABLE: Final = "text, Markdown, HTML, PDF or DOCX"


def detect_kind(name: str, data: bytes) -> DocumentKind:
    """Return the format of a document.

    Raises:
        UnreadableDocumentError: The format is not supported.
    """
    head = data[:_HEAD]
    if b"%PDF-" in head:
        return DocumentKind.PDF
    if head.startswith(b"PK\x03\x04") and b"word/document" in data:
        return DocumentKind.DOCX
    is_wide = head.startswith(_WIDE_MARKS)
    if (b"\0" in data[:8_192] and not is_wide) or head.startswith(b"PK\x03\x04"):
        raise UnreadableDocumentError(f"{name} is not a readable document: add {READABLE}.")
    found = _ENDS.get(name.rpartition(".")[2].lower())
    if found is not None:
        return found
    start = head.lstrip(codecs.BOM_UTF8).lstrip().lower()
    return (
        DocumentKind.HTML if start.startswith((b"<!doctype html", b"<html")) else DocumentKind.TEXT
    )
