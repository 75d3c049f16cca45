"""Conversations of a workspace: search, titles, last use, and messages.

A message is a run of the thread (ADR 0006). Its steps are read from the run's journal, as the page
showed them while it streamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left

from agents.journal.events import CallWaiting, ModelAnswered, RunSteered, ToolFinished
from agents.journal.memory_texts import TreeTexts
from agents.models import Conversation, Run, RunEvent, ToolCall
from agents.querysets import find_run, readable, waits_for_people
from agents.reads.hidden_memories import texts_hidden_from
from agents.reads.pictures import pictures_given
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.markdown import to_html
from heartbit_site.base.models import Workspace
from heartbit_site.contract import conversations as contract
from heartbit_site.contract.runs import UsageOut
from heartbit_site.operations.run_views import Costs, costs_of

Step = contract.TextStepOut | contract.CallStepOut | contract.SteerStepOut
OfCall = tuple[UUID, str]  # a run, and the name of one of its calls

_HEADING = 80  # characters
_READ = 400  # characters of the first message that are looked at for one
_LONGEST = 20_000  # characters of one call's arguments or result: the run has all of it
_TASK = 300  # characters of a sub-agent's task
_NO_END: tuple[None, list[str]] = (None, [])
_STEPS = (ModelAnswered.type, RunSteered.type)
_ATTACHED = re.compile(r'<attachment id="[0-9a-f]+" name="([^"\n]*)"')


class ConversationNotFoundError(NotFoundError):
    """There is no conversation with that id in the workspace."""


class MessageNotFoundError(NotFoundError):
    """The run is not a message of the conversation."""


def find_conversation(access: Access, conversation_id: str, *, lock: bool = False) -> Conversation:
    """Return the conversation with that id for a caller.

    Args:
        access: The caller.
        conversation_id: Its whole id.
        lock: Keep it from being deleted until the caller's transaction ends.

    Raises:
        ConversationNotFoundError: The caller may read none with that id.
    """
    rows = Conversation.objects.filter(readable(access))
    return _find_conversation(rows, access.workspace, conversation_id, lock=lock)


def find_any_conversation(workspace: Workspace, conversation_id: str) -> Conversation:
    """Return a conversation as ``find_conversation`` does, also a private one.

    For programs that own the database.

    Raises:
        ConversationNotFoundError: There is none with that id.
    """
    rows = Conversation.objects.all()
    return _find_conversation(rows, workspace, conversation_id, lock=False)


def _find_conversation(
    conversations: QuerySet[Conversation], workspace: Workspace, conversation_id: str, *, lock: bool
) -> Conversation:
    found = None
    try:
        wanted = UUID(conversation_id)
    except ValueError:
        pass
    else:
        rows = conversations.filter(workspace=workspace, pk=wanted)
        found = (rows.select_for_update(no_key=True) if lock else rows).first()
    if found is None:
        raise ConversationNotFoundError(
            f"There is no conversation {conversation_id[:60]} in {workspace.slug}.",
            remedy=Remedy("conversations.create_conversation", "begins one"),
        )
    found.workspace = workspace
    return found


def find_message(access: Access, conversation: Conversation, run_id: str) -> UUID:
    """Return the id of a message: of the run that answers it.

    Raises:
        RunNotFoundError: The workspace has no such run.
        MessageNotFoundError: The run is not a message of the conversation.
    """
    run = find_run(access, run_id)
    if run.conversation_id != conversation.pk:
        raise MessageNotFoundError(f"Run {run.pk} is not a message of this conversation.")
    return run.pk


def with_activity(conversations: QuerySet[Conversation]) -> QuerySet[Any]:
    """Conversations with when they were last used: ``active``, ``active_at``, ``last_status``.

    ``waits_for_person`` is true while one of their runs, or of the sub-agents', does.
    ``active`` is the id of the last run, or their own: both rise with time. ``first_task`` is the
    beginning of what was said first.
    """
    runs = Run.objects.filter(conversation=OuterRef("pk"), parent__isnull=True)
    newest, oldest = runs.order_by("-created_at"), runs.order_by("created_at")
    return conversations.annotate(
        active=Coalesce(Subquery(newest.values("pk")[:1]), "pk"),
        active_at=Coalesce(Subquery(newest.values("created_at")[:1]), "created_at"),
        last_status=Subquery(newest.values("status")[:1]),
        waits_for_person=Exists(
            waits_for_people().filter(run__root__conversation=OuterRef("pk")).order_by()
        ),
        first_task=Subquery(oldest.values(beginning=Left("task", _READ))[:1]),
    )


def heading_of(title: str, first_task: str | None) -> str:
    """Return a conversation's title, or the beginning of its first message."""
    if title:
        return title
    text = first_task or ""
    attached = _ATTACHED.search(text)
    said = text[: attached.start()] if attached else text
    words = " ".join(said.split()) or (attached[1] if attached else "")
    return words if len(words) <= _HEADING else words[: _HEADING - 1].rstrip() + "…"


