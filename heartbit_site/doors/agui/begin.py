"""Beginning of a stream: a run is started, or continued with what its client brings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction

from agents.actions.client_calls import return_results
from agents.choices import BusyPolicy
from agents.journal.events import WaitResolved
from agents.models import Conversation, Run, RunEvent
from agents.reads.agents import find_agent
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.doors.agui.interrupts import answer_interrupts
from heartbit_site.doors.agui.requests import AgentInput
from heartbit_site.doors.client_tools import check_names, returned
from heartbit_site.doors.messages import chat_of
from heartbit_site.doors.requests import RequestError
from heartbit_site.doors.runs import kept_with, start

#: Namespace of the ids of conversations that are made of the names of threads.
_THREADS = UUID("6a1d6ffc-4b0e-5f0b-9d4e-0b6a4f7c9f53")


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that answers a request.

    Attributes:
        after: Sequence number of the last event that the client has.
        refused: Sentences on answers that were not taken, by the ids of their interrupts.
    """

    access: Access
    run_id: UUID
    after: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)


@transaction.atomic
def begin(access: Access, name: str, body: AgentInput) -> Begun:
    """Start a run, or continue the one whose interrupts or calls the client answers.

    Raises:
        HeartbitError: As ``admit``, ``answer_interrupts`` and ``returned``.
    """
    if not body.resume and not body.results:
        return Begun(access, _start(access, name, body))
    places: list[int] = []
    refused: Mapping[str, str] = {}
    runs: list[Run] = []
    if body.results:
        run, results = returned(access, body.results)
        return_results(run, results, by=starter_of(access))
        runs.append(run)
        if not body.resume:
            places.append(_before(run, results))
    if body.resume:
        answered = answer_interrupts(access, body.resume)
        runs.append(answered.run)
        places.append(answered.after)
        refused = answered.refused
    for run in runs:
        if run.agent != name or kept_with(run.pk).get("thread") != body.thread_id:
            sentence = f"Run {run.pk} does not belong to {name} in this thread."
            raise RequestError(sentence, "threadId")
    if len({run.pk for run in runs}) > 1:
        raise RequestError("The answers and the results are those of two runs.", "resume")
    return Begun(access, runs[0].pk, min(places), refused)


def _before(run: Run, results: Mapping[str, str]) -> int:
    """Return the sequence number of the last event before the results, also if they are old."""
    rows = RunEvent.objects.filter(run=run, type=WaitResolved.type, payload__call_id__in=[*results])
    first = rows.order_by("seq").values_list("seq", flat=True).first()
    return run.last_seq if first is None else first - 1


def _start(access: Access, name: str, body: AgentInput) -> UUID:
    if not body.messages:
        raise RequestError("There is no message to answer.", "messages")
    tools = body.tools or []
    if tools:
        check_names(access, name, tools)
    chat = chat_of(body.messages)
    conversation = _conversation(access, name, body.thread_id, has_history=bool(chat.thread))
    parts = (str(access.workspace.pk), name, body.thread_id, body.run_id)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
    return start(
        access,
        name,
        f"{body.preface}\n\n{chat.task}" if body.preface else chat.task,
        thread=() if conversation is not None else chat.thread,
        conversation=conversation,
        client=_kept(body),
        client_tools=[tool.table() for tool in tools],
        key=InternalKey(f"heartbit:agui:{digest}"),
    )


def _kept(body: AgentInput) -> dict[str, Any]:
    return {"protocol": "ag-ui", "thread": body.thread_id, "run": body.run_id}


def _conversation(
    access: Access, name: str, thread: str, *, has_history: bool
) -> Conversation | None:
    """Return the conversation of a thread; None: it was begun elsewhere, and brings its history."""
    key = uuid5(_THREADS, f"{access.workspace.pk}\0{name}\0{thread}")
    if has_history:
        return Conversation.objects.filter(pk=key).first()
    find_agent(access.workspace, name)
    found, _ = Conversation.objects.get_or_create(
        pk=key,
        defaults={
            "workspace": access.workspace,
            "agent": name,
            "busy_policy": BusyPolicy.REJECT,
        },
    )
    return found
