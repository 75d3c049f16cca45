"""Base class of response parts, and the types of their fields. Needs no Django.

A view built by one app is declared in that app; the others are in the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer


class View(BaseModel):
    """A part of a response, built from a row or from a response's JSON.

    A field with another name in the row declares it with ``validation_alias``. Unknown fields are
    ignored, so an older client can read a newer server's response.
    """

    model_config = ConfigDict(
        from_attributes=True,
        populate_by_name=True,
        frozen=True,
        defer_build=True,  # a command declares hundreds of views and needs few
    )

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


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def dollars(value: Any) -> Any:
    """Return an amount as a decimal number without trailing zeros; any other value unchanged."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


#: An id in a response.
Id = Annotated[str, BeforeValidator(_as_text)]
#: US dollars in a response: a decimal number as text.
Money = Annotated[str, BeforeValidator(dollars)]
#: A time in a response: ISO 8601 in UTC.
Time = Annotated[datetime, PlainSerializer(_iso, return_type=str)]
#: A duration in a response, to the millisecond.
Seconds = Annotated[float, AfterValidator(partial(round, ndigits=3))]
