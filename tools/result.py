"""Result of a tool call as the model sees it: storable text within a byte limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from heartbit_site.base.untrusted import clean_text

Status = Literal["ok", "error", "timeout", "invalid", "refused"]

MAX_OUTPUT_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call.

    Attributes:
        content: Text that Postgres can store, within the byte limit.
        status: ``invalid``: the call itself was wrong; ``refused``: by policy; ``error``: the tool
            raised; ``timeout``: it took too long, and may still have had its effect.
    """

    content: str
    status: Status


def answer(text: str, status: Status, max_bytes: int) -> ToolResult:
    """Return a result within a limit of UTF-8 bytes."""
    return ToolResult(truncate(clean_text(text), max_bytes), status)


def truncate(text: str, max_bytes: int) -> str:
    """Return the text within a byte limit.

    The text is cut between characters, and a line at its end gives the number of missing bytes;
    only that line may exceed a limit smaller than itself.
    """
    if len(text) * 4 <= max_bytes or len(data := text.encode()) <= max_bytes:
        return text
    marker = "\n[cut: {kept} of {size} bytes shown]"
    room = max(0, max_bytes - len(marker.format(kept=max_bytes, size=len(data))))
    kept = data[:room].decode("utf-8", "ignore")
    return kept + marker.format(kept=len(kept.encode()), size=len(data))
