"""Text of a call for the person who decides. Pure."""

from __future__ import annotations

from typing import Final

from heartbit_site.base import visible_text
from heartbit_site.base.effect_text import EFFECT_TEXT, UNCERTAIN_CALL
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.approvals.kinds import WaitingCall, form_of, kind_of
from heartbit_site.cli.terminal.escape import visible
from heartbit_site.cli.terminal.margin import margined, wrap
from heartbit_site.contract.approvals import ApprovalOut
from tools.calls.questions import are_numbered, explained, without_form

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
