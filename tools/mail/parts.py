"""Parts of a mail: its text, and its attachments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from heartbit_site.base.charsets import decode_text, html_charset
from heartbit_site.base.errors import HeartbitError
from tools.mail.headers import Content, Headers, content_of, decode_transfer, one_line, split_header
from tools.mail.html_text import text_of_html

MOST_ATTACHMENTS = 20
MOST_DEPTH = 10
MOST_PARTS = 1_000
_MOST_OF_TEXT = 1_000_000  # bytes of one part
_MOST_OF_TEXTS = 2_000_000  # of all: a text and its alternative


class UnreadableMailError(HeartbitError):
    """The bytes are not a mail, or have more parts than a mail may have."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """File of a mail, encoded.

    Attributes:
        name: Its name, one line; may be empty.
        kind: Content type that the mail names, in lower case.
        encoding: Content transfer encoding that the mail names.
        encoded: Its bytes in that encoding.
    """

    name: str
    kind: str
    encoding: str
    encoded: bytes

    @property
    def title(self) -> str:
        """Name for people."""
        return self.name or f"unnamed ({self.kind})"

    def content(self) -> bytes:
        """Return the file's bytes."""
        return decode_transfer(self.encoded, self.encoding)


@dataclass(frozen=True, slots=True)
class Body:
    """Content of a mail.

    Attributes:
        text: Text of all text parts, joined.
        cut: True if the texts were too long to be read to their end.
        problem: Sentences about guesses and unreadable parts of the texts; may be empty.
        attachments: Its first 20 files.
    """

    text: str
    cut: bool
    problem: str
    attachments: tuple[Attachment, ...]


def read_body(headers: Headers, content: bytes) -> Body:
    """Return the text and the files of a mail.

    Raises:
        UnreadableMailError: The mail has too many parts, or parts nested too deeply.
    """
    reader = _Reader()
    texts = reader.texts(headers, content, 0)
    return Body(
        text="\n\n".join(text.words for text in texts if text.words),
        cut=reader.cut,
        problem=" ".join(dict.fromkeys(text.problem for text in texts if text.problem)),
        attachments=tuple(reader.attachments),
    )


@dataclass(frozen=True, slots=True)
class _Text:
    words: str
    plain: bool
    problem: str


class _Reader:
    """Reader of the parts, with counters for the limits."""

    def __init__(self) -> None:
        self.cut = False
        self.attachments: list[Attachment] = []
        self._parts = 0
        self._left = _MOST_OF_TEXTS

    def texts(
        self, headers: Headers, content: bytes, depth: int, default: str = "text/plain"
    ) -> list[_Text]:
        """Return the texts of a part and of all parts within it."""
        said = content_of(headers, default)
        if said.kind.startswith("multipart/") and said.boundary and not said.attached:
            return self._many(said, content, depth + 1)
        html = said.kind == "text/html"
        if said.attached or not (html or said.kind.startswith(("text/plain", "multipart/"))):
            self._attach(headers, said, content)
            return []
        words, problem = self._words(headers, said, content)
        return [_Text(text_of_html(words) if html else words.strip("\n"), not html, problem)]

    def _many(self, said: Content, content: bytes, depth: int) -> list[_Text]:
        if depth > MOST_DEPTH:
            raise UnreadableMailError(
                f"The mail cannot be read: its parts are nested deeper than {MOST_DEPTH} levels."
            )
        default = "message/rfc822" if said.kind == "multipart/digest" else "text/plain"
        found: list[list[_Text]] = []
        for part in _split(content, said.boundary):
            self._parts += 1
            if self._parts > MOST_PARTS:
                raise UnreadableMailError(
                    f"The mail cannot be read: it has more than {MOST_PARTS} parts."
                )
            found.append(self.texts(*split_header(part), depth, default))
        if said.kind == "multipart/alternative":
            return _best(found)
        return [text for texts in found for text in texts]

    def _attach(self, headers: Headers, said: Content, content: bytes) -> None:
        if len(self.attachments) < MOST_ATTACHMENTS:
            kind = one_line(said.kind, 100)
            encoding = headers.first("content-transfer-encoding")
            self.attachments.append(Attachment(said.name, kind, encoding, content))

    def _words(self, headers: Headers, said: Content, content: bytes) -> tuple[str, str]:
        data = decode_transfer(content, headers.first("content-transfer-encoding"))
        most = min(_MOST_OF_TEXT, self._left)
        self.cut = self.cut or len(data) > most
        self._left -= min(len(data), most)
        named = said.charset or (html_charset(data) if said.kind == "text/html" else "")
        text, problem = decode_text(data[:most], named)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
        return lines, problem


def _best(found: list[list[_Text]]) -> list[_Text]:
    """Return the plain-text alternative, else the first alternative that is not blank."""
    telling = [texts for texts in found if any(text.words.strip() for text in texts)]
    plain = (texts for texts in telling if all(text.plain for text in texts))
    return next(plain, telling[0] if telling else [])


def _split(content: bytes, boundary: str) -> Iterator[bytes]:
    """Yield the parts between boundary lines, without the text before and after them."""
    content = b"\n" + content  # so that each boundary follows a line end
    mark = re.escape(boundary.encode("utf-8", "replace"))
    lines = re.finditer(rb"\n--" + mark + rb"(--)?[ \t]*(?=\r?\n|\Z)", content)
    start = -1
    for line in islice(lines, MOST_PARTS + 2):
        if start >= 0:
            yield content[start : line.start()].removesuffix(b"\r")
        if line[1]:
            return
        start = line.end()
        start += 2 if content[start : start + 2] == b"\r\n" else 1
    if start >= 0:
        yield content[start:]
