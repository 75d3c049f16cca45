"""Request with a streamed answer over the shared client: time limits, size limit, clean-up.

Retries are not made here: a wrapper on the model makes them, by the run's policy.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agents.llm.adapters.endpoint import DEFAULT_TIMEOUTS, Endpoint, Timeouts
from agents.llm.adapters.failures import body_error, status_error
from agents.llm.adapters.guard import GuardedStream, Limits
from agents.llm.adapters.posting import BROKEN, Answer, NoAddressError, post
from agents.llm.adapters.sse import EventSplitter, SentEvent
from agents.llm.errors import (
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    StreamTruncatedError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    import httpx

    from agents.llm.messages import ChatRequest, Completion, StreamEvent

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
        timeout_seconds = request.timeout_seconds
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        answer = await self._send(body, deadline=deadline, timeout_seconds=timeout_seconds)
        try:
            await self._check(answer)
            guard = self._guard(answer, deadline=deadline, timeout_seconds=timeout_seconds)
            splitter, settled = EventSplitter(), False
            async for chunk in guard:
                if settled:
                    continue  # read to the end, so that the connection can be reused
                for event in splitter.feed(chunk):
                    for delta in decoder.feed(event):
                        yield delta
                    settled = decoder.done
                    if settled:
                        guard.settle()
                        break
            completion = decoder.finish()
        finally:
            # Also on cancellation: this closes the connection of an unfinished answer at once.
            await answer.aclose()
        yield completion

    async def _send(
        self, body: dict[str, Any], *, deadline: float, timeout_seconds: float
    ) -> Answer:
        # A lone surrogate in a prompt cannot be encoded and is sent as "?".
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        close = {} if self.endpoint.reuse else {"connection": "close"}
        first = asyncio.get_running_loop().time() + self.timeouts.first_event
        try:
            async with asyncio.timeout_at(min(deadline, first)):
                return await post(
                    self.client,
                    self.endpoint.url,
                    content.encode("utf-8", "replace"),
                    {**_HEADERS, **self.headers, **close},
                )
        except TimeoutError as error:
            limit = min(timeout_seconds, self.timeouts.first_event)
            raise ModelTimeoutError(
                f"{self.endpoint.label} did not begin to answer within {limit:g} seconds; try "
                "again, or raise the time limit if the model thinks for long."
            ) from error
        except NoAddressError as error:
            raise ModelConnectionError(
                f"{self.endpoint.label} cannot be called: {error}; check the base URL."
            ) from error
        except BROKEN as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ModelError:
        if isinstance(error.__cause__, TimeoutError):
            return ModelTimeoutError(
                f"{self.endpoint.label} accepted no connection in time; check that the host and "
                "port are right and reachable from here."
            )
        reason = str(error) or type(error.__cause__ or error).__name__
        return ModelConnectionError(
            f"{self.endpoint.label} could not be reached ({reason}); check that the server runs "
            "and that the base URL is right."
        )

    def _guard(self, answer: Answer, *, deadline: float, timeout_seconds: float) -> GuardedStream:
        limits = Limits(
            deadline=deadline,
            whole_seconds=timeout_seconds,
            idle_seconds=self.timeouts.between_events,
            max_bytes=self.max_bytes,
        )
        return GuardedStream(answer.chunks(), label=self.endpoint.label, limits=limits)

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


async def _error_body(answer: Answer) -> bytes:
    """Read the start of an error's body; ignore a body that hangs or breaks."""
    body = bytearray()
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return b""  # not requested, and not readable as text
    try:
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            async for chunk in answer.chunks():
                body += chunk
                if len(body) >= _ERROR_BODY_BYTES:
                    break
    except (TimeoutError, *BROKEN):
        pass
    return bytes(body[:_ERROR_BODY_BYTES])
