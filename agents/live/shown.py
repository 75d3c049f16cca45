"""The lines of a page's socket: as programs get them, and what models wrote also as HTML.

    {"type": "event", ..., "event": "model.answered", "payload": {...}, "html": "<p>...</p>"}

The HTML is sanitised (``heartbit_site.base.markdown``), so a page may show it as it is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents.events import ModelAnswered
from agents.live.lines import line_of
from agents.live.updates import Happened, Streamed
from heartbit_site.base.markdown import to_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from uuid import UUID

    from agents.live.updates import Update

Payload = dict[str, Any]

#: Where the events that hold an answer have its text.
_ANSWERS: dict[str, Callable[[Payload], str]] = {
    "model.answered": lambda payload: str(payload["message"]["text"]),
    "run.succeeded": lambda payload: str(payload["output"]),
    "run.failed": lambda payload: str(payload["partial"]),
    "run.cancelled": lambda payload: str(payload["partial"]),
}


class Shown:
    """Turns one reader's updates into lines; it leaves out deltas of turns already answered."""

    def __init__(self) -> None:
        self._answered: dict[UUID, int] = {}

    async def lines(self, updates: Iterable[Update]) -> list[Payload]:
        """The lines of a batch, in its order."""
        found = [line_of(update) for update in updates if not self._is_late(update)]
        if any(line.get("event") in _ANSWERS for line in found):
            # Markdown of a long journal takes longer than a loop with other readers may stand.
            await asyncio.to_thread(_render, found)
        return found

    def _is_late(self, update: Update) -> bool:
        if isinstance(update, Happened) and isinstance(update.recorded.event, ModelAnswered):
            turn = update.recorded.event.turn
            self._answered[update.run_id] = max(turn, self._answered.get(update.run_id, 0))
        return isinstance(update, Streamed) and update.delta.turn <= self._answered.get(
            update.run_id, 0
        )


def _render(lines: list[Payload]) -> None:
    for line in lines:
        text_of = _ANSWERS.get(line.get("event", ""))
        text = text_of(line["payload"]) if text_of is not None else ""
        if text:
            line["html"] = to_html(text)
