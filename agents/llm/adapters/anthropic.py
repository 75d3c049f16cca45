"""Messages dialect of Anthropic."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.llm.adapters.adaptation import stream_adapted
from agents.llm.adapters.anthropic_request import request_body
from agents.llm.adapters.anthropic_stream import AnthropicDecoder
from agents.llm.messages import ChatRequest, StreamEvent
from agents.llm.profiles import COMPATIBLE, Profile

if TYPE_CHECKING:
    from agents.llm.adapters.exchange import Exchange

API_VERSION = "2023-06-01"


def anthropic_headers(secret: str) -> dict[str, str]:
    """Return the headers that carry the key and the version of the dialect."""
    headers = {"anthropic-version": API_VERSION}
    if secret:
        headers["x-api-key"] = secret
    return headers


@dataclass(slots=True)
class AnthropicModel:
    """A ``ChatModel`` that speaks Messages."""

    exchange: Exchange
    profile: Profile = COMPATIBLE

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.exchange.endpoint.name

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``."""

        def ask(sent: ChatRequest, profile: Profile) -> AsyncGenerator[StreamEvent, None]:
            endpoint = self.exchange.endpoint
            body = request_body(sent, endpoint=endpoint, profile=profile)
            return self.exchange.stream(body, AnthropicDecoder(endpoint), sent)

        return stream_adapted(self, request, ask)
