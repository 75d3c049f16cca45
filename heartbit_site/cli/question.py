"""Text of a call for the person who decides. Pure.

No text of a model begins a line: it stands right of a margin, wrapped here and not by the terminal,
so that it cannot pretend to be Heartbit's own words.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from heartbit_site.base import visible_text
from heartbit_site.base.effect_text import EFFECT_TEXT, UNCERTAIN_CALL
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.escape import visible
from heartbit_site.cli.kinds import form_of, kind_of
from heartbit_site.contract.approvals import ApprovalOut
from tools.answer_form import are_numbered, explained, without_form

if TYPE_CHECKING:
    from heartbit_site.cli.kinds import WaitingCall

MARGIN: Final = "  | "
NARROWEST: Final = 20
WIDEST: Final = 110
ASKED: Final = "question"  # the argument that a question's text is in


def question(call: WaitingCall, width: int) -> list[str]:
    """Return the lines above the prompt: asker, request, reason and all arguments.

    Of a question: its text, the other arguments if there are any, and what the answer has to be.
    """
    effect = (
        f"{call.effect}: {EFFECT_TEXT[call.effect]}" if call.effect in EFFECT_TEXT else call.effect
    )
    facts = (
        ("agent", visible(call.agent)),
        ("tool", visible(call.tool)),
        ("effect", effect),
        ("why", visible(call.reason if isinstance(call, ApprovalOut) else UNCERTAIN_CALL)),
        ("call", f"{call.call_id} of run {call.run_id}"),
    )
    lines = ["", kind_of(call).title]
    for title, text in facts:
        first, *rest = wrap(text, width - 14) or [""]
        lines.append(f"  {title:<10}  {first}".rstrip())
        lines += [f"{'':14}{line}" for line in rest]
    for title, text in _texts(call):
        lines += [f"  {title}", *margined(text, width)]
    return lines


def _texts(call: WaitingCall) -> list[tuple[str, str]]:
    """Return the texts beside the margin, each below its title."""
    form = form_of(call)
    if form is None:
        return [("arguments", readable_json(call.arguments))]
    rest = without_form(call.arguments)
    found: list[tuple[str, str]] = []
    if isinstance(asked := rest.get(ASKED), str):
        found.append(("question", _plain(asked)))
        del rest[ASKED]
    if rest:
        found.append(("arguments", readable_json(rest)))
    wanted = explained(form, numbered=are_numbered(form))
    return [*found, ("answer", _plain(wanted))] if wanted else found


def _plain(text: str) -> str:
    """Return a text of several lines with everything hidden in it shown, at its real width."""
    return visible_text.visible(text.expandtabs(4))


def text_width() -> int:
    """Return how wide a text is printed."""
    return min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)


def margined(text: str, width: int) -> list[str]:
    """Return the text's lines beside the margin, none wider than the terminal."""
    room = width - len(MARGIN) - 1
    return [MARGIN + piece for line in text.split("\n") for piece in wrap(line, room) or [""]]


def wrap(text: str, width: int) -> list[str]:
    """Return the text in pieces of at most `width` cells; white space is kept, for it is shown."""
    width = max(NARROWEST, width)
    pieces: list[str] = []
    piece, used = "", 0
    for letter in text:
        cells = cell_len(letter)
        if used + cells > width:
            pieces.append(piece)
            piece, used = "", 0
        piece += letter
        used += cells
    return [*pieces, piece] if piece else pieces
