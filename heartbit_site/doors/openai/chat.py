"""``POST /v1/chat/completions``: a chat's last message as the task of a durable run.

A run that calls a tool of the client waits for it; the next request brings the result and
continues the run.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from agents.actions.client_calls import return_results
from agents.models import Run
from agents.reads.outcome import Outcome, read_outcome
from heartbit_site.api.routes.events import BEAT
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.base.pictures import Picture
from heartbit_site.contract.operation import PendingAnswer
from heartbit_site.doors.client_tools import ClientCall, calls_of, check_names, returned
from heartbit_site.doors.messages import chat_of
from heartbit_site.doors.openai.chat_requests import CompletionRequest
from heartbit_site.doors.openai.completions import (
    chunk,
    completion,
    finish_reason,
    tool_calls,
    usage_of,
)
from heartbit_site.doors.openai.door import Opened, door
from heartbit_site.doors.openai.errors import error_body
from heartbit_site.doors.openai.repeats import key_of
from heartbit_site.doors.requests import read_request
from heartbit_site.doors.runs import (
    carry_out,
    created_at,
    ended,
    start,
    streamed,
    texts_of,
    whole_text,
    with_pictures,
)


@dataclass(frozen=True, slots=True)
class _Chat:
    """A run that answers a request.

    Attributes:
        after: Sequence number of the last event before the request.
        has_tools: True if the client has tools of its own, which the run may wait for.
    """

    access: Access
    run_id: UUID
    model: str
    after: int
    has_tools: bool

    async def end(self) -> tuple[Outcome, list[ClientCall]]:
        """Return the run's outcome, and the calls that it waits for."""
        return await orm.read_in_thread(self._end)

    def _end(self) -> tuple[Outcome, list[ClientCall]]:
        calls = calls_of(Run(pk=self.run_id)) if self.has_tools else []
        return read_outcome(self.run_id), calls


@door("POST", "runs:write", "runs:read")
async def chat_completions(request: HttpRequest, opened: Opened) -> HttpResponseBase:
    """Run an agent, and return what it says at the end, or while it says it."""
    body, chat = await carry_out(lambda: _begin(request, opened()))
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        return streamed(_chunks(chat, with_usage=with_usage))
    text, calls = "", list[ClientCall]()
    if chat.has_tools:
        text = await whole_text(chat.access, chat.run_id, after=chat.after)
        outcome, calls = await chat.end()
    else:
        outcome = await ended(chat.access, chat.run_id)
    if not calls and (outcome.result is None or outcome.status != "succeeded"):
        status, content = _failure(chat.run_id, outcome)
        return JsonResponse(content, status=status, headers={"x-should-retry": "false"})
    made = created_at(chat.run_id)
    return JsonResponse(completion(chat.run_id, body.model, made, outcome.result, calls, text))


Begun = tuple[CompletionRequest, _Chat]


def _begin(request: HttpRequest, access: Access) -> Begun | PendingAnswer[Begun]:
    """Start a run, or continue the one whose calls the client has made."""
    body = read_request(CompletionRequest, request.body)
    results, tools = body.results, body.client_tools
    if results:
        run, found = returned(access, results)
        return_results(run, found, by=starter_of(access))
        return body, _Chat(access, run.pk, body.model, run.last_seq, has_tools=True)
    if tools:
        check_names(access, body.model, tools)
    chat = chat_of(body.messages, has_images=True)
    form = body.response_format

    def begin(pictures: Sequence[Picture]) -> Begun:
        run_id = start(
            access,
            body.model,
            chat.task,
            thread=chat.thread,
            pictures=pictures,
            schema=form.json_schema.schema_ if form is not None and form.json_schema else None,
            client_tools=[tool.table() for tool in tools],
            key=key_of(request, access),
        )
        return body, _Chat(access, run_id, body.model, 0, has_tools=bool(tools))

    return with_pictures(access, body.model, chat.thread, chat.images, begin)


def _failure(run_id: UUID, outcome: Outcome) -> tuple[int, Any]:
    """Return the status and the body for a run without a completion."""
    if outcome.result is None:
        sentence = f"The run {run_id} still waits; it goes on without this request."
        return 504, error_body(504, "not_ended", sentence)
    status = 409 if outcome.status == "cancelled" else 500
    return status, error_body(status, f"run_{outcome.status}", str(outcome.result.error))


async def _chunks(chat: _Chat, *, with_usage: bool) -> AsyncIterator[bytes]:
    make = partial(chunk, chat.run_id, chat.model, created_at(chat.run_id))
    yield _event(make({"role": "assistant", "content": ""}))
    texts = texts_of(chat.access, chat.run_id, after=chat.after)
    async with contextlib.aclosing(texts):
        async for text in texts:
            yield _event(make({"content": text})) if text else BEAT
    outcome, calls = await chat.end()
    result = outcome.result
    if calls:
        yield _event(make({"tool_calls": tool_calls(calls)}))
        yield _event(make({}, "tool_calls"))
    elif result is None or outcome.status != "succeeded":
        yield _event(_failure(chat.run_id, outcome)[1])
        return
    else:
        yield _event(make({}, finish_reason(result)))
    if with_usage and result is not None:
        yield _event({**make({}), "choices": [], "usage": usage_of(result)})
    yield b"data: [DONE]\n\n"


def _event(content: Any) -> bytes:
    return f"data: {json.dumps(content, separators=(',', ':'))}\n\n".encode()
