"""From the bytes of a mail to text, whatever it says they are; nothing here raises. Pure."""

from __future__ import annotations

import binascii
import codecs
import re

_CHARSET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,39}")
# What Python knows and no mail means: slow, always failing, or (UTF-7) text within text.
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
# What mails say when they mean the larger one.
_MEANT = {"ascii": "utf-8", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")


def decode_charset(data: bytes, charset: str) -> str:
    """The text; what is wrong in it becomes U+FFFD.

    Args:
        data: Any bytes.
        charset: What the mail calls their encoding. Unknown or empty: UTF-8, or else Windows'
            Western one.
    """
    name = _known(charset)
    if name in {"", "utf-8"}:
        try:
            return data.decode()
        except UnicodeDecodeError:
            name = name or "cp1252"
    try:
        return data.decode(name, "replace")
    except (LookupError, ValueError):  # of bytes, a codec for text only fails so
        return data.decode("utf-8", "replace")


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """What was encoded for the way; of an unknown encoding as it came."""
    match encoding.strip().lower():
        case "base64":
            return decode_base64(data)
        case "quoted-printable":
            return binascii.a2b_qp(data)
    return data


def decode_base64(data: bytes) -> bytes:
    """As much as can be made of it, without looking at what does not belong there."""
    letters = _NOT_BASE64.sub(b"", data)
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


def _known(charset: str) -> str:
    """Python's name of it, or empty."""
    if not _CHARSET.fullmatch(charset):
        return ""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return ""
    return "" if name in _NOT_MEANT else _MEANT.get(name, name)
