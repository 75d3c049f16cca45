"""Semantic events of a response: the same at every reading, but for the cuts in the text."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

from heartbit_site.api.routes.events import BEAT
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.doors.openai.response_objects import (
    message,
    message_id,
    read_response,
    response_of,
    text_part,
)
from heartbit_site.doors.runs import texts_of


class _Numbered:
    """Events with their numbers, those after a number alone."""

    def __init__(self, after: int) -> None:
        self._after, self._number = after, -1

    def event(self, kind: str, **content: Any) -> bytes:
        """Return the next event; nothing, if the reader has it."""
        self._number += 1
        if self._number <= self._after:
            return b""
        data = {"type": kind, "sequence_number": self._number, **content}
        return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


async def events_of(
    access: Access,
    run_id: UUID,
    model: str,
    kept: dict[str, Any],
    *,
    after: int = -1,
    heard: int = 0,
) -> AsyncIterator[bytes]:
    """Yield the events of a response until its end, or until it waits for its client.

    Args:
        access: The reader.
        run_id: The run.
        model: Name of the agent.
        kept: What the request has said.
        after: Number of the last event that the reader has.
        heard: Sequence number of the last event of the run before the request.
    """
    make = _Numbered(after).event
    place = {"item_id": message_id(run_id), "output_index": 0, "content_index": 0}
    begun = response_of(run_id, model, kept, None)
    yield make("response.created", response=begun)
    yield make("response.in_progress", response=begun)
    item = message(run_id, "", status="in_progress")
    yield make("response.output_item.added", output_index=0, item=item)
    yield make("response.content_part.added", **place, part=text_part(""))
    said = ""
    texts = texts_of(access, run_id, after=heard)
    async with contextlib.aclosing(texts):
        async for text in texts:
            said += text
            if text:
                yield make("response.output_text.delta", **place, delta=text, logprobs=[])
            else:
                yield BEAT
    response = await orm.read_in_thread(partial(read_response, run_id, model, kept))
    yield make("response.output_text.done", **place, text=said, logprobs=[])
    yield make("response.content_part.done", **place, part=text_part(said))
    ended = message(run_id, said)
    yield make("response.output_item.done", output_index=0, item=ended)
    calls = [one for one in response["output"] if one["type"] == "function_call"]
    for event in _calls(make, calls):
        yield event
    if response["status"] == "completed":
        response["output"] = [ended, *calls]
    status = "failed" if response["status"] == "cancelled" else response["status"]
    yield make(f"response.{status}", response=response)


def _calls(make: Callable[..., bytes], calls: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield the events of calls that the client is to make, each complete at once."""
    for index, call in enumerate(calls, start=1):
        place = {"item_id": call["id"], "output_index": index}
        begun = {**call, "arguments": "", "status": "in_progress"}
        yield make("response.output_item.added", output_index=index, item=begun)
        kind, arguments = "response.function_call_arguments", call["arguments"]
        yield make(f"{kind}.delta", **place, delta=arguments)
        yield make(f"{kind}.done", **place, name=call["name"], arguments=arguments)
        yield make("response.output_item.done", output_index=index, item=call)
