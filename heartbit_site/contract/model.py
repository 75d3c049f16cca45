"""The bases of what requests and answers hold, and the types of their fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
)
from pydantic.fields import FieldInfo

from agents.llm.references import check_reference
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.moments import to_utc
from heartbit_site.base.pictures import MOST_BYTES, MOST_PICTURES
from heartbit_site.base.untrusted import clean_text
from heartbit_site.base.view import View

In = TypeVar("In", bound=BaseModel)
MAX_TASK_CHARACTERS = 400_000
#: Rows of a page when nobody says how many, and at most.
USUAL, MOST_ROWS = 50, 1000

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class Body(BaseModel):
    """A JSON object of a request: unknown fields and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class Page(View):
    """A page of a list; its last field has the rows."""

    next_cursor: str | None = Field(
        description="The cursor of the next page; null on the last page."
    )


def rows_of(page: type[BaseModel]) -> str:
    """Return the name of a list's rows: its last field."""
    return list(page.model_fields)[-1]


def changes(*fixed: str, null: bool = True) -> Callable[[type[In]], type[In]]:
    """Let each field of a body be left out, so that it stays as it is.

    ::

        @changes("kind")
        class ChannelChangeIn(ChannelIn): ...

    Fields that the class declares itself are taken as they are.

    Args:
        fixed: Fields that cannot be changed.
        null: Null is allowed, and means the same as leaving a field out.
    """

    def derive(model: type[In]) -> type[In]:
        typed: Any = Annotated  # its subscripts would be types to mypy
        fields: dict[str, Any] = model.model_fields
        for name in fixed:
            del fields[name]
        for name in fields.keys() - model.__annotations__.keys():
            field = fields[name]
            if null:
                text = Field(description=field.description)
                kind = typed[field.annotation, text, *field.metadata] | None
                fields[name] = FieldInfo.from_annotated_attribute(kind, None)
            elif field.is_required():
                field.default = None
        if not null:
            model.model_config["json_schema_extra"] = _without_defaults
        return model

    return derive


def _without_defaults(schema: dict[str, Any]) -> None:
    for each in schema["properties"].values():
        each.pop("default", None)


def _no_boolean(value: Any) -> Any:
    # False is 0 to Python, and so to a Literal of numbers.
    if isinstance(value, bool):
        raise ValueError("write a number")
    return value


def _written_out(value: Any) -> Any:
    # pydantic would take a bare number too, as seconds or as milliseconds, by its size.
    if value is not None and not (isinstance(value, str) and _DATE.match(value)):
        raise ValueError("write it as ISO 8601 with a time zone, such as 2026-11-22T09:00:00Z")
    return value


def _storable(text: str) -> str:
    if clean_text(text) != text:
        raise ValueError("it contains a character that cannot be stored, such as NUL")
    return text


def _reference(text: str) -> str:
    if text:
        try:
            check_reference(text)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
    return text


Text = Annotated[str, Field(max_length=MAX_TASK_CHARACTERS), AfterValidator(_storable)]
Name = Annotated[str, Field(max_length=64), AfterValidator(_storable)]
Word = Annotated[str, Field(max_length=200), AfterValidator(_storable)]
_File = Annotated[str, Field(max_length=MOST_BYTES * 4 // 3 + 100)]
Images = Annotated[
    list[_File],
    Field(
        max_length=MOST_PICTURES,
        description="Pictures for the model: PNG, JPEG, GIF or WebP, or a PDF, whose pages are "
        "shown; each in base64 or as artifact:RUN/NAME.",
    ),
]
Documents = Annotated[
    dict[Word, _File],
    Field(
        max_length=MOST_PICTURES,
        description="Documents that the model reads as text: PDF, DOCX or text, in base64, by "
        "file name.",
    ),
]
Reference = Annotated[
    str,
    Field(max_length=200, description="provider:model, such as openai:gpt-6-sol."),
    AfterValidator(_storable),
    AfterValidator(_reference),
]
Priority = Annotated[
    int,
    Field(
        ge=-1000,
        le=1000,
        description="Priority among the workspace's runs; higher values start first.",
    ),
]
#: Before a Literal of numbers.
NumberOnly = BeforeValidator(_no_boolean)
#: A time that a request names.
Moment = Annotated[
    AwareDatetime, Field(strict=False), BeforeValidator(_written_out), AfterValidator(to_utc)
]
Targets = Annotated[
    list[dict[str, JsonValue]],
    Field(
        max_length=20,
        description=(
            "Recipients of each result: "
            '{"kind": "email", "to": ["ann@example.org"]}, {"kind": "webhook", "endpoint": 3}, '
            '{"kind": "artifact", "name": "report"} or '
            '{"kind": "drive", "file": "reports/{date}.md"}.'
        ),
    ),
]
Limit = Annotated[int, Field(ge=1, le=MOST_ROWS, description="Maximum number of rows.")]
Cursor = Annotated[
    Word | None,
    Field(description="`next_cursor` of the previous page; omit it for the first page."),
]
