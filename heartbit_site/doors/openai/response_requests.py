"""Requests of the Responses API (Open Responses), as far as an agent has a use for them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from heartbit_site.doors.openai.client_tools import ClientTool
from heartbit_site.doors.openai.errors import RequestError
from heartbit_site.doors.openai.requests import ChatMessage, ContentPart, RequestPart

#: Types of items that are no messages.
_CALLS: Final = ("function_call", "function_call_output", "reasoning")


class InputItem(ChatMessage):
    """Item of an input: a message, a call of an earlier response, or the result of one."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    call_id: str = ""
    output: str | list[ContentPart] = ""


class TextFormat(RequestPart):
    """Form of the answer."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    schema_: dict[str, Any] | None = Field(alias="schema", default=None)


class TextSettings(RequestPart):
    """Settings of the answer's text."""

    format: TextFormat = Field(default_factory=TextFormat)


class ResponseTool(ClientTool):
    """Tool of a response; there are functions alone."""

    type: Literal["function"] = "function"


class ResponseRequest(RequestPart):
    """Body of ``POST /v1/responses``."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    input: str | Annotated[list[InputItem], Field(min_length=1, max_length=2_000)]
    instructions: str | None = None
    previous_response_id: str | None = None
    background: bool = False
    stream: bool = False
    store: bool = True
    text: TextSettings | None = None
    tools: Annotated[list[ResponseTool], Field(max_length=128)] | None = None
    metadata: dict[str, str] | None = None

    @property
    def _items(self) -> list[InputItem]:
        return self.input if isinstance(self.input, list) else [InputItem(content=self.input)]

    @property
    def results(self) -> dict[str, str]:
        """Results that end the input, by the ids of their calls: then a run continues."""
        found: dict[str, str] = {}
        for number, item in reversed(list(enumerate(self._items))):
            if item.type != _CALLS[1]:
                break
            result = ChatMessage(role="tool", content=item.output)
            found[item.call_id] = result.text(f"input.{number}")
        return found

    def messages(self) -> list[ChatMessage]:
        """Return the input as messages, the instructions first.

        Raises:
            RequestError: An item is no message.
        """
        given = self._items
        for number, item in enumerate(given):
            if item.type not in ("message", *_CALLS):
                raise RequestError(
                    f"The item {number} of the input is of the type {item.type!r}: send messages.",
                    f"input.{number}.type",
                )
        given = [item for item in given if item.type == "message"]
        told = [ChatMessage(role="developer", content=self.instructions)]
        return [*(told if self.instructions else []), *given]
