"""Whoever stops reading a wrapped stream has closed the model's when that is over, not later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.llm.messages import ChatRequest, StreamEvent, TextDelta
from agents.llm.wrappers.fallback import FallbackModel
from agents.llm.wrappers.limit import LimitedModel, Limits, LocalLimiter
from agents.llm.wrappers.retry import RetryingModel, RetryPolicy

from .support import HELLO

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.llm.protocol import ChatModel


class Endless:
    """A model that talks until it is closed."""

    name = "endless:model"

    def __init__(self) -> None:
        self.closed = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        try:
            while True:
                yield TextDelta(request.system)
        finally:
            self.closed = True


def limited(chat_model: ChatModel) -> ChatModel:
    return LimitedModel(chat_model, LocalLimiter(), "a", Limits())


def retrying(chat_model: ChatModel) -> ChatModel:
    return RetryingModel(chat_model, RetryPolicy())


def fallback(chat_model: ChatModel) -> ChatModel:
    return FallbackModel((chat_model,))


@pytest.mark.parametrize(
    "wrap",
    [limited, retrying, fallback, lambda inner: fallback(retrying(limited(inner)))],
    ids=["limited", "retrying", "fallback", "all"],
)
async def test_closing_a_wrapper_s_stream_closes_the_model_s(
    wrap: Callable[[ChatModel], ChatModel],
) -> None:
    endless = Endless()
    stream = wrap(endless).stream(HELLO)
    assert await anext(stream) == TextDelta("Be brief.")
    assert not endless.closed
    await stream.aclose()  # type: ignore[attr-defined]
    assert endless.closed
