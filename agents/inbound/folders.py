"""Encoding of a person's text as arguments of IMAP commands. Pure."""

from __future__ import annotations

import base64
import re

_NOT_ASCII = re.compile(r"[^ -~]+")


def quoted(text: str) -> bytes:
    """Encode text without line ends as a quoted string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def folder_name(name: str) -> str:
    """Encode a folder's name as modified UTF-7 (RFC 3501, section 5.1.3).

    Raises:
        UnicodeEncodeError: The name holds a lone surrogate.
    """
    return _NOT_ASCII.sub(lambda found: f"&{_base64(found[0])}-", name.replace("&", "&-"))


def _base64(text: str) -> str:
    letters = base64.b64encode(text.encode("utf-16-be"), altchars=b"+,")
    return letters.decode().rstrip("=")
