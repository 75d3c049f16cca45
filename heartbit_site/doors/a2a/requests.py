"""Requests of A2A, as far as an agent has a use for them; other fields are left out."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from heartbit_site.base.untrusted import clean_text
from heartbit_site.contract.problem import fault
from heartbit_site.doors.a2a.errors import CONTENT_TYPE, INVALID_PARAMS, A2AError

RequestT = TypeVar("RequestT", bound="Given")
HistoryLength = Annotated[int, Field(ge=0, le=2**31 - 1)] | None


class Given(BaseModel):
    """Part of a request, as JSON of protocol buffers: names in either spelling."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


class SentPart(Given):
    """Part of a message: text, or data."""

    text: str | None = None
    data: JsonValue = None
    raw: str | None = None
    url: str | None = None


class SentMessage(Given):
    """A message of the client."""

    message_id: Annotated[str, Field(min_length=1, max_length=200)]
    context_id: str = ""
    task_id: str = ""
    role: Literal["ROLE_USER"]
    parts: Annotated[list[SentPart], Field(min_length=1, max_length=200)]
    metadata: dict[str, JsonValue] | None = None

    @property
    def data(self) -> list[JsonValue]:
        """Data of the parts that have some."""
        return [part.data for part in self.parts if "data" in part.model_fields_set]

    def text(self) -> str:
        """Return the parts as text.

        Raises:
            A2AError: A part is a file.
        """
        for number, part in enumerate(self.parts):
            if part.raw is not None or part.url is not None:
                raise A2AError(CONTENT_TYPE, f"The part {number} is a file: send text or data.")
        texts = [json.dumps(one.data) if one.text is None else one.text for one in self.parts]
        return clean_text("\n\n".join(texts))


class Authentication(Given):
    """Header by which a receiver knows the sender."""

    scheme: Annotated[str, Field(min_length=1, max_length=50)]
    credentials: str = ""


class PushRequest(Given):
    """A receiver of a task's states."""

    id: Annotated[str, Field(max_length=200)] = ""
    task_id: Annotated[str, Field(max_length=200)] = ""
    url: Annotated[str, Field(min_length=1, max_length=500)]
    token: str = ""
    authentication: Authentication | None = None


class Wishes(Given):
    """Wishes for the answer."""

    history_length: HistoryLength = None
    return_immediately: bool = False
    task_push_notification_config: PushRequest | None = None


class SendRequest(Given):
    """Parameters of ``SendMessage`` and ``SendStreamingMessage``."""

    message: SentMessage
    configuration: Wishes = Field(default_factory=Wishes)


class TaskRequest(Given):
    """Parameters of methods of one task."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    history_length: HistoryLength = None


class PushesRequest(Given):
    """Parameters of ``ListTaskPushNotificationConfigs``; all are on its one page."""

    task_id: Annotated[str, Field(min_length=1, max_length=200)]


class NamedPushRequest(PushesRequest):
    """Parameters of methods of one receiver."""

    id: Annotated[str, Field(min_length=1, max_length=200)]


class ListRequest(Given):
    """Parameters of ``ListTasks``."""

    context_id: str = ""
    status: str = "TASK_STATE_UNSPECIFIED"
    page_size: Annotated[int, Field(ge=1, le=100)] = 50
    page_token: str = ""
    history_length: HistoryLength = None
    status_timestamp_after: AwareDatetime | None = None
    include_artifacts: bool = False


class NoRequest(Given):
    """Parameters of methods that are not offered."""


def read_params(kind: type[RequestT], params: Any) -> RequestT:
    """Return the parameters of a method.

    Raises:
        A2AError: A field is missing or wrong.
    """
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        placed = [{**one, "loc": ("body", "request", *one["loc"])} for one in error.errors()]
        raise A2AError(INVALID_PARAMS, fault(placed)) from None
