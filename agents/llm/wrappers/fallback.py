"""Fallback to the next model of a list if one cannot answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from agents.llm.errors import ModelError, RequestRejectedError, ThrottledError
from agents.llm.messages import ChatRequest, Restarted, StreamEvent
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.closing import closing
from heartbit_site.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class FallbackModel:
    """A ``ChatModel`` that tries several models, in order of preference.

    Another model may succeed after any error but ``RequestRejectedError``: no connection, silence,
    a limit, a missing key. A request that one provider rejects is not sent to the next, which might
    treat it differently. ``Completion.model`` names the model that answered;
    ``ChatRequest.timeout_seconds`` covers all of them.
    """

    models: tuple[ChatModel, ...]

    def __post_init__(self) -> None:
        if not self.models:
            raise ConfigurationError(
                "The list of models to fall back on is empty; name at least one provider:model."
            )

    @property
    def name(self) -> str:
        """``provider:model`` of the preferred model, the first."""
        return self.models[0].name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``; raises the last model's error.

        If a model was not called because of Heartbit's own limits, that ``ThrottledError`` is
        raised instead, because the model may answer after the wait.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.timeout_seconds
        last = len(self.models) - 1
        waits: list[ThrottledError] = []
        for number, model in enumerate(self.models):
            left = max(0.0, deadline - loop.time())
            try:
                async with closing(model.stream(replace(request, timeout_seconds=left))) as events:
                    async for event in events:
                        yield event
                return
            except RequestRejectedError:
                raise
            except ModelError as error:
                if isinstance(error, ThrottledError):
                    waits.append(error)
                if number == last or loop.time() >= deadline:
                    if waits:
                        raise min(waits, key=_wait) from error
                    raise
                reason = str(error)
            yield Restarted(reason, 0.0)


def _wait(error: ThrottledError) -> float:
    return error.retry_after or 0.0
