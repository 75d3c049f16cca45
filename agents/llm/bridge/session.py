"""Connected model of pydantic-ai: its streams, their time limits and their clean-up."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_ai.direct import model_request_stream

from agents.llm.adapters.endpoint import Endpoint, Timeouts
from agents.llm.bridge.answer import AnswerReader
from agents.llm.bridge.connect import connect
from agents.llm.bridge.failures import bridged_error
from agents.llm.bridge.request import bridged_request
from agents.llm.errors import ModelError, ModelTimeoutError, StreamTruncatedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

    from agents.llm.bridge.account import Account
    from agents.llm.messages import ChatRequest, StreamEvent
    from agents.llm.profiles import Profile

_MAX_EVENTS_CHARACTERS = 8 * 1024 * 1024


def open_session(
    account: Account, *, client: httpx.AsyncClient, profile: Profile, timeouts: Timeouts
) -> Session:
    """Connect an account; raises as ``connect.connect``."""
    model = connect(account, client=client)
    endpoint = Endpoint(
        provider=account.provider,
        model=account.model,
        url=account.base_url or model.base_url or f"https://{account.provider}",
        key_env=account.key_source,
        secret=account.secret,
    )
    return Session(model, endpoint, profile, timeouts)


@dataclass(frozen=True, slots=True)
class _Clock:
    """Time limits of one call, in the event loop's time."""

    endpoint: Endpoint
    timeouts: Timeouts
    whole_seconds: float
    deadline: float

    @asynccontextmanager
    async def limit(self, *, begun: bool) -> AsyncGenerator[None, None]:
        """Limit one wait: for the answer's beginning, or for its next piece."""
        silence = self.timeouts.between_events if begun else self.timeouts.first_event
        by = min(self.deadline, asyncio.get_running_loop().time() + silence)
        scope = asyncio.timeout_at(by)
        try:
            async with scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise self._late(silence, begun=begun, whole=by >= self.deadline) from error

    def _late(self, silence: float, *, begun: bool, whole: bool) -> ModelTimeoutError:
        label = self.endpoint.label
        if whole:
            return ModelTimeoutError(
                f"{label} was not done within {self.whole_seconds:g} seconds; raise the call's "
                "time limit or ask for less."
            )
        if begun:
            return ModelTimeoutError(
                f"{label} fell silent for {silence:g} seconds in the middle of its answer; try "
                "again."
            )
        return ModelTimeoutError(
            f"{label} did not begin to answer within {silence:g} seconds; try again, or raise the "
            "time limit if the model thinks for long."
        )


@dataclass(frozen=True, slots=True)
class Session:
    """A connected model; it keeps no connection between calls."""

    model: Model[Any]
    endpoint: Endpoint
    profile: Profile
    timeouts: Timeouts

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield deltas and, last, the completion.

        Raises:
            ModelError: See ``ChatModel.stream``.
        """
        begun = False
        try:
            async with AsyncExitStack() as stack:
                await request.ready()
                clock = self._clock(request)
                async with clock.limit(begun=False):
                    # Leaving the stack, also on cancellation, closes the answer's connection.
                    response = await stack.enter_async_context(self._ask(request))
                begun = True
                events = aiter(response)
                reader = AnswerReader(self.endpoint)
                size = 0
                while True:
                    async with clock.limit(begun=True):
                        event = await anext(events, None)
                    if event is None:
                        break
                    if (delta := reader.feed(event)) is not None:
                        size += _size(delta)
                        self._check(size)
                        yield delta
                answer: ModelResponse = response.get()
            completion = reader.finish(answer)
        except ModelError:
            raise
        except Exception as error:
            raise bridged_error(self.endpoint, error, begun=begun) from error
        yield completion

    def _clock(self, request: ChatRequest) -> _Clock:
        deadline = asyncio.get_running_loop().time() + request.timeout_seconds
        return _Clock(self.endpoint, self.timeouts, request.timeout_seconds, deadline)

    def _ask(self, request: ChatRequest) -> Any:
        made = bridged_request(
            request, model=self.model, profile=self.profile, provider=self.endpoint.provider
        )
        return model_request_stream(
            self.model,
            made.messages,
            model_settings=made.settings,
            model_request_parameters=made.parameters,
            instrument=False,
        )

    def _check(self, size: int) -> None:
        if size > _MAX_EVENTS_CHARACTERS:
            raise StreamTruncatedError(
                f"{self.endpoint.label} sent more than {_MAX_EVENTS_CHARACTERS} characters for one "
                "answer, which is the limit; ask for less or lower max_tokens."
            )


def _size(delta: StreamEvent) -> int:
    return len(getattr(delta, "text", "")) + len(getattr(delta, "arguments", ""))
