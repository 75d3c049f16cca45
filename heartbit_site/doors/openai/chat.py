"""``POST /v1/chat/completions``: a chat's last message as the task of a durable run."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest
from agents.live import valkey_ends
from agents.live.watchers import watch
from agents.output.results import ResultOut
from agents.reads.hidden_memories import texts_hidden_from
from agents.reads.outcome import Outcome, read_outcome
from heartbit_site.api.routes.events import BEAT, BEAT_SECONDS, with_silences
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.doors.openai.chat_messages import task_of
from heartbit_site.doors.openai.completions import chunk, completion, finish_reason, usage_of
from heartbit_site.doors.openai.door import door
from heartbit_site.doors.openai.errors import RequestError, error_body
from heartbit_site.doors.openai.requests import ChatRequest, read_request
from heartbit_site.doors.spoken import SpokenText

#: Time after which a request that waits for people gives up; the run does not.
LONGEST_SECONDS: Final = 3_600


@door("POST", "runs:write", "runs:read")
async def chat_completions(request: HttpRequest, access: Access) -> HttpResponseBase:
    """Run an agent, and return what it says at the end or while it says it."""
    body = read_request(ChatRequest, request.body)
    key = request.headers.get("Idempotency-Key") or None
    run_id, created = await orm.run_in_thread(partial(_start, access, body, key))
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        return _streamed(_chunks(access, run_id, body.model, created, with_usage=with_usage))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            await valkey_ends.shared().result(run_id)
    outcome = await orm.read_in_thread(partial(read_outcome, run_id))
    failed = _failure(run_id, outcome)
    if failed is not None:
        status, content = failed
        return JsonResponse(content, status=status, headers={"x-should-retry": "false"})
    return JsonResponse(completion(run_id, body.model, created, _result(outcome)))


def _start(access: Access, body: ChatRequest, key: str | None) -> tuple[UUID, int]:
    if body.tools:
        raise RequestError(
            "Tools of a client are not taken: the agent calls those of its definition.", "tools"
        )
    task, thread = task_of(body.messages)
    form = body.response_format
    schema = form.json_schema.schema_ if form is not None and form.json_schema else None
    request = RunRequest(
        access.workspace,
        task,
        agent=body.model,
        thread=thread,
        response_schema=schema,
        idempotency_key=key,
        by=starter_of(access),
    )
    run_id = admit(request).run_id
    return run_id, _seconds(run_id)


def _seconds(run_id: UUID) -> int:
    """Return the time of a run's creation, which its id begins with (RFC 9562), in seconds."""
    return (run_id.int >> 80) // 1_000


def _result(outcome: Outcome) -> ResultOut:
    if outcome.result is None:
        raise ValueError("a run that has not ended has no result")
    return outcome.result


def _failure(run_id: UUID, outcome: Outcome) -> tuple[int, Any] | None:
    """Return the status and the body for a run without a completion; None: it has one."""
    if outcome.result is None:
        return 504, error_body(
            504, "not_ended", f"The run {run_id} still waits; it goes on without this request."
        )
    if outcome.status == "succeeded":
        return None
    status = 409 if outcome.status == "cancelled" else 500
    return status, error_body(status, f"run_{outcome.status}", str(outcome.result.error))


async def _chunks(
    access: Access, run_id: UUID, model: str, created: int, *, with_usage: bool
) -> AsyncIterator[bytes]:
    said = SpokenText(run_id)
    make = partial(chunk, run_id, model, created)
    yield _event(make({"role": "assistant", "content": ""}))
    hidden = partial(texts_hidden_from, access, run_id)
    updates = with_silences(watch(run_id, hidden=hidden), BEAT_SECONDS)
    async with contextlib.aclosing(updates) as news:
        async for batch in news:
            if batch is None:
                yield BEAT
                continue
            text = "".join(map(said.take, batch.updates))
            if text:
                yield _event(make({"content": text}))
    outcome = await orm.read_in_thread(partial(read_outcome, run_id))
    failed = _failure(run_id, outcome)
    if failed is not None:
        yield _event(failed[1])
        return
    result = _result(outcome)
    yield _event(make({}, finish_reason(result)))
    if with_usage:
        yield _event({**make({}), "choices": [], "usage": usage_of(result)})
    yield b"data: [DONE]\n\n"


def _event(content: Any) -> bytes:
    return f"data: {json.dumps(content, separators=(',', ':'))}\n\n".encode()


def _streamed(chunks: AsyncIterator[bytes]) -> StreamingHttpResponse:
    response = StreamingHttpResponse(chunks, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold it back
    return response