def messages_of(
    conversation: Conversation, access: Access, *, before: UUID | None, limit: int
) -> tuple[list[contract.MessageOut], UUID | None]:
    """Return the last messages, or those before a run of the thread, the oldest first.

    Returns:
        The messages, and the run before whose message there are more; None if there are none.
    """
    runs = Run.objects.filter(conversation=conversation, parent__isnull=True)
    if before is not None:
        runs = runs.filter(created_at__lt=runs.filter(pk=before).values("created_at")[:1])
    page = list(runs.order_by("-created_at")[: limit + 1])
    more, page = len(page) > limit, page[:limit][::-1]
    trees = _by_root(page)
    costs = costs_of(run for tree in trees.values() for run in tree)
    steps = _steps(trees, access)
    images = pictures_given([run.pk for run in page])
    messages = [
        _message(run, trees[run.pk], costs, steps[run.pk], images.get(run.pk, [])) for run in page
    ]
    return messages, page[0].pk if more else None


def _by_root(page: list[Run]) -> dict[UUID, list[Run]]:
    found: dict[UUID, list[Run]] = {run.pk: [run] for run in page}
    helpers = Run.objects.filter(root__in=found, parent__isnull=False).defer("output", "payload")
    for run in helpers.order_by("created_at", "id"):
        found[run.root_id].append(run)
    return found


def _message(
    run: Run, tree: list[Run], costs: Costs, steps: list[Step], images: list[str]
) -> contract.MessageOut:
    last = steps[-1] if steps else None
    if isinstance(last, contract.TextStepOut) and last.text == run.output:
        steps = steps[:-1]  # it is the answer
    paid = [costs[one.pk] for one in tree]
    known = [one for one in paid if one is not None]
    return contract.MessageOut.of(
        run,
        steps=steps,
        images=images,
        html=to_html(run.output or ""),
        usage=UsageOut(
            input_tokens=sum(one.input_tokens for one in tree),
            output_tokens=sum(one.output_tokens for one in tree),
        ),
        cost_usd=sum(known, Decimal(0)) if len(known) == len(paid) else None,
    )


def _steps(trees: dict[UUID, list[Run]], access: Access) -> dict[UUID, list[Step]]:
    """Return the steps before the answer, by run."""
    calls = _calls(trees, access)
    found: dict[UUID, list[Step]] = {run_id: [] for run_id in trees}
    events = RunEvent.objects.filter(run__in=trees, type__in=_STEPS).order_by("run_id", "seq")
    for event in events:
        steps = found[event.run_id]
        if event.type == RunSteered.type:
            payload = event.payload
            steps.append(
                contract.SteerStepOut(
                    kind="steer", text=payload["text"], by=payload.get("by", ""), at=event.at
                )
            )
            continue
        text = event.payload["message"]["text"]
        if text:
            steps.append(contract.TextStepOut(kind="text", text=text, html=to_html(text)))
        steps += [calls[name] for name in _called(event) if name in calls]
    return found


def _calls(trees: dict[UUID, list[Run]], access: Access) -> dict[OfCall, contract.CallStepOut]:
    ends, helpers = _ends(trees), _helpers(trees)
    found = {}
    texts: dict[UUID, TreeTexts | None] = {}
    for call in ToolCall.objects.filter(run__in=trees):
        name = (call.run_id, call.call_id)
        if call.run_id not in texts:
            texts[call.run_id] = texts_hidden_from(access, call.run_id)
        arguments, result = call.arguments, call.result
        hidden = texts[call.run_id]
        if hidden is not None:
            of_run = hidden.of(call.run_id)
            result = None if result is None else of_run.result(call.tool, arguments, result)
            arguments = of_run.arguments(call.tool, arguments)
        found[name] = contract.CallStepOut.of(
            call,
            kind="call",
            arguments=arguments[:_LONGEST],
            result=None if result is None else result[:_LONGEST],
            duration_ms=ends.get(name, _NO_END)[0],
            images=ends.get(name, _NO_END)[1],
            children=helpers.get(name, []),
        )
    return found


def _ends(ids: Iterable[UUID]) -> dict[OfCall, tuple[int | None, list[str]]]:
    """Return duration in milliseconds, and pictures, of the calls that have ended."""
    finished = RunEvent.objects.filter(run__in=ids, type=ToolFinished.type)
    fields = ("run_id", "payload__call_id", "payload__duration_ms", "payload__images")
    rows = finished.values_list(*fields)
    return {(run_id, call_id): (took, images or []) for run_id, call_id, took, images in rows}


def _helpers(trees: dict[UUID, list[Run]]) -> dict[OfCall, list[contract.ChildRunOut]]:
    """Return the sub-agents that each call waits for, or has waited for."""
    runs = {str(run.pk): run for tree in trees.values() for run in tree}
    waiting = RunEvent.objects.filter(run__in=trees, type=CallWaiting.type)
    rows: Iterable[Any] = waiting.order_by("seq").values_list(
        "run_id", "payload__call_id", "payload__runs"
    )
    found = {}
    for run_id, call_id, ids in rows:
        found[run_id, call_id] = [
            contract.ChildRunOut.of(runs[one], task=runs[one].task[:_TASK])
            for one in ids or ()
            if one in runs
        ]
    return found


def _called(event: RunEvent) -> Iterator[OfCall]:
    """Yield the ids of an answer's calls, ``turn.index``."""
    for index in range(len(event.payload["message"]["tool_calls"])):
        yield event.run_id, f"{event.payload['turn']}.{index}"
