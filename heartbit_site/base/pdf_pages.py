"""Pages of PDFs as pictures, drawn in a sandboxed process; needs the extra `pages`.

Usage::

    pictures_in(data, "scan.pdf")    # one picture, or one for each page of a PDF
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from heartbit_site.base.installation import extra_command
from heartbit_site.base.pictures import (
    LONGEST_SIDE,
    MOST_BYTES,
    MOST_PICTURES,
    Picture,
    PictureError,
    reencode,
)
from heartbit_site.base.reader_process import ReaderError, ReaderLimits, read

_BEGINNING: Final = b"%PDF-"
_LIMITS: Final = ReaderLimits(60.0, 45, 1_500_000_000, 60_000_000)
_SCRIPT: Final = Path(__file__).with_name("pages_script.py")


def is_pdf(data: bytes) -> bool:
    """Return True if a file begins as a PDF does."""
    return data.startswith(_BEGINNING)


def pictures_in(data: bytes, name: str) -> list[Picture]:
    """Return a picture re-encoded, or the pages of a PDF.

    Raises:
        PictureError: As ``reencode`` and ``pages_of``, as the other errors are.
    """
    return pages_of(data, name) if is_pdf(data) else [reencode(data, name)]


def pages_of(data: bytes, name: str) -> list[Picture]:
    """Return the pages of a PDF as pictures.

    Args:
        data: The file.
        name: Name for the sentence of a refusal.

    Raises:
        PictureError: The extra is missing, or the PDF is damaged, too large or too long.
        ReadersBusyError: As ``read``.
        ReadingTimeError: As ``read``.
    """
    if find_spec("pypdfium2") is None:
        raise PictureError(
            f"{name} can be shown page by page only with the extra `pages`: install it with "
            f"`{extra_command('pages')}`, or attach its pages as pictures."
        )
    if len(data) > MOST_BYTES:
        raise PictureError(f"{name} has {len(data):,} bytes: a PDF may have {MOST_BYTES:,}.")
    words = (str(MOST_PICTURES), str(LONGEST_SIDE))
    try:
        answer = read(_SCRIPT, words, data, _LIMITS)
    except ReaderError:
        raise PictureError(f"{name} takes too much time or memory: split it.") from None
    head, _, content = answer.partition(b"\n")
    kind, *sizes = head.decode().split()
    if kind == "refused":
        raise PictureError(f"{name} {content.decode()}.")
    pages, at = [], 0
    for size in map(int, sizes):
        pages.append(Picture("jpeg", content[at : at + size]))
        at += size
    return pages
