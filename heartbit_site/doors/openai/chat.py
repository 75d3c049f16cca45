"""``POST /v1/chat/completions``: a chat's last message as the task of a durable run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from agents.output.results import ResultOut
from agents.reads.outcome import Outcome, read_outcome
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.api.routes.events import BEAT
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.doors.openai.chat_messages import task_of
from heartbit_site.doors.openai.completions import chunk, completion, finish_reason, usage_of
from heartbit_site.doors.openai.door import door
from heartbit_site.doors.openai.errors import error_body
from heartbit_site.doors.openai.repeats import key_of
from heartbit_site.doors.openai.requests import ChatRequest, read_request, refuse_tools
from heartbit_site.doors.runs import created_at, ended, start, streamed, updates_of
from heartbit_site.doors.spoken import SpokenText


@door("POST", "runs:write", "runs:read")
async def chat_completions(request: HttpRequest, access: Access) -> HttpResponseBase:
    """Run an agent, and return what it says at the end, or while it says it."""
    body = read_request(ChatRequest, request.body)
    run_id = await orm.run_in_thread(lambda: _start(access, body, key_of(request, access)))
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        return streamed(_chunks(access, run_id, body.model, with_usage=with_usage))
    outcome = await ended(run_id)
    if outcome.result is None or outcome.status != "succeeded":
        status, content = _failure(run_id, outcome)
        return JsonResponse(content, status=status, headers={"x-should-retry": "false"})
    return JsonResponse(completion(run_id, body.model, created_at(run_id), outcome.result))


def _start(access: Access, body: ChatRequest, key: str | InternalKey) -> UUID:
    refuse_tools(body.tools)
    task, thread = task_of(body.messages)
    form = body.response_format
    schema = form.json_schema.schema_ if form is not None and form.json_schema else None
    return start(access, body.model, task, thread=thread, schema=schema, key=key)


def _failure(run_id: UUID, outcome: Outcome) -> tuple[int, Any]:
    """Return the status and the body for a run without a completion."""
    if outcome.result is None:
        sentence = f"The run {run_id} still waits; it goes on without this request."
        return 504, error_body(504, "not_ended", sentence)
    status = 409 if outcome.status == "cancelled" else 500
    return status, error_body(status, f"run_{outcome.status}", str(outcome.result.error))


async def _chunks(
    access: Access, run_id: UUID, model: str, *, with_usage: bool
) -> AsyncIterator[bytes]:
    said = SpokenText(run_id)
    make = partial(chunk, run_id, model, created_at(run_id))
    yield _event(make({"role": "assistant", "content": ""}))
    async with contextlib.aclosing(updates_of(access, run_id)) as news:
        async for updates in news:
            text = "".join(map(said.take, updates))
            if text:
                yield _event(make({"content": text}))
            elif not updates:
                yield BEAT
    outcome = await orm.read_in_thread(partial(read_outcome, run_id))
    if outcome.result is None or outcome.status != "succeeded":
        yield _event(_failure(run_id, outcome)[1])
        return
    for last in _last(make, outcome.result, with_usage=with_usage):
        yield _event(last)
    yield b"data: [DONE]\n\n"


def _last(make: Any, result: ResultOut, *, with_usage: bool) -> list[dict[str, Any]]:
    """Return the chunks after the text."""
    found = [make({}, finish_reason(result))]
    usage = {**make({}), "choices": [], "usage": usage_of(result)}
    return [*found, usage] if with_usage else found


def _event(content: Any) -> bytes:
    return f"data: {json.dumps(content, separators=(',', ':'))}\n\n".encode()
