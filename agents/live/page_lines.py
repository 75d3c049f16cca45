"""Lines of a page's socket: JSON lines with the changed parts of the run's view.

    {"type": "event", ..., "event": "model.answered", "payload": {...}, "html": "<p>...</p>",
     "view": {"run": {...}, "turn 1": {...}}}

``view`` has the changed parts (``agents.live.view``). ``html`` is the model's text, sanitised
(``heartbit_site.base.markdown``), so a page may insert it unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agents.live.tree_view import TreeView, to_json_line
from agents.live.updates import Update
from agents.live.view import RunView
from agents.live.view_parts import Parts
from heartbit_site.base.markdown import LONGEST, to_html

Payload = dict[str, Any]

#: Text of the answer in the payload of each event that holds one.
_ANSWERS: dict[str, Callable[[Payload], str]] = {
    "model.answered": lambda payload: str(payload["message"]["text"]),
    "run.succeeded": lambda payload: str(payload["output"]),
    "run.failed": lambda payload: str(payload["partial"]),
    "run.cancelled": lambda payload: str(payload["partial"]),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """An update that has been applied to a run's view.

    Attributes:
        view: Changed parts of the view; None if the update was already applied.
    """

    update: Update
    run: RunView
    view: Parts | None


def take(tree: TreeView, update: Update) -> Shown:
    """Apply an update to a tree."""
    view = tree.apply(update)
    return Shown(update, tree.runs[update.run_id], view)


async def render_lines(updates: Iterable[Shown]) -> list[Payload]:
    """Return the lines of the updates, in order."""
    lines = [
        to_json_line(one.update, one.run) | ({"view": one.view} if one.view else {})
        for one in updates
    ]
    if any(line.get("event") in _ANSWERS for line in lines):
        # Rendering a long journal would block a loop that serves other readers.
        await asyncio.to_thread(_render, lines)
    return lines


def _render(lines: list[Payload]) -> None:
    for line in lines:
        text_of = _ANSWERS.get(line.get("event", ""))
        text = text_of(line["payload"]) if text_of is not None else ""
        if text:
            line |= {"html": to_html(text), "unseen": max(0, len(text) - LONGEST)}
