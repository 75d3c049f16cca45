"""A run's page, and the parts of it that the server draws again as the run advances."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agents.choices import TERMINAL, Placement, RunKind, RunStatus
from agents.journal.waits import BUDGET, CHILD
from agents.live.live_run import takes_messages
from agents.live.words import heading
from agents.models import Run, RunEvent
from agents.models.draft import DRAFT
from agents.querysets import find_run
from agents.reads.drawings import drawn
from agents.reads.hidden_memories import split_known
from agents.reads.pictures import pictures_given
from agents.reads.questions import OWNERS
from agents.runtime.files.pictures import split
from agents.workflows.drawing.outline import DrawingTooLargeError
from heartbit_site.base.access import Access
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.long_answers import answer_html
from heartbit_site.base.query import fetch_one
from heartbit_site.base.rights import describe_refusal
from heartbit_site.base.tone import STATUS_TONES, status_word
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from heartbit_site.contract.turns import AssistantMessageOut, Message, UserMessageOut
from heartbit_site.operations import runs, turns, webhooks
from heartbit_site.web.page import asked_action, page, show
from heartbit_site.web.run_facts import below
from heartbit_site.web.run_inspector import as_json, inspected
from memory.history import visible_memories

#: Rows for which the timeline reserves its place before they are known.
MOST_RESERVED = 5
#: Characters of a task that surely fits into its card.
SHORT_TASK = 160
_MORE_THAN_A_ROW = ("tool.finished", "model.answered", "node.finished")
#: Words, class and sign of each way to wait, as ``web/run/waits.js`` has them.
FOR_YOU = ("Waits for you", "warning", "back_hand")
FOR_SUB_AGENTS = ("Waits for sub-agents", "info", "account_tree")
FOR_OTHERS = ("Waits for others", "neutral", "hourglass_top")
#: Phrases for the ends of a model's answer (``agents.llm.messages.FinishReason``).
ENDS: Final = {
    "stop": "a complete answer",
    "tool_calls": "tool calls",
    "length": "the limit of its length",
    "refused": "a refusal",
    "other": "a reason that the provider does not name",
}


@page("runs:read")
def run(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Show one run as it works. A POST releases a run that is held since a restore."""
    if request.method == "POST":
        if not access.allows("runs:write"):
            raise PermissionDenied(describe_refusal(access, "runs:write"))
        asked_action(request, "release")
        with contextlib.suppress(ConflictError):  # another person was faster: the page shows it
            runs.release_run(access, str(run))
        return redirect("web:run", access.workspace.slug, run)
    found = find_run(access, run)
    known, hidden = split_known(access, found)
    learned = found.learned_memories.filter(item__in=visible_memories(access))
    beside = inspected(request, access, found)
    context = {
        **beside,
        "is_test": found.version.agent.origin == DRAFT,
        "answer": answer_html(found.output) if found.output else "",
        "structured": None if found.structured is None else as_json(found.structured),
        "task": visible(found.task),
        "pictures": split(pictures_given([found.pk]).get(found.pk, ())),
        "label": _label(access, found),
        "problem": heading(str((found.error or {}).get("message", ""))),
        "buttons": _buttons(access, found),
        "has_more": len(found.task) > SHORT_TASK,
        "is_live": found.status not in TERMINAL,
        "may_release": _is_held(found) and access.allows("runs:write"),
        "reserved": min(MOST_RESERVED, _rows(found, len([*below(beside["view"])]))),
        "drawing": _drawing(found),
        "known": known,
        "known_hidden": hidden,
        "learned": learned.select_related("item"),
        "follow_up": Run.objects.filter(extraction__source=found).first(),
        "source": Run.objects.filter(follow_up=found.pk).first(),
    }
    return show(request, access, "web/run.html", context, here="runs")


