"""The lines of a page's socket: as programs get them, and what models wrote also as HTML.

    {"type": "event", ..., "event": "model.answered", "payload": {...}, "html": "<p>...</p>"}

The HTML is sanitised (``heartbit_site.base.markdown``), so a page may show it as it is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents.live.lines import line_of
from heartbit_site.base.markdown import to_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents.live.updates import Update

Payload = dict[str, Any]

#: Where the events that hold an answer have its text.
_ANSWERS: dict[str, Callable[[Payload], str]] = {
    "model.answered": lambda payload: str(payload["message"]["text"]),
    "run.succeeded": lambda payload: str(payload["output"]),
    "run.failed": lambda payload: str(payload["partial"]),
    "run.cancelled": lambda payload: str(payload["partial"]),
}


async def shown(updates: Iterable[Update]) -> list[Payload]:
    """The lines of these updates, in their order."""
    lines = [line_of(update) for update in updates]
    if any(line.get("event") in _ANSWERS for line in lines):
        # Markdown of a long journal takes longer than a loop with other readers may stand.
        await asyncio.to_thread(_render, lines)
    return lines


def _render(lines: list[Payload]) -> None:
    for line in lines:
        text_of = _ANSWERS.get(line.get("event", ""))
        text = text_of(line["payload"]) if text_of is not None else ""
        if text:
            line["html"] = to_html(text)
