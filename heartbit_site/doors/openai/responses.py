"""``/v1/responses``: a response is a durable run, and a chain of them a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from agents.actions.client_calls import return_results
from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run
from agents.models import Conversation, Run, RunEvent
from agents.querysets import readable
from agents.runs.idempotency_keys import InternalKey, stored_key
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, starter_of
from heartbit_site.base.pictures import Picture
from heartbit_site.contract.operation import PendingAnswer
from heartbit_site.doors.client_tools import check_names, returned
from heartbit_site.doors.messages import Chat, chat_of
from heartbit_site.doors.openai.door import Opened, door
from heartbit_site.doors.openai.repeats import key_of
from heartbit_site.doors.openai.response_events import events_of
from heartbit_site.doors.openai.response_objects import (
    find_response,
    read_response,
    response_id,
)
from heartbit_site.doors.openai.response_requests import ResponseRequest
from heartbit_site.doors.requests import RequestError, read_request
from heartbit_site.doors.runs import (
    carry_out,
    ended,
    kept_with,
    start,
    streamed,
    whole_text,
    with_pictures,
)

#: The caller, the request, its run, what the request has said, and the sequence number of the
#: run's last event before.
Begun = tuple[Access, ResponseRequest, UUID, dict[str, Any], int]


@door("POST", "runs:write", "runs:read")
async def create_response(request: HttpRequest, opened: Opened) -> HttpResponseBase:
    """Run an agent; return the response at its end, at once, or as events."""

    def begin() -> Begun | PendingAnswer[Begun]:
        return _begin(request, opened(), read_request(ResponseRequest, request.body))

    access, body, run_id, kept, heard = await carry_out(begin)
    if body.stream:
        return streamed(events_of(access, run_id, body.model, kept, heard=heard))
    if not body.background and (body.tools or heard):
        await whole_text(access, run_id, after=heard)  # it may wait for its client
    elif not body.background:
        await ended(access, run_id)
    return JsonResponse(await orm.read_in_thread(partial(read_response, run_id, body.model, kept)))


@door("GET", "runs:read")
async def retrieve_response(request: HttpRequest, opened: Opened, name: str) -> HttpResponseBase:
    """Return a response as it is now, or its events after a number."""
    access, run, kept = await orm.run_in_thread(lambda: _found(opened(), name))
    if request.GET.get("stream") == "true":
        text = request.GET.get("starting_after") or "-1"
        if not text.removeprefix("-").isdecimal() or len(text) > 9:
            raise RequestError("starting_after must be a sequence number.", "starting_after")
        return streamed(events_of(access, run.pk, run.agent, kept, after=int(text)))
    return JsonResponse(await orm.read_in_thread(partial(read_response, run.pk, run.agent, kept)))


@door("POST", "runs:write")
async def cancel_response(request: HttpRequest, opened: Opened, name: str) -> HttpResponseBase:
    """Cancel a response, whose run ends within a second; an ended one is unchanged."""

    def cancel() -> tuple[Access, Run, dict[str, Any]]:
        access, run, kept = _found(opened(), name)
        by = actor_of(access)
        cancel_run(access.workspace, run.pk, reason=f"cancelled by {by.name}", by=by)
        return access, run, kept

    access, run, kept = await orm.run_in_thread(cancel)
    await ended(access, run.pk)
    return JsonResponse(await orm.read_in_thread(partial(read_response, run.pk, run.agent, kept)))


def _found(access: Access, name: str) -> tuple[Access, Run, dict[str, Any]]:
    run = find_response(access, name)
    return access, run, kept_with(run.pk)


def _begin(
    request: HttpRequest, access: Access, body: ResponseRequest
) -> Begun | PendingAnswer[Begun]:
    """Start a run, or continue the one whose calls the client has made."""
    if results := body.results:
        run, found = returned(access, results)
        return_results(run, found, by=starter_of(access))
        return access, body, run.pk, kept_with(run.pk), run.last_seq
    tools = body.tools or []
    if tools:
        check_names(access, body.model, tools)
    key = key_of(request, access)
    chat = chat_of(body.messages(), place="input", has_images=True)

    def begin(pictures: Sequence[Picture]) -> Begun:
        return access, body, *_start(access, body, key, chat, pictures), 0

    return with_pictures(access, body.model, chat.thread, chat.images, begin)


def _start(
    access: Access,
    body: ResponseRequest,
    key: str | InternalKey,
    chat: Chat,
    pictures: Sequence[Picture],
) -> tuple[UUID, dict[str, Any]]:
    thread = chat.thread
    before, conversation = None, None
    if body.previous_response_id is not None:
        before = find_response(access, body.previous_response_id)
        conversation = _continued(before)
        if conversation is None or thread:
            thread, conversation = [*_thread_of(before), *thread], None
    elif body.store and not thread:
        conversation = _begun(access, stored_key(key)) or start_conversation(
            access.workspace, agent=body.model, by=starter_of(access)
        )
    form = body.text.format if body.text is not None else None
    kept: dict[str, Any] = {
        "background": body.background,
        "store": body.store,
        "metadata": body.metadata or {},
        "previous_response_id": None if before is None else response_id(before.pk),
        "format": None if form is None else form.model_dump(by_alias=True, exclude_none=True),
    }
    run_id = start(
        access,
        body.model,
        chat.task,
        thread=thread,
        pictures=pictures,
        conversation=conversation,
        schema=None if form is None else form.schema_,
        client=kept,
        client_tools=[tool.table() for tool in body.tools or ()],
        key=key,
    )
    return run_id, kept


def _begun(access: Access, key: str | None) -> Conversation | None:
    """Return the conversation that an earlier try of the request has begun."""
    runs = Run.objects.filter(readable(access), workspace=access.workspace, idempotency_key=key)
    found = runs.select_related("conversation").first()
    return None if found is None else found.conversation


def _continued(before: Run) -> Conversation | None:
    """Return the conversation of a run if it was the last one; None: this is a branch."""
    if before.conversation_id is None:
        return None
    later = Run.objects.filter(conversation=before.conversation_id, pk__gt=before.pk)
    return None if later.exists() else before.conversation


def _thread_of(run: Run) -> list[dict[str, Any]]:
    """Return what was said up to the end of a run, as runs of a thread."""
    opening = RunEvent.objects.filter(run=run, seq=1)  # none after its retention
    sent = opening.values_list("payload__thread", flat=True).first() or []
    runs = [run]
    if run.conversation_id is not None:
        earlier = Run.objects.filter(
            conversation=run.conversation_id, pk__lt=run.pk, finished_at__isnull=False
        )
        runs = [*earlier.order_by("pk"), run]
    return [*sent, *({"task": one.task, "output": one.output, "steers": []} for one in runs)]
