"""Requests of chat completions, as far as an agent has a use for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from heartbit_site.doors.client_tools import ClientTool
from heartbit_site.doors.requests import ChatMessage, RequestPart, results_at_end


class JsonSchema(RequestPart):
    """JSON Schema of an answer."""

    schema_: dict[str, Any] = Field(alias="schema", default_factory=dict)


class ResponseFormat(RequestPart):
    """Form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(RequestPart):
    """Options of a stream."""

    include_usage: bool = False


class ChatTool(RequestPart):
    """Tool of a chat; there are functions alone."""

    type: Literal["function"] = "function"
    called: ClientTool = Field(alias="function")


class CompletionRequest(RequestPart):
    """Body of ``POST /v1/chat/completions``."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=2_000)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    n: Literal[1] | None = None
    tools: Annotated[list[ChatTool], Field(max_length=128)] | None = None
    metadata: dict[str, str] | None = None

    @property
    def client_tools(self) -> list[ClientTool]:
        """Functions of the client."""
        return [tool.called for tool in self.tools or ()]

    @property
    def results(self) -> dict[str, str]:
        """Results that end the chat, by the ids of their calls: then a run continues."""
        return results_at_end(self.messages)
