"""Words of a person as arguments of an IMAP command. Pure."""

from __future__ import annotations

import base64
import re

_NOT_ASCII = re.compile(r"[^ -~]+")


def quoted(text: str) -> bytes:
    """As a quoted string; the text has no line end."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def folder_name(name: str) -> str:
    """As IMAP spells it: modified UTF-7 (RFC 3501, section 5.1.3).

    Raises:
        UnicodeEncodeError: It holds half of a character.
    """
    return _NOT_ASCII.sub(lambda found: f"&{_base64(found[0])}-", name.replace("&", "&-"))


def _base64(text: str) -> str:
    letters = base64.b64encode(text.encode("utf-16-be"), altchars=b"+,")
    return letters.decode().rstrip("=")
