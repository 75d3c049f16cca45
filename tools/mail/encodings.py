"""Decoding of mail content to text, whatever encoding it claims; nothing here raises. Pure."""

from __future__ import annotations

import binascii
import codecs
import encodings
import functools
import pkgutil
import re
import string
from encodings.aliases import aliases

_CHARSET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,39}")
# Codecs of Python that mails do not use: slow, always failing, or (UTF-7) a way to hide text.
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
# Charsets that mails name when they mean a superset.
_MEANT = {"ascii": "utf-8", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_BASE64 = (string.ascii_letters + string.digits + "+/").encode()
_NOT_BASE64 = bytes(set(range(256)) - set(_BASE64))


def decode_charset(data: bytes, charset: str) -> str:
    """Decode bytes; invalid ones become U+FFFD.

    Args:
        data: Any bytes.
        charset: Charset that the mail names. Unknown or empty: UTF-8, else Windows-1252.
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


def _known(charset: str) -> str:
    """Return Python's name of a charset, or an empty text."""
    if not _CHARSET.fullmatch(charset) or _plain_name(charset) not in _names():
        return ""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return ""
    return "" if name in _NOT_MEANT else _MEANT.get(name, name)


@functools.cache
def _names() -> frozenset[str]:
    """Return the names that Python knows; it looks for a module of any other, and remembers it."""
    modules = (module.name for module in pkgutil.iter_modules(encodings.__path__))
    return frozenset({*aliases, *aliases.values(), *modules})


def _plain_name(charset: str) -> str:
    return encodings.normalize_encoding(charset).lower().replace(".", "_")
