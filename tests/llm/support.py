"""Short ways to make models and requests, and to take their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from agents.llm.adapters.anthropic import AnthropicModel
from agents.llm.adapters.endpoint import Endpoint, Timeouts
from agents.llm.adapters.exchange import Exchange
from agents.llm.adapters.openai import OpenAIModel
from agents.llm.messages import ChatRequest, Completion, StreamEvent, ToolDefinition, UserMessage
from agents.llm.profiles import Profile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.llm.protocol import ChatModel

HELLO = ChatRequest("Be brief.", (UserMessage("Hello"),), timeout_seconds=20)
SEARCH = ToolDefinition(
    "search", "Search.", {"type": "object", "properties": {"q": {"type": "string"}}}
)
CLOCK = ToolDefinition("clock", "The time.", {"type": "object", "properties": {}})


class Clock:
    """A process's own time: it passes only when told, or by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def endpoint(provider: str = "openai", url: str = "http://127.0.0.1:9") -> Endpoint:
    path = "/v1/messages" if provider == "anthropic" else "/v1/chat/completions"
    return Endpoint(provider, "model-x", url + path, "SOME_API_KEY", "sk-secret", reuse=False)


def model(
    client: httpx.AsyncClient,
    *,
    provider: str = "openai",
    url: str = "http://127.0.0.1:9",
    timeouts: Timeouts | None = None,
    max_bytes: int = 8 * 1024 * 1024,
    profile: Profile | None = None,
) -> ChatModel:
    exchange = Exchange(
        client=client,
        endpoint=endpoint(provider, url),
        headers={},
        timeouts=timeouts or Timeouts(20, 20),
        max_bytes=max_bytes,
    )
    adapter = AnthropicModel if provider == "anthropic" else OpenAIModel
    return adapter(exchange, profile or Profile())


async def collect(chat_model: ChatModel, request: ChatRequest = HELLO) -> list[StreamEvent]:
    return [event async for event in chat_model.stream(request)]


async def complete(chat_model: ChatModel, request: ChatRequest = HELLO) -> Completion:
    """Return the completion, which must be the last event and the only one."""
    events = await collect(chat_model, request)
    completions = [event for event in events if isinstance(event, Completion)]
    assert completions == events[-1:]
    return completions[0]


class _Chunks(httpx.AsyncByteStream):
    def __init__(self, chunks: list[bytes], error: Exception | None) -> None:
        self._chunks = chunks
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if self._error is not None:
            raise self._error


@dataclass
class ChunkTransport(httpx.AsyncBaseTransport):
    """Answers with chunks exactly as given; a socket would not keep their borders."""

    chunks: list[bytes]
    error: Exception | None = None
    status: int = 200
    headers: dict[str, str] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = self.headers or {"content-type": "text/event-stream"}
        stream = _Chunks(self.chunks, self.error)
        return httpx.Response(self.status, headers=headers, stream=stream)


def canned(
    *chunks: bytes,
    provider: str = "openai",
    error: Exception | None = None,
    **options: Any,
) -> ChatModel:
    """Return a model whose server answers with these chunks."""
    status, headers = options.pop("status", 200), options.pop("headers", None)
    transport = ChunkTransport(list(chunks), error, status, headers)
    return model(httpx.AsyncClient(transport=transport), provider=provider, **options)
