"""Database changes of a dry run, as shown to a person. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["inserted", "updated", "deleted"]


@dataclass(frozen=True, slots=True)
class Cell:
    """Value of a column in one row.

    Attributes:
        text: The text form of the value in PostgreSQL, or its beginning; None: NULL, or hidden.
        more: Number of characters left out.
        hidden: True if the column is named like a secret, so that its value is not shown.
    """

    text: str | None
    more: int = 0
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A column of a row's primary key."""

    column: str
    value: Cell


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Change of one column of a row; None: the row does not exist before, or after."""

    column: str
    old: Cell | None
    new: Cell | None


@dataclass(frozen=True, slots=True)
class RowChange:
    """Change of one row.

    Attributes:
        kind: Kind of the change.
        key: Its primary key.
        columns: All columns, or only the changed ones for an update.
    """

    kind: Kind
    key: tuple[KeyPart, ...]
    columns: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class TableChange:
    """Changes of one table.

    Attributes:
        table: Its name, with the schema unless that is the current one.
        rows: Rows shown, new and updated ones first, in the order of their keys.
        more: Number of changed rows that are not shown.
        note: Why its rows are not shown, as a sentence; empty: they are shown.
    """

    table: str
    rows: tuple[RowChange, ...] = ()
    more: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class DryRun:
    """Effect of a call in a transaction that was rolled back.

    Attributes:
        tool: The tool's name.
        arguments: Arguments that it ran with, defaults included.
        status: ``ok``, or ``error``: the tool failed, and would change nothing.
        result: The result for the model, or its beginning.
        refused: Why the database would refuse the changes, as its message; empty: it would not.
        tables: Changed tables, by name.
        more_tables: Number of changed tables that are not shown.
    """

    tool: str
    arguments: dict[str, Any]
    status: str
    result: str
    refused: str
    tables: tuple[TableChange, ...]
    more_tables: int
