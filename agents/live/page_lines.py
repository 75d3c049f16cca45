"""Lines of a page's socket: JSON lines with the changed parts of the run's view.

    {"type": "event", ..., "event": "model.answered", "payload": {...}, "html": "<p>...</p>",
     "view": {"run": {...}, "turn 1": {...}}}

``view`` has the changed parts (``agents.live.view``). ``html`` is the model's text, sanitised
(``heartbit_site.base.markdown``), so a page may insert it unchanged; ``shown`` is an answer folded
if it is long. The last piece of a text that is being written has its blocks:
``"blocks": {"from": 2, "html": ["<p>...</p>", ...]}`` replace those from the third on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from agents.live.tree_view import TreeView, to_json_line
from agents.live.updates import Update
from agents.live.view import RunView
from agents.live.view_parts import Parts
from heartbit_site.base.growing_markdown import GrowingMarkdown
from heartbit_site.base.long_answers import answer_html
from heartbit_site.base.markdown import LONGEST, to_html

Payload = dict[str, Any]

#: Text of the answer in the payload of each event that holds one.
_ANSWERS: dict[str, Callable[[Payload], str]] = {
    "model.answered": lambda payload: str(payload["message"]["text"]),
    "run.succeeded": lambda payload: str(payload["output"]),
    "run.failed": lambda payload: str(payload["partial"]),
    "run.cancelled": lambda payload: str(payload["partial"]),
}

#: Events of an end, whose text is the run's answer.
ENDINGS: Final = frozenset(_ANSWERS) - {"model.answered"}


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


async def render_lines(updates: Sequence[Shown]) -> list[Payload]:
    """Return the lines of the updates, in order."""
    lines = [
        to_json_line(one.update, one.run) | ({"view": one.view} if one.view else {})
        for one in updates
    ]
    pieces = _last_pieces(lines, [one.run for one in updates])
    if pieces or any(line.get("event") in _ANSWERS for line in lines):
        # Rendering a long journal would block a loop that serves other readers.
        await asyncio.to_thread(_render, lines, pieces)
    return lines


@dataclass(slots=True)
class _Piece:
    """The last piece of a text in a batch.

    Attributes:
        since: Length of the text before the first piece of the batch, in UTF-16 units.
    """

    line: Payload
    text: str
    blocks: GrowingMarkdown
    since: int


def _last_pieces(lines: list[Payload], runs: list[RunView]) -> list[_Piece]:
    found: dict[tuple[UUID, int, int], _Piece] = {}
    for line, run in zip(lines, runs, strict=True):
        if line["type"] != "delta" or line["kind"] != "text" or "view" not in line:
            continue
        written = run.writing
        place = (run.run_id, line["turn"], line["attempt"])
        if place[1:] != (written.turn, written.attempt):
            continue  # a newer attempt has begun, and its pieces follow
        at = line["view"]["at"]
        since = min(at, found[place].since) if place in found else at
        found[place] = _Piece(line, written.text, written.blocks, since)
    return list(found.values())


def _render(lines: list[Payload], pieces: list[_Piece]) -> None:
    for piece in pieces:
        piece.blocks.take(piece.text)
        kept, html = piece.blocks.since(piece.since)
        piece.line["blocks"] = {"from": kept, "html": html}
    for line in lines:
        text_of = _ANSWERS.get(line.get("event", ""))
        text = text_of(line["payload"]) if text_of is not None else ""
        if text:
            line |= {"html": to_html(text), "unseen": max(0, len(text) - LONGEST)}
            if line["event"] in ENDINGS:
                line["shown"] = answer_html(text)
