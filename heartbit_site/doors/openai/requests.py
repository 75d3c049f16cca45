"""Requests of OpenAI's API, as far as an agent has a use for them.

Settings of sampling belong to an agent's definition, and a client's are left out, as other servers
of this API do. What would change the form of the answer is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heartbit_site.base.untrusted import clean_text, parse_untrusted_json
from heartbit_site.contract.problem import fault
from heartbit_site.doors.openai.errors import RequestError

RequestT = TypeVar("RequestT", bound=BaseModel)


class Part(BaseModel):
    """Part of a request; fields without a use here are left out."""

    model_config = ConfigDict(extra="ignore")


class ContentPart(Part):
    """Part of a message's content."""

    type: str
    text: str = ""


class ChatMessage(Part):
    """Message of a chat; other fields of its role are left out."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None

    def text(self, place: str) -> str:
        """Return the content as text.

        Raises:
            RequestError: A part is no text.
        """
        if not isinstance(self.content, list):
            return clean_text(self.content or "")
        for number, part in enumerate(self.content):
            if part.type not in ("text", "input_text", "output_text"):
                raise RequestError(
                    f"The part {number} of {place} is of the type {part.type!r}: send text.", place
                )
        return clean_text("\n".join(part.text for part in self.content))


class JsonSchema(Part):
    """JSON Schema of an answer."""

    schema_: dict[str, Any] = Field(alias="schema", default_factory=dict)


class ResponseFormat(Part):
    """Form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(Part):
    """Options of a stream."""

    include_usage: bool = False


class ChatRequest(Part):
    """Body of ``POST /v1/chat/completions``."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=2_000)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    n: Literal[1] | None = None
    tools: list[Any] | None = None
    metadata: dict[str, str] | None = None


def read_request(kind: type[RequestT], body: bytes) -> RequestT:
    """Return the request in a body.

    Raises:
        UntrustedJSONError: The body is no JSON that Heartbit accepts.
        RequestError: A field is missing or wrong.
    """
    content = parse_untrusted_json(body, max_bytes=len(body) + 1)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = error.errors()
        place = ".".join(map(str, found[0]["loc"])) or None
        placed = [{**one, "loc": ("body", "request", *one["loc"])} for one in found]
        raise RequestError(fault(placed), place) from None


def refuse_tools(tools: list[Any] | None) -> None:
    """Reject tools that a client offers to run itself.

    Raises:
        RequestError: There are some.
    """
    if tools:
        raise RequestError(
            "Tools of a client are not taken: the agent calls those of its definition.", "tools"
        )
