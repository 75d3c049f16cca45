"""Decoding of mail content to bytes, whatever encoding it claims; nothing here raises. Pure."""

from __future__ import annotations

import binascii
import string

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
