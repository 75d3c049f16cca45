"""Requests of the Responses API (Open Responses), as far as an agent has a use for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from heartbit_site.doors.openai.errors import RequestError
from heartbit_site.doors.openai.requests import ChatMessage, Part


class InputItem(ChatMessage):
    """Item of an input; only messages are taken."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"


class TextFormat(Part):
    """Form of the answer."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    schema_: dict[str, Any] | None = Field(alias="schema", default=None)


class TextSettings(Part):
    """Settings of the answer's text."""

    format: TextFormat = Field(default_factory=TextFormat)


class ResponseRequest(Part):
    """Body of ``POST /v1/responses``."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    input: str | Annotated[list[InputItem], Field(min_length=1, max_length=2_000)]
    instructions: str | None = None
    previous_response_id: str | None = None
    background: bool = False
    stream: bool = False
    store: bool = True
    text: TextSettings | None = None
    tools: list[Any] | None = None
    metadata: dict[str, str] | None = None

    def messages(self) -> list[ChatMessage]:
        """Return the input as messages, the instructions first.

        Raises:
            RequestError: An item is no message.
        """
        given = self.input if isinstance(self.input, list) else [InputItem(content=self.input)]
        for number, item in enumerate(given):
            if item.type != "message":
                raise RequestError(
                    f"The item {number} of the input is of the type {item.type!r}: send messages.",
                    f"input.{number}.type",
                )
        told = [ChatMessage(role="developer", content=self.instructions)]
        return [*(told if self.instructions else []), *given]
