"""Requests of clients, as far as an agent has a use for them.

Settings of sampling belong to an agent's definition, and a client's are left out, as other servers
do. What would change the form of the answer is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import clean_text, parse_untrusted_json
from heartbit_site.contract.problem import fault

RequestT = TypeVar("RequestT", bound=BaseModel)


class RequestError(HeartbitError):
    """A request that a door does not take.

    Attributes:
        parameter: The part of the body that is wrong.
    """

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class RequestPart(BaseModel):
    """Part of a request; fields without a use here are left out."""

    model_config = ConfigDict(extra="ignore")


class ImageAddress(RequestPart):
    """Address of an image in a chat."""

    url: str = ""


class ContentPart(RequestPart):
    """Part of a message's content."""

    type: str
    text: str = ""
    image_url: ImageAddress | str | None = None

    @property
    def is_image(self) -> bool:
        """True for an image, of a chat or of a response's input."""
        return self.type in ("image_url", "input_image")


class ChatMessage(RequestPart):
    """Message of a chat; other fields of its role are left out."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    tool_call_id: str = Field("", validation_alias=AliasChoices("tool_call_id", "toolCallId"))
    content: str | list[ContentPart] | None = None

    def text(self, place: str, *, beside_images: bool = False) -> str:
        """Return the content as text.

        Args:
            place: The part of the request that the message is.
            beside_images: True if it may have images too (``images_of``).

        Raises:
            RequestError: A part is no text.
        """
        if not isinstance(self.content, list):
            return clean_text(self.content or "")
        texts = []
        for number, part in enumerate(self.content):
            if part.type in ("text", "input_text", "output_text"):
                texts.append(part.text)
            elif not (part.is_image and beside_images):
                raise RequestError(
                    f"The part {number} of {place} is of the type {part.type!r}: send text.", place
                )
        return clean_text("\n".join(texts))


def results_at_end(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """Return the results of calls with which messages end, by the ids of the calls.

    Raises:
        RequestError: A part of one is no text.
    """
    found: dict[str, str] = {}
    for number, message in reversed(list(enumerate(messages))):
        if message.role != "tool":
            break
        found[message.tool_call_id] = message.text(f"messages.{number}")
    return found


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
