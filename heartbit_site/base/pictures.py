"""Pictures from outside, re-encoded in a sandboxed process before anything stores or shows them.

Usage::

    picture = reencode(data, "picture 1")    # PictureError: one sentence that names it
    picture.media_type, picture.content         # image/png or image/jpeg
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.reader_process import ReaderError, ReaderLimits, read

#: Pictures of one message or result at most.
MOST_PICTURES: Final = 20
MOST_BYTES: Final = 10_000_000
#: Of a JPEG, which is decoded at a fraction of its size.
MOST_PIXELS: Final = 40_000_000
#: Of the other kinds, which are decoded whole: 80 MB.
MOST_WHOLE_PIXELS: Final = 20_000_000
#: Models see no more of a picture: a larger one is made smaller.
LONGEST_SIDE: Final = 2_000
_KINDS: Final = (
    (b"\x89PNG\r\n\x1a\n", 0, "PNG"),
    (b"\xff\xd8\xff", 0, "JPEG"),
    (b"GIF8", 0, "GIF"),
    (b"WEBP", 8, "WEBP"),
)
_LIMITS: Final = ReaderLimits(20.0, 15, 500_000_000, 20_000_000)
_SCRIPT: Final = Path(__file__).with_name("picture_script.py")


class PictureError(HeartbitError):
    """The picture is not accepted; the message is one sentence that names it."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as Heartbit encoded it.

    Attributes:
        kind: ``png`` or ``jpeg``.
        content: The file.
    """

    kind: str
    content: bytes

    @property
    def media_type(self) -> str:
        """Media type: ``image/png`` or ``image/jpeg``."""
        return f"image/{self.kind}"

    @property
    def ending(self) -> str:
        """Extension of its file."""
        return "jpg" if self.kind == "jpeg" else self.kind


@dataclass(frozen=True, slots=True)
class WithPictures:
    """A tool's result with pictures for the model; they are re-encoded before it sees them.

    Attributes:
        text: What the tool says; models that see no pictures have this alone.
        pictures: Files: PNG, JPEG, GIF or WebP.
    """

    text: str
    pictures: tuple[bytes, ...]


def kind_of(data: bytes) -> str:
    """Return Pillow's name of a picture's format by its first bytes; empty: none of the four."""
    return next((kind for mark, at, kind in _KINDS if data[at : at + len(mark)] == mark), "")


def require_kind(data: bytes, name: str) -> str:
    """Return ``kind_of`` a file that may be a picture of accepted size.

    Raises:
        PictureError: It is another kind of file, or too large.
    """
    kind = kind_of(data)
    if not kind:
        raise PictureError(f"{name} is no PNG, JPEG, GIF or WebP picture: send it as one of them.")
    if len(data) > MOST_BYTES:
        raise PictureError(
            f"{name} has {len(data):,} bytes: a picture may have {MOST_BYTES:,}; make it smaller."
        )
    return kind


def reencode(data: bytes, name: str) -> Picture:
    """Return a picture re-encoded: upright, of bounded size, without metadata, one frame.

    Args:
        data: The file.
        name: Name for the sentence of a refusal.

    Raises:
        PictureError: It is another kind of file, damaged, or too large.
        ReadersBusyError: As ``read``.
        ReadingTimeError: As ``read``.
    """
    kind = require_kind(data, name)
    most_pixels = MOST_PIXELS if kind == "JPEG" else MOST_WHOLE_PIXELS
    words = (kind, str(most_pixels), str(LONGEST_SIDE))
    try:
        answer = read(_SCRIPT, words, data, _LIMITS)
    except ReaderError:
        raise PictureError(f"{name} takes too much time or memory: make it smaller.") from None
    head, _, content = answer.partition(b"\n")
    if head == b"refused":
        raise PictureError(f"{name} {content.decode()}.")
    return Picture(head.decode(), content)


def from_base64(text: str, name: str) -> bytes:
    """Return the bytes of a picture in base64, or in a data URL.

    Raises:
        PictureError: It is not base64.
    """
    try:
        return base64.b64decode(text.rpartition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        raise PictureError(f"{name} is not base64: encode its bytes.") from None
