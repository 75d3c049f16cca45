"""Decoding of bytes to text, by their charset or by a guess; nothing here raises. Pure.

Usage::

    found = decode_text(data, "shift_jis")  # or "": no charset is named
    found.text, found.problem  # the sentence says what was guessed or not read
"""

from __future__ import annotations

import codecs
import encodings
import functools
import pkgutil
import re
from encodings.aliases import aliases
from typing import NamedTuple

_CHARSET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,39}")
# Codecs of Python that texts do not use: slow, always failing, or (UTF-7) a way to hide text.
_NOT_MEANT = frozenset(
    {
        "idna",
        "mbcs",
        "oem",
        "punycode",
        "raw-unicode-escape",
        "undefined",
        "unicode-escape",
        "utf-7",
    }
)
# Charsets that are named where a superset is meant, as browsers read them.
_MEANT = {
    "ascii": "utf-8",
    "big5": "cp950",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_UNKNOWN_TO_PYTHON = {"windows-874": "cp874", "x-sjis": "cp932", "x-gbk": "gbk"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Candidate charsets with their display names; the first of equally good ones wins.
_LATIN = {
    "cp1252": "Windows-1252 (Western European)",
    "cp1250": "Windows-1250 (Central European)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1257": "Windows-1257 (Baltic)",
}
_GUESSED = _LATIN | {
    "gb18030": "GB18030 (Chinese)",
    "cp932": "Shift-JIS (Japanese)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "cp950": "Big5 (Chinese)",
    "cp949": "EUC-KR (Korean)",
    "euc_jp": "EUC-JP (Japanese)",
    "koi8_r": "KOI8-R (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp874": "Windows-874 (Thai)",
}
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE)
_HEAD_BYTES = 4_096
# Only in Latin scripts do letters beyond ASCII stand apart from each other.
_TWO_BEYOND_ASCII = re.compile(rb"[\x80-\xff]{2}")
_BEYOND_ASCII = bytes(range(0x80, 0x100))
_FEW = 2  # characters beyond ASCII, which are evidence for no charset
_UNREADABLE = "\ufffd"
_GOOD_FOR_ONE_BAD = 10


class DecodedText(NamedTuple):
    """A text from bytes.

    Attributes:
        text: Invalid bytes are U+FFFD.
        problem: Sentence about a guess or unreadable bytes; empty if there is neither.
    """

    text: str
    problem: str


def decode_text(data: bytes, charset: str = "") -> DecodedText:
    """Decode a text by its byte order mark, its named charset, as UTF-8, or else by a guess.

    Args:
        data: Any bytes.
        charset: Declared charset; an unknown or empty one is ignored.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _with_problem(data.decode(encoding, "replace"))
    name = _known(charset)
    for encoding in filter(None, (name, "utf-8")):
        try:
            return DecodedText(data.decode(encoding), "")
        except (LookupError, ValueError):
            continue
    if name not in {"", "utf-8"}:
        return _with_problem(decode_charset(data, charset))
    text = data.decode("utf-8", "replace")
    bad = text.count(_UNREADABLE)
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    if name or good >= _GOOD_FOR_ONE_BAD * bad:
        return _with_problem(text)
    return _guessed(data)


def decode_charset(data: bytes, charset: str) -> str:
    """Decode short bytes, such as a header's; invalid ones become U+FFFD.

    Args:
        data: Any bytes.
        charset: Declared charset. If unknown or empty: UTF-8, else Windows-1252.
    """
    name = _known(charset)
    if name in {"", "utf-8"}:
        try:
            return data.decode()
        except UnicodeDecodeError:
            name = name or "cp1252"
    try:
        return data.decode(name, "replace")
    except (LookupError, ValueError):  # the codec does not decode bytes
        return data.decode("utf-8", "replace")


def html_charset(data: bytes) -> str:
    """Return the charset that an HTML page names in itself; empty: none."""
    head = data[:_HEAD_BYTES]
    found = _META.search(head) or _XML.search(head)
    return found[1].decode("ascii", "replace") if found else ""


def _guessed(data: bytes) -> DecodedText:
    """Decode as the charset that gives the most plausible text."""
    from charset_normalizer import from_bytes  # noqa: PLC0415  few texts need it

    sample = b"\n".join(line for line in data.split(b"\n") if not line.isascii())
    if len(sample) - len(sample.translate(None, _BEYOND_ASCII)) <= _FEW:
        return _as_guessed(data, "cp1252")
    charsets = _GUESSED if _TWO_BEYOND_ASCII.search(sample) else _LATIN
    found = from_bytes(sample, cp_isolation=list(charsets), enable_fallback=False)
    best = found.best()
    name = "cp1252"
    if best is not None:
        equal = {
            charset
            for match in found
            if (match.chaos, match.coherence) == (best.chaos, best.coherence)
            for charset in (match.encoding, *match.could_be_from_charset)
        }
        name = next((charset for charset in charsets if charset in equal), name)
    return _as_guessed(data, name)


def _as_guessed(data: bytes, charset: str) -> DecodedText:
    guess = (
        f"No encoding is named: read as {_GUESSED[charset]}, which is a guess; save it as UTF-8 to "
        "be sure."
    )
    text, problem = _with_problem(data.decode(charset, "replace"))
    return DecodedText(text, f"{guess} {problem}".strip())


def _with_problem(text: str) -> DecodedText:
    lost = text.count(_UNREADABLE)
    if not lost:
        return DecodedText(text, "")
    places = "1 place" if lost == 1 else f"{lost:,} places"
    problem = f"Bytes at {places} are not valid in the encoding: read as {_UNREADABLE}."
    return DecodedText(text, problem)


def _known(charset: str) -> str:
    """Return Python's name of a charset, or an empty text."""
    charset = _UNKNOWN_TO_PYTHON.get(charset.lower(), charset)
    if not _CHARSET.fullmatch(charset) or _plain_name(charset) not in _names():
        return ""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return ""
    return "" if name in _NOT_MEANT else _MEANT.get(name, name)


@functools.cache
def _names() -> frozenset[str]:
    """Return the charset names that Python knows; others would make it search for modules."""
    modules = (module.name for module in pkgutil.iter_modules(encodings.__path__))
    return frozenset({*aliases, *aliases.values(), *modules})


def _plain_name(charset: str) -> str:
    return encodings.normalize_encoding(charset).lower().replace(".", "_")
