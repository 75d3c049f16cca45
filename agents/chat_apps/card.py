"""Cards: what a chat app shows of a wait, the same for each service, with buttons that decide it.

A card shows a call, a question or a result whole, or has no buttons: what is cut is
not decided in a chat. Its texts are a model's: adapters send them as literal text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from django.conf import settings

from agents.approvals.call_summary import summarize_call
from agents.approvals.questions import answer_schema
from agents.delivery.report import one_line
from agents.journal.waits import APPROVAL, BUDGET, QUESTION, REVIEW, kind_of
from agents.models import ToolCall, Wait
from agents.output.text import as_text
from agents.querysets import shown_tool
from agents.reads.questions import WaitQuestion, question_of
from agents.reads.tools import in_tool_order
from heartbit_site.base.visible_text import readable_json, visible
from tools.calls.questions import explained, form_of

#: Longest text of a card; of a longer one the beginning is shown, without buttons.
MOST_CHARACTERS: Final = 8_000
_MOST_OF_LINE: Final = 200
_TOO_LONG: Final = "This is its beginning: it is too long for a chat. Decide it in Heartbit."

Verb = Literal["approve", "deny", "answer", "decline", "changes", "reject", "continue", "stop"]


@dataclass(frozen=True, slots=True)
class Button:
    """A decision that a card offers.

    Attributes:
        prompt: Label of the text that is asked for first; empty: none is.
        needs_text: True if that text may not be empty.
    """

    verb: Verb
    label: str
    prompt: str = ""
    needs_text: bool = False
    tone: Literal["", "good", "bad"] = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A wait as a chat shows it.

    Attributes:
        digest: Digest of what is shown; a decision about another one is refused.
        title: Sentence without text of a model but names.
        text: What is decided: arguments, a question, or a result.
        note: Sentence below the text; empty: none.
        link: URL of the page where everything can be decided.
        closed: How the wait ended, as a sentence; empty: it is open.
    """

    wait_id: int
    title: str
    link: str
    digest: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    note: str = ""
    buttons: tuple[Button, ...] = ()
    closed: str = ""

    def button(self, verb: str) -> Button | None:
        """Return the button of a verb, if the card has it."""
        return next((one for one in self.buttons if one.verb == verb), None)


_CALL: Final = (
    Button("approve", "Approve", tone="good"),
    Button("deny", "Deny", prompt="Reason, which the model reads", tone="bad"),
)
_ANSWER: Final = Button("answer", "Answer", prompt="Answer", needs_text=True, tone="good")
_DECLINE: Final = Button("decline", "Decline", prompt="Reason, which the model reads", tone="bad")
_BUTTONS: Final[dict[str, tuple[Button, ...]]] = {
    REVIEW.name: (
        Button("approve", "Approve", tone="good"),
        Button("changes", "Request changes", prompt="Changes to make", needs_text=True),
        Button("reject", "Reject", prompt="Reason", tone="bad"),
    ),
    BUDGET.name: (
        Button("continue", "Go on", tone="good"),
        Button("stop", "Stop the run", tone="bad"),
    ),
}


def call_of(wait: Wait) -> ToolCall | None:
    """Return the tool call that a wait is about, with its run."""
    rows = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    return rows.filter(run=wait.run_id, call_id=wait.call_id).first() if wait.call_id else None


def card_of(wait: Wait) -> Card:
    """Return the card of a wait, open or not; its run and workspace are read."""
    run, call, kind = wait.run, call_of(wait), kind_of(wait.kind)
    link = f"{settings.HEARTBIT_PUBLIC_URL}/w/{run.workspace.slug}/inbox/"
    agent = visible(run.agent)
    if wait.resolved_at is not None or run.finished_at is not None:
        name = visible(shown_tool(call)) if call is not None else ""
        how = kind.describe(wait.value, name).heading if wait.value else "The run has ended"
        return Card(wait.pk, f"{agent} waited for {kind.waits_for}.", link, closed=f"{how}.")
    facts = {
        "Task": one_line(run.root.task, _MOST_OF_LINE),
        "Started by": one_line(run.root.started_by, _MOST_OF_LINE),
        "Decide by": f"{wait.expires_at:%Y-%m-%d %H:%M} UTC" if wait.expires_at else "",
    }
    if wait.kind == APPROVAL.name and call is not None and call.approval_view is not None:
        return _whole(_of_call(wait, call, agent, link, facts))
    asked = question_of(wait)
    return _whole(_of_question(wait, asked, agent, link, facts))


def _of_call(wait: Wait, call: ToolCall, agent: str, link: str, facts: dict[str, str]) -> Card:
    shown = call.approval_view or {}
    arguments = in_tool_order(call, shown.get("arguments", {}))
    form = answer_schema(call)
    if form is not None:
        text = "\n\n".join(filter(None, [_question(arguments), explained(form)]))
        title, buttons = f"{agent} asks you a question.", (_ANSWER, _DECLINE)
        return Card(wait.pk, title, link, call.digest, facts, visible(text), "", buttons)
    tool = visible(shown_tool(call))
    title = f"{agent} asks before it uses {tool}."
    reason = visible(str(shown.get("reason", "")))
    more = {
        "Reason": reason.removeprefix(title).strip(),
        "Call": summarize_call(call, arguments),
        "Approvals": f"{shown['needed']} people" if shown.get("needed", 1) != 1 else "",
    }
    return Card(
        wait.pk, title, link, call.digest, more | facts, readable_json(arguments), "", _CALL
    )


def _question(arguments: Mapping[str, Any]) -> str:
    """Return a question's text, and its other arguments but the form as JSON."""
    form = form_of(arguments)
    rest = {name: one for name, one in arguments.items() if one not in (None, form)}
    text = rest.pop("question", "")
    return "\n\n".join(filter(None, [str(text), readable_json(rest) if rest else ""]))


def _of_question(
    wait: Wait, asked: WaitQuestion, agent: str, link: str, facts: dict[str, str]
) -> Card:
    text, buttons = asked.text, _BUTTONS.get(wait.kind, ())
    if wait.kind == REVIEW.name:
        text = as_text(asked.form["default"]["result"])
        offered = asked.form["properties"]["decision"]["enum"]
        buttons = tuple(one for one in buttons if one.verb in offered)
    elif wait.kind == QUESTION.name:
        text = "\n\n".join(filter(None, [asked.text, explained(asked.form)]))
        buttons = (_ANSWER, Button("decline", "Decline", tone="bad"))
    title = f"{agent} waits for {kind_of(wait.kind).waits_for}."
    return Card(wait.pk, title, link, _digest(wait, asked), facts, visible(text), "", buttons)


def _digest(wait: Wait, asked: WaitQuestion) -> str:
    content = [str(wait.run_id), wait.key, asked.text, asked.form]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _whole(card: Card) -> Card:
    """Return the card, or its beginning without buttons if it is too long."""
    if len(card.text) <= MOST_CHARACTERS:
        return card
    text = card.text[:MOST_CHARACTERS]
    return Card(card.wait_id, card.title, card.link, card.digest, card.facts, text, _TOO_LONG, ())
