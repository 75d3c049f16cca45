"""Semantic events of a response: the same at every reading, but for the cuts in the text."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
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
from heartbit_site.doors.runs import updates_of
from heartbit_site.doors.spoken import SpokenText


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
    access: Access, run_id: UUID, model: str, kept: dict[str, Any], *, after: int = -1
) -> AsyncIterator[bytes]:
    """Yield the events of a response until its end.

    Args:
        access: The reader.
        run_id: The run.
        model: Name of the agent.
        kept: What the request has said.
        after: Number of the last event that the reader has.
    """
    make = _Numbered(after).event
    place = {"item_id": message_id(run_id), "output_index": 0, "content_index": 0}
    said, begun = SpokenText(run_id), response_of(run_id, model, kept, None)
    yield make("response.created", response=begun)
    yield make("response.in_progress", response=begun)
    item = message(run_id, "", status="in_progress")
    yield make("response.output_item.added", output_index=0, item=item)
    yield make("response.content_part.added", **place, part=text_part(""))
    async with contextlib.aclosing(updates_of(access, run_id)) as news:
        async for updates in news:
            text = "".join(map(said.take, updates))
            if text:
                yield make("response.output_text.delta", **place, delta=text, logprobs=[])
            elif not updates:
                yield BEAT
    response = await orm.read_in_thread(partial(read_response, run_id, model, kept))
    yield make("response.output_text.done", **place, text=said.text, logprobs=[])
    yield make("response.content_part.done", **place, part=text_part(said.text))
    ended = message(run_id, said.text, status="completed")
    yield make("response.output_item.done", output_index=0, item=ended)
    if response["status"] == "completed":
        response["output"] = [ended]
    status = "failed" if response["status"] == "cancelled" else response["status"]
    yield make(f"response.{status}", response=response)
