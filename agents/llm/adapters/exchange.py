"""Request with a streamed answer over the shared client: time limits, size limit, clean-up.

This module never retries: a wrapper around the model does, by the run's policy.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from agents.llm.adapters.endpoint import DEFAULT_TIMEOUTS, Clock, Endpoint, Timeouts
from agents.llm.adapters.failures import body_error, broken, status_error
from agents.llm.adapters.posting import BROKEN, Answer, NoAddressError, post
from agents.llm.adapters.sse import EventSplitter, SentEvent
from agents.llm.errors import (
    AnswerTooLargeError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    StreamTruncatedError,
)
from agents.llm.messages import ChatRequest, Completion, StreamEvent
from heartbit_site.base.json_values import MAX_VALUES, has_too_many

MAX_CALLS = 10_000  # tool calls of one answer; a turn serves 64
_SETTLE_SECONDS = 0.1
_ERROR_BODY_BYTES = 64 * 1024
_ERROR_BODY_SECONDS = 5.0
# Plain bytes, because a compressed stream could expand beyond the size limit.
_HEADERS = {
    "accept": "text/event-stream",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": "heartbit",
}
_OK = 200


class Decoder(Protocol):
    """Decoder of one stream's events; each request needs a new one."""

    @property
    def done(self) -> bool:
        """True once the stream's final event was received."""
        ...

    @property
    def whole(self) -> bool:
        """True once the reason for the answer's end was received, which makes it whole."""
        ...

    def feed(self, event: SentEvent) -> Iterable[StreamEvent]:
        """Decode one event and return its deltas.

        Raises:
            ModelError: The event is an error, or malformed.
        """
        ...

    def finish(self) -> Completion:
        """Return the whole answer.

        Raises:
            StreamTruncatedError: The stream ended too early.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Shared settings of all requests to one endpoint."""

    client: httpx.AsyncClient
    endpoint: Endpoint
    headers: Mapping[str, str] = field(repr=False)
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    max_bytes: int = 8 * 1024 * 1024

    async def stream(
        self, body: dict[str, Any], decoder: Decoder, request: ChatRequest
    ) -> AsyncGenerator[StreamEvent, None]:
        """Post ``body`` and yield the decoder's deltas and, last, its completion.

        Args:
            body: Request in the endpoint's format.
            decoder: Decoder of the answer.
            request: Request, for its ``ready`` and its time limit.

        Raises:
            ModelError: See ``ChatModel.stream``.
        """
        await request.ready()
        clock = Clock(self.endpoint, self.timeouts, request.timeout_seconds)
        answer = await self._send(body, clock)
        try:
            await self._check(answer)
            splitter, received, done = EventSplitter(), 0, False
            while not done and (chunk := await self._next(answer, clock, decoder)) is not None:
                received += len(chunk)
                if received > self.max_bytes:
                    raise AnswerTooLargeError(
                        f"{self.endpoint.label} sent more than {self.max_bytes} bytes for one "
                        "answer, which is the limit; ask for less or lower max_tokens."
                    )
                for event in splitter.feed(chunk):
                    self._check_event(event)
                    for delta in decoder.feed(event):
                        yield delta
                    done = decoder.done
                    if done:
                        await _read_to_end(answer)
                        break
            completion = decoder.finish()
            self._check_calls(completion)
        finally:
            # Also on cancellation: this closes the connection of an unfinished answer at once.
            await answer.aclose()
        yield completion

    def _check_event(self, event: SentEvent) -> None:
        """Reject an event that parsing would expand to a multiple of its size."""
        if len(event.data) > MAX_VALUES and has_too_many(event.data.encode()):
            raise AnswerTooLargeError(
                f"{self.endpoint.label} sent an event with more than {MAX_VALUES} values, which is "
                "the limit; check that the base URL is the API's."
            )

    def _check_calls(self, completion: Completion) -> None:
        """Reject more calls than a journal should list, since a turn serves only a few."""
        if len(completion.message.tool_calls) > MAX_CALLS:
            raise AnswerTooLargeError(
                f"{self.endpoint.label} asked for more than {MAX_CALLS} tool calls in one answer, "
                "which is the limit; ask for less or lower max_tokens."
            )

    async def _send(self, body: dict[str, Any], clock: Clock) -> Answer:
        # A lone surrogate in a prompt cannot be encoded and is sent as "?".
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        close = {} if self.endpoint.reuse else {"connection": "close"}
        by = clock.end_of_wait(begun=False)
        try:
            async with asyncio.timeout_at(by):
                return await post(
                    self.client,
                    self.endpoint.url,
                    content.encode("utf-8", "replace"),
                    {**_HEADERS, **self.headers, **close},
                )
        except TimeoutError as error:
            raise clock.timeout(by, begun=False) from error
        except NoAddressError as error:
            raise ModelConnectionError(
                f"{self.endpoint.label} cannot be called: {error}; check the base URL."
            ) from error
        except BROKEN as error:
            raise self._unreachable(error) from error

    async def _next(self, answer: Answer, clock: Clock, decoder: Decoder) -> bytes | None:
        """Wait for the next chunk; return None at the end of the stream, or of a whole answer."""
        by = clock.end_of_wait(begun=True)
        try:
            async with asyncio.timeout_at(by):
                return await anext(answer.chunks, None)
        except TimeoutError as error:
            if decoder.whole:
                return None
            raise clock.timeout(by, begun=True) from error
        except BROKEN as error:
            if decoder.whole:
                return None
            raise broken(self.endpoint, error, begun=True) from error

    def _unreachable(self, error: Exception) -> ModelError:
        if isinstance(error.__cause__, TimeoutError):
            return ModelTimeoutError(
                f"{self.endpoint.label} accepted no connection in time; check that the host and "
                "port are right and reachable from here."
            )
        return broken(self.endpoint, error, begun=False)

    async def _check(self, answer: Answer) -> None:
        if answer.status != _OK:
            raise status_error(
                self.endpoint,
                answer.status,
                headers=answer.headers,
                body=await _error_body(answer),
            )
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding = answer.headers.get("content-encoding", "identity").strip().lower()
        if kind != "text/event-stream":
            refusal = body_error(self.endpoint, await _error_body(answer))
            raise refusal or StreamTruncatedError(
                f"{self.endpoint.label} answered with {kind or 'no content type'} instead of an "
                "event stream; check that the base URL is the API's and not a web page's."
            )
        if encoding != "identity":
            raise StreamTruncatedError(
                f"{self.endpoint.label} compressed its stream with {encoding} although plain bytes "
                "were asked for; turn compression off in the proxy in front of it."
            )


async def _read_to_end(answer: Answer) -> None:
    """Wait briefly for the end of the transfer, so that the connection can be reused.

    The answer is complete: if the server does not end it, the connection is closed.
    """
    with suppress(TimeoutError, *BROKEN):
        async with asyncio.timeout(_SETTLE_SECONDS):
            async for _ in answer.chunks:
                pass


async def _error_body(answer: Answer) -> bytes:
    """Read the start of an error's body; ignore a body that hangs or breaks."""
    body = bytearray()
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return b""  # not requested, and not readable as text
    with suppress(TimeoutError, *BROKEN):
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            async for chunk in answer.chunks:
                body += chunk
                if len(body) >= _ERROR_BODY_BYTES:
                    break
    return bytes(body[:_ERROR_BODY_BYTES])
