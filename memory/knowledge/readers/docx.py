"""DOCX: paragraphs, headings by their styles, and tables by row."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import TYPE_CHECKING

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.table import Table

from memory.knowledge.blocks import Block, Extraction, RefusedDocumentError

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

_MOST_BYTES = 200_000_000
_MOST_ENTRIES = 10_000
_PIECE = 1_000_000
_HEADING = re.compile(r"Heading ([1-9])\Z")


def read(data: bytes, first: int) -> Extraction:
    """Read a document; ``first`` is 0: its pages are made by the program that shows it."""
    _check_archive(data)
    try:
        document = docx.Document(io.BytesIO(data))
    except (PackageNotFoundError, KeyError, ValueError) as error:
        raise RefusedDocumentError("is no DOCX file, or a damaged one") from error
    blocks = []
    for each in document.iter_inner_content():
        if isinstance(each, Table):
            rows = (
                " | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in each.rows
            )
            blocks.append(Block("\n".join(rows)))
        else:
            blocks.append(Block(each.text, _level(each)))
    return Extraction(blocks)


def _check_archive(data: bytes) -> None:
    """Unpack the archive piece by piece once, since its sizes may be lies."""
    room = _MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            for entry in entries[:_MOST_ENTRIES]:
                with archive.open(entry) as stream:
                    while room >= 0 and (piece := stream.read(_PIECE)):
                        room -= len(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise RefusedDocumentError("is no DOCX file, or a damaged one") from error
    if len(entries) > _MOST_ENTRIES or room < 0:
        raise RefusedDocumentError(
            f"unpacks to more than {_MOST_BYTES // 1_000_000} MB or {_MOST_ENTRIES:,} files"
        )


def _level(paragraph: Paragraph) -> int:
    name = (paragraph.style.name if paragraph.style is not None else "") or ""
    if name == "Title":
        return 1
    found = _HEADING.match(name)
    return int(found[1]) + 1 if found else 0
