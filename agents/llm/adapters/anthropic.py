"""Messages dialect of Anthropic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.llm.adapters.anthropic_request import request_body
from agents.llm.adapters.anthropic_stream import AnthropicDecoder
from agents.llm.profiles import COMPATIBLE, Profile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.llm.adapters.exchange import Exchange
    from agents.llm.messages import ChatRequest, StreamEvent

API_VERSION = "2023-06-01"


def anthropic_headers(secret: str) -> dict[str, str]:
    """Return the headers that carry the key and the version of the dialect."""
    headers = {"anthropic-version": API_VERSION}
    if secret:
        headers["x-api-key"] = secret
    return headers


@dataclass(frozen=True, slots=True)
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
        endpoint = self.exchange.endpoint
        body = request_body(request, endpoint=endpoint, profile=self.profile)
        decoder = AnthropicDecoder(endpoint)
        return self.exchange.stream(body, decoder, request)
