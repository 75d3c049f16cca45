"""Nothing goes out before whoever asks is ready: it is the last that is waited for (R7)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agents.llm.messages import UserMessage
from agents.llm.wrappers.retry import RetryingModel, RetryPolicy
from tests.llm.bridge_support import bridged, needs_extra
from tests.llm.support import HELLO, collect, model

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from agents.llm.messages import ChatRequest
    from agents.llm.protocol import ChatModel
    from agents.llm.testing.wire_server import WireServer

MODELS: dict[str, Callable[[httpx.AsyncClient, str], ChatModel]] = {
    "openai": lambda client, url: model(client, url=url),
    "anthropic": lambda client, url: model(client, provider="anthropic", url=url),
    "bridge": lambda client, url: bridged(client, url),
}


class Gate:
    """Opens when it is told to."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.opened = asyncio.Event()
        self.passed = 0

    async def __call__(self) -> None:
        self.waiting.set()
        await self.opened.wait()
        self.passed += 1

    def before(self, request: ChatRequest) -> ChatRequest:
        return replace(request, ready=self)


@pytest.mark.parametrize("kind", ["openai", "anthropic", pytest.param("bridge", marks=needs_extra)])
async def test_given_a_request_that_is_not_ready_then_the_server_hears_nothing(
    client: httpx.AsyncClient, wire: WireServer, kind: str
) -> None:
    gate = Gate()
    asked = asyncio.create_task(collect(MODELS[kind](client, wire.url), gate.before(HELLO)))
    await gate.waiting.wait()
    assert wire.stats.requests == 0
    gate.opened.set()
    assert await asked
    assert wire.stats.requests == 1


async def test_given_an_attempt_that_failed_then_the_next_one_waits_as_well(
    client: httpx.AsyncClient, wire: WireServer
) -> None:
    gate = Gate()
    gate.opened.set()
    asked = replace(HELLO, messages=(UserMessage("[[error: 503 times=1]]"),))
    policy = RetryPolicy(max_retries=2, base_delay_ms=1)
    await collect(RetryingModel(model(client, url=wire.url), policy), gate.before(asked))
    assert gate.passed == wire.stats.requests == 2
