"""Headers of a mail or of one of its parts, parsed as untrusted input. Pure.

The standard library's parser is not used for whole headers: a hostile header takes it minutes,
gigabytes or a thousand stack frames (measured on Python 3.11: 1 MB of From or of nested
multiparts). It only parses parameters, from values of limited length.
"""

from __future__ import annotations

import binascii
import re
import string
import unicodedata
from dataclasses import dataclass
from email.message import Message

from heartbit_site.base.charsets import decode_charset

_BASE64 = (string.ascii_letters + string.digits + "+/").encode()
_NOT_BASE64 = bytes(set(range(256)) - set(_BASE64))


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """Decode a content transfer encoding; data in an unknown encoding is returned unchanged."""
    match encoding.strip().lower():
        case "base64":
            return decode_base64(data)
        case "quoted-printable":
            return binascii.a2b_qp(data)
    return data


def decode_base64(data: bytes) -> bytes:
    """Decode as much as possible, ignoring invalid characters."""
    letters = data.translate(None, _NOT_BASE64)
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


_MOST_BYTES = 1_048_576
_MOST_FIELDS = 2_000
_MOST_OF_PARAMETERS = 8_192
_MOST_OF_BOUNDARY = 200  # 70 in RFC 2046; each line of a mail is compared with it
_END = re.compile(rb"\A\r?\n|\n\r?\n")
_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:(.*)", re.DOTALL)
_WORD = re.compile(r"=\?([^?*\s]{1,40})(?:\*[^?\s]{0,40})?\?([bBqQ])\?([^?]*)\?=")
# Character categories not allowed in a line.
_NOT_IN_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Exceptions of email.message for contradictory parameters.
_PARAMETER_ERRORS = (ValueError, TypeError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True)
class Headers:
    """Fields of a header, in order.

    Attributes:
        fields: Names in lower case, and unfolded raw values.
    """

    fields: tuple[tuple[str, str], ...]

    def every(self, name: str) -> list[str]:
        """Return the values of all fields of that name."""
        return [value for known, value in self.fields if known == name]

    def first(self, name: str) -> str:
        """Return the value of the first field of that name; empty if there is none."""
        return next((value for known, value in self.fields if known == name), "")


@dataclass(frozen=True, slots=True)
class Content:
    """Description of the content that follows a header.

    Attributes:
        kind: Content type in lower case, such as ``text/plain``.
        charset: Charset that the mail names; may be empty.
        boundary: Boundary of a multipart; may be empty.
        name: File name, one line; may be empty.
        attached: True for an attached file.
    """

    kind: str
    charset: str
    boundary: str
    name: str
    attached: bool


def split_header(raw: bytes) -> tuple[Headers, bytes]:
    """Split a mail or a part into its header and its content.

    Bytes that do not begin with a field have no header: all of them are content.
    """
    if raw[:1] in {b"\r", b"\n"}:
        return Headers(()), raw.removeprefix(b"\r").removeprefix(b"\n")
    if not _FIELD.match(raw[:_MOST_OF_PARAMETERS].partition(b"\n")[0]):
        return Headers(()), raw
    end = _END.search(raw)
    block, content = (raw[: end.start()], raw[end.end() :]) if end else (raw, b"")
    lines = _FOLD.sub(b"", block[:_MOST_BYTES]).split(b"\n", _MOST_FIELDS)[:_MOST_FIELDS]
    found = (_FIELD.fullmatch(line) for line in lines)
    fields = ((field[1].decode().lower(), _text(field[2])) for field in found if field)
    return Headers(tuple(fields)), content


def content_of(headers: Headers, default: str = "text/plain") -> Content:
    """Return the description of the content; contradictory fields count as missing."""
    message = Message()
    message.set_default_type(default)
    for name in ("content-type", "content-disposition"):
        value = headers.first(name)[:_MOST_OF_PARAMETERS].strip()
        if value:
            message[name] = value
    filename = _parameter(message, "filename", "content-disposition")
    disposition = headers.first("content-disposition").partition(";")[0].strip().lower()
    return Content(
        kind=_kind(message),
        charset=_parameter(message, "charset", "content-type").strip(),
        boundary=_boundary(_parameter(message, "boundary", "content-type").rstrip()),
        name=one_line(decode_words(filename or _parameter(message, "name", "content-type")), 200),
        attached=disposition == "attachment" or bool(filename),
    )


def decode_words(value: str) -> str:
    """Decode the encoded words (RFC 2047) of a value; broken ones stay unchanged."""
    pieces: list[str] = []
    charset, gathered, place = "", bytearray(), 0
    for word in _WORD.finditer(value):
        gap = value[place : word.start()]
        # White space between two encoded words is dropped; a character may be split over both.
        apart = bool(gap.strip()) or not place
        if apart or word[1].lower() != charset:
            pieces += [decode_charset(bytes(gathered), charset), gap if apart else ""]
            charset, gathered = word[1].lower(), bytearray()
        gathered += _word_bytes(word)
        place = word.end()
    return "".join([*pieces, decode_charset(bytes(gathered), charset), value[place:]])


def one_line(text: str, most: int) -> str:
    """Return a text as one line without control characters, cut."""
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(one) in _NOT_IN_A_LINE else one for one in text)
    return " ".join(text.split())[:most].rstrip()


def _text(value: bytes) -> str:
    return decode_charset(value, "").strip()


def _word_bytes(word: re.Match[str]) -> bytes:
    data = word[3].encode("utf-8", "replace")
    return decode_base64(data) if word[2] in "bB" else binascii.a2b_qp(data, header=True)


def _kind(message: Message) -> str:
    try:
        return message.get_content_type()
    except _PARAMETER_ERRORS:
        return message.get_default_type()


def _boundary(text: str) -> str:
    """Return a boundary that can separate parts; empty if no line can be one (RFC 2046)."""
    return text if len(text) <= _MOST_OF_BOUNDARY and text.isprintable() else ""


def _parameter(message: Message, name: str, header: str) -> str:
    """Return a parameter in any form of RFC 2231; empty if missing or malformed."""
    try:
        value = message.get_param(name, "", header)
        if isinstance(value, tuple):
            return decode_charset(value[2].encode("latin-1", "replace"), value[0] or "")
    except _PARAMETER_ERRORS:
        return ""
    return value if isinstance(value, str) else ""