@page("runs:read")
def inspector(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Draw what is beside the answer: figures, artifacts, files, deliveries, shared values.

    A POST sends a delivery again, and shows the run's page.
    """
    if request.method == "POST":
        if not access.allows("runs:write"):
            raise PermissionDenied(describe_refusal(access, "runs:write"))
        try:
            webhooks.redeliver_result(access, request.POST.get("delivery", ""))
        except ConflictError as error:
            return problem_part(request, error)
        return redirect("web:run", access.workspace.slug, run)
    found = find_run(access, run)
    return render(request, "web/run/inspector.html", inspected(request, access, found))


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a request, with hidden characters made visible.

    Attributes:
        calls: Name and arguments of each call.
    """

    who: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    is_bad: bool = False


@page("runs:read")
def turn(request: HttpRequest, access: Access, run: UUID, turn: int) -> HttpResponse:
    """Draw what the model was sent at a turn."""
    try:
        found = turns.show_turn(access, str(run), turn)
    except ConflictError as error:
        return problem_part(request, error)
    messages = [ShownMessage("System", found.request.system), *map(_said, found.request.messages)]
    tools = [
        (tool.name, visible(tool.description), as_json(tool.parameters))
        for tool in found.request.tools
    ]
    context = {
        "turn": found,
        "messages": messages,
        "tools": tools,
        "longest": f"{found.request.max_tokens:,}",
        "ended": ENDS[found.answer.finish_reason],
    }
    return render(request, "web/run/turn.html", context)


@page("runs:read")
def drawing(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Draw the graph of a workflow's run, as SVG; empty for a run of another kind."""
    try:
        svg = drawn(find_run(access, run).version.snapshot)
    except DrawingTooLargeError as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(svg, content_type="image/svg+xml; charset=utf-8")


def problem_part(request: HttpRequest, error: ConflictError) -> HttpResponse:
    """Say why something cannot be done with a run in its state."""
    return render(request, "web/run/problem.html", {"problem": str(error)}, status=409)


def _said(one: Message) -> ShownMessage:
    match one:
        case UserMessageOut(text=text):
            return ShownMessage("User", visible(text))
        case AssistantMessageOut(text=text):
            made = [(visible(c.name), visible(_pretty(c.arguments))) for c in one.tool_calls]
            return ShownMessage("Model", visible(text), tuple(made))
        case _:
            who = f"Result of {visible(one.name)}{', an error' if one.is_error else ''}"
            return ShownMessage(who, visible(one.content), (), one.is_error)


def _drawing(run: Run) -> str:
    """Return the drawing of a workflow's graph; empty if there is none, or it is too large."""
    if run.kind != RunKind.WORKFLOW:
        return ""
    with contextlib.suppress(DrawingTooLargeError):
        return drawn(run.version.snapshot)
    return ""


def _label(access: Access, run: Run) -> tuple[str, str, str]:
    """Return words, class and sign of a run's status."""
    if run.status != RunStatus.WAITING:
        return status_word(run.status), STATUS_TONES.get(run.status, "neutral"), ""
    waits = run.waits.filter(resolved_at__isnull=True)
    kinds = dict(waits.values_list("kind", "asks_person"))
    if asking := {kind for kind, asks_person in kinds.items() if asks_person}:
        scope = OWNERS if asking == {BUDGET.name} else "approvals:decide"
        return FOR_YOU if access.allows(scope) else FOR_OTHERS
    return FOR_SUB_AGENTS if CHILD.name in kinds else FOR_OTHERS


def _buttons(access: Access, run: Run) -> list[tuple[str, str]]:
    """Return icon and text of the buttons that the page's script will offer, in its order."""
    if not access.allows("runs:write"):
        return []
    is_over, is_held = run.status in TERMINAL, run.status == RunStatus.QUARANTINED
    (is_reviewed,) = fetch_one("SELECT heartbit_is_reviewed(%s)", [run.pk])
    is_held_back = run.cancel_requested or is_reviewed
    begins = access.allows("agents:write") or run.version.agent.origin != DRAFT
    takes = takes_messages(run.kind, is_over=is_over, is_held_back=is_held_back)
    found = [
        (begins and takes, "chat", "Send it a message"),
        (is_held, "play_circle", "Resume it"),
        (is_held, "delete", "Discard it"),
        (begins and is_over, "replay", "Retry"),
        (begins, "fork_right", "Fork"),
        (not is_over, "stop_circle", "Cancel"),
    ]
    return [(icon, text) for is_offered, icon, text in found if is_offered]


def _is_held(run: Run) -> bool:
    return run.home == Placement.RESTORED and run.status not in TERMINAL


def _rows(run: Run, runs: int) -> int:
    """Return how many rows the timeline will have: runs, or the steps of a run without others."""
    if runs > 1:
        return runs
    return 2 + RunEvent.objects.filter(run=run, type__in=_MORE_THAN_A_ROW).count()


def _pretty(text: str) -> str:
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError:
        return text
    return (
        json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, dict | list) else text
    )
