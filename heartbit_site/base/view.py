"""The base of parts of answers, and the types of their fields. Needs no Django.

A view that an app builds itself is declared in that app; the others are in the contract.
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
    """A part of an answer, made of a row or of an answer's JSON.

    A field that has another name in the row says so with ``validation_alias``. An older client
    reads a newer server's answer: a field that it does not know is left out.
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
    """Return an amount as a decimal number without needless zeros; any other value as it is."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


#: An id that an answer names.
Id = Annotated[str, BeforeValidator(_as_text)]
#: US dollars that an answer names: a decimal number as text.
Money = Annotated[str, BeforeValidator(dollars)]
#: A time that an answer names: ISO 8601 in UTC.
Time = Annotated[datetime, PlainSerializer(_iso, return_type=str)]
#: A duration that an answer names, to the millisecond.
Seconds = Annotated[float, AfterValidator(partial(round, ndigits=3))]
