"""The bases of what requests and answers hold, and the types of their fields."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
)

from agents.llm.references import check_reference
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.moments import to_utc
from heartbit_site.base.untrusted import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TASK_CHARACTERS = 400_000
#: Rows of a page when nobody says how many, and at most.
USUAL, MOST_ROWS = 50, 1000

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class View(BaseModel):
    """A part of an answer, made of a row or of an answer's JSON.

    A field that has another name in the row says so with ``validation_alias``. An older client
    reads a newer server's answer: a field that it does not know is left out.
    """

    model_config = ConfigDict(from_attributes=True, populate_by_name=True, frozen=True)

    @classmethod
    def of(cls, row: object, **more: Any) -> Self:
        """Return the view of a row.

        Args:
            row: Any object with the fields as attributes.
            more: Values that the row does not have, or that are shown instead of its own; by the
                names that the fields have in the row.
        """
        return cls.model_validate(_With(row, more) if more else row)


class _With:
    """An object with further attributes."""

    def __init__(self, row: object, more: Mapping[str, Any]) -> None:
        self._row = row
        self._more = more

    def __getattr__(self, name: str) -> Any:
        return self._more[name] if name in self._more else getattr(self._row, name)


class Body(BaseModel):
    """A JSON object that is sent: no field but its own, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


def without_defaults(schema: dict[str, Any]) -> None:
    """Drop the defaults of a change's schema: what is left out stays as it is."""
    for each in schema["properties"].values():
        each.pop("default", None)


def _written_out(value: Any) -> Any:
    # pydantic would take a bare number too, as seconds or as milliseconds, by its size.
    if value is not None and not (isinstance(value, str) and _DATE.match(value)):
        raise ValueError("write it as ISO 8601 with a time zone, such as 2026-11-22T09:00:00Z")
    return value


def _storable(text: str) -> str:
    if clean_text(text) != text:
        raise ValueError("it holds a character that cannot be kept, such as NUL")
    return text


def _reference(text: str) -> str:
    if text:
        try:
            check_reference(text)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
    return text


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def dollars(value: Any) -> Any:
    """Return an amount as a decimal number without needless zeros; any other value as it is."""
    if not isinstance(value, Decimal):
        return value
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


Text = Annotated[str, Field(max_length=MAX_TASK_CHARACTERS), AfterValidator(_storable)]
Name = Annotated[str, Field(max_length=64), AfterValidator(_storable)]
Word = Annotated[str, Field(max_length=200), AfterValidator(_storable)]
Reference = Annotated[
    str,
    Field(max_length=200, description="provider:model, such as openai:gpt-6-sol."),
    AfterValidator(_storable),
    AfterValidator(_reference),
]
Priority = Annotated[
    int,
    Field(ge=-1000, le=1000, description="Higher goes first, among the workspace's runs."),
]
#: A time that a request names.
Moment = Annotated[
    AwareDatetime, Field(strict=False), BeforeValidator(_written_out), AfterValidator(to_utc)
]
#: An id that an answer names.
Id = Annotated[str, BeforeValidator(_as_text)]
#: US dollars that an answer names: a decimal number as text.
Money = Annotated[str, BeforeValidator(dollars)]
#: A time that an answer names: ISO 8601 in UTC.
Time = Annotated[datetime, PlainSerializer(_iso, return_type=str)]
#: A duration that an answer names, to the millisecond.
Seconds = Annotated[float, AfterValidator(partial(round, ndigits=3))]
Targets = Annotated[
    list[dict[str, JsonValue]],
    Field(
        max_length=20,
        description=(
            "Recipients of each result: "
            '{"kind": "email", "to": ["ann@example.org"]}, {"kind": "webhook", "endpoint": 3} or '
            '{"kind": "artifact", "name": "report"}.'
        ),
    ),
]
Limit = Annotated[int, Field(ge=1, le=MOST_ROWS, description="Maximum number of rows.")]
Cursor = Annotated[
    Word | None, Field(description="`next_cursor` of the page before; none: the first.")
]
Next = Annotated[str | None, Field(description="The cursor of the next page; null: there is none.")]
