"""Result of a tool call as the model sees it: storable text within a byte limit."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Literal

from pydantic_core import to_jsonable_python

from heartbit_site.base.untrusted import clean_text

Status = Literal["ok", "error", "timeout", "invalid", "refused"]

MAX_OUTPUT_BYTES = 65_536
_CUT = "\n[cut: {kept} of {size} bytes shown]"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call.

    Attributes:
        content: Text that Postgres can store, within the byte limit.
        status: ``invalid``: the call was not valid; ``refused``: by policy; ``error``: the tool
            raised; ``timeout``: it took too long, and may still take effect.
        whole: The whole text, if ``content`` is only its beginning.
        artifact: Name of the artifact that has the whole text; empty: none.
        pictures: Files of pictures that the tool returned and that are not stored yet.
        images: Addresses of stored ones.
    """

    content: str
    status: Status
    whole: str = field(default="", compare=False, repr=False)
    artifact: str = ""
    pictures: tuple[bytes, ...] = field(default=(), compare=False, repr=False)
    images: tuple[str, ...] = ()


def answer(text: str, status: Status, max_bytes: int) -> ToolResult:
    """Return a result within a limit of UTF-8 bytes."""
    text = clean_text(text)
    content = truncate(text, max_bytes)
    return ToolResult(content, status, whole="" if content is text else text)


def to_text(value: object) -> str:
    """Return a tool's value as text: a text as it is, anything else as JSON.

    Raises:
        TypeError: The value is a coroutine, so the function should have been async.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Coroutine):
        value.close()
        raise TypeError("the tool returned a coroutine: declare its function async")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=to_jsonable_python)


def truncate(text: str, max_bytes: int, marker: str = _CUT) -> str:
    """Return the text within a byte limit.

    The text is cut between characters, and a line at its end gives the number of missing bytes;
    only that line may exceed a limit smaller than itself.

    Args:
        text: The text.
        max_bytes: Limit in UTF-8 bytes.
        marker: The line at the end of a cut text, with ``{kept}`` and ``{size}`` in bytes.
    """
    if len(text) * 4 <= max_bytes or len(data := text.encode()) <= max_bytes:
        return text
    room = max(0, max_bytes - len(marker.format(kept=max_bytes, size=len(data))))
    kept = data[:room].decode("utf-8", "ignore")
    return kept + marker.format(kept=len(kept.encode()), size=len(data))
