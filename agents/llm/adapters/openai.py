"""Chat Completions dialect: OpenAI, OpenRouter, Gemini, Ollama, vLLM, llama.cpp and others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.llm.adapters.adaptation import stream_adapted
from agents.llm.adapters.openai_request import request_body
from agents.llm.adapters.openai_stream import OpenAIDecoder
from agents.llm.messages import ChatRequest, StreamEvent
from agents.llm.profiles import COMPATIBLE, Profile

if TYPE_CHECKING:
    from agents.llm.adapters.exchange import Exchange


def openai_headers(secret: str) -> dict[str, str]:
    """Return the headers that carry the key; none for a server without keys."""
    return {"authorization": f"Bearer {secret}"} if secret else {}


@dataclass(slots=True)
class OpenAIModel:
    """A ``ChatModel`` that speaks Chat Completions."""

    exchange: Exchange
    profile: Profile = COMPATIBLE

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.exchange.endpoint.name

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``."""
        return self.stream_with(request, {})

    def stream_with(
        self, request: ChatRequest, extra: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent, None]:
        """Stream with extra fields in the body, such as ``response_format``."""

        def ask(sent: ChatRequest, profile: Profile) -> AsyncGenerator[StreamEvent, None]:
            endpoint = self.exchange.endpoint
            body = request_body(sent, endpoint=endpoint, profile=profile)
            body.update(extra)
            # Unique in the conversation, and equal for a repeated request.
            decoder = OpenAIDecoder(endpoint, call_prefix=f"call_{len(request.messages)}")
            return self.exchange.stream(body, decoder, sent)

        return stream_adapted(self, request, ask)
