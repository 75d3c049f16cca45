"""Names, ids and arguments in a form that every server accepts back.

A model may write a tool's name or arguments that its own provider rejects in the next request;
without these rules such a conversation could not continue.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from agents.llm.text import read_object

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def wire_id(call_id: str) -> str:
    """Return ``call_id``, or a digest of it if it is empty, too long or has odd characters."""
    if _ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def wire_name(name: str) -> str:
    """Return ``name`` with characters replaced that no provider allows in a tool's name."""
    if _NAME.fullmatch(name):
        return name
    return _NOT_IN_NAMES.sub("_", name)[:64] or "unnamed"


def wire_arguments(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as an object; malformed text is kept under one key."""
    if not arguments.strip():
        return {}
    value = read_object(arguments)
    return {"unparsed_arguments": arguments} if value is None else value


def wire_arguments_text(arguments: str) -> str:
    """Return a call's arguments as the text of a JSON object, unchanged if they are one."""
    if read_object(arguments) is not None:
        return arguments
    return json.dumps(wire_arguments(arguments), ensure_ascii=False)
