"""The lines of a page's socket: as programs get them, with what they change of a run's view.

    {"type": "event", ..., "event": "model.answered", "payload": {...}, "html": "<p>...</p>",
     "view": {"run": {...}, "turn 1": {...}}}

``view`` has the changed parts (``agents.live.view``). What models wrote is there as HTML as well,
sanitised (``heartbit_site.base.markdown``), so a page may show it as it is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.live.json_lines import to_json_line
from heartbit_site.base.markdown import LONGEST, to_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents.live.timeline import Parts
    from agents.live.tree_view import TreeView
    from agents.live.updates import Update
    from agents.live.view import RunView

Payload = dict[str, Any]

#: Where the events that hold an answer have its text.
_ANSWERS: dict[str, Callable[[Payload], str]] = {
    "model.answered": lambda payload: str(payload["message"]["text"]),
    "run.succeeded": lambda payload: str(payload["output"]),
    "run.failed": lambda payload: str(payload["partial"]),
    "run.cancelled": lambda payload: str(payload["partial"]),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """An update that a run's view has taken in.

    Attributes:
        view: The parts that it changed; None: it was known.
    """

    update: Update
    run: RunView
    view: Parts | None


def take(tree: TreeView, update: Update) -> Shown:
    """Have a tree take in an update."""
    view = tree.apply(update)
    return Shown(update, tree.runs[update.run_id], view)


async def render_lines(updates: Iterable[Shown]) -> list[Payload]:
    """Return the lines of these updates, in their order."""
    lines = [
        to_json_line(one.update, one.run) | ({"view": one.view} if one.view else {})
        for one in updates
    ]
    if any(line.get("event") in _ANSWERS for line in lines):
        # Markdown of a long journal takes longer than a loop with other readers may stand.
        await asyncio.to_thread(_render, lines)
    return lines


def _render(lines: list[Payload]) -> None:
    for line in lines:
        text_of = _ANSWERS.get(line.get("event", ""))
        text = text_of(line["payload"]) if text_of is not None else ""
        if text:
            line |= {"html": to_html(text), "unseen": max(0, len(text) - LONGEST)}
