"""What a tool would change in the database, as a person is shown it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["inserted", "updated", "deleted"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A column's value in one row.

    Attributes:
        text: As PostgreSQL writes it, or its beginning; None: NULL, or it is hidden.
        more: How many characters are left out.
        hidden: Its column is called like a secret, so it is not shown.
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
    """What becomes of one column of a row; None: there is no such row before, or after."""

    column: str
    old: Cell | None
    new: Cell | None


@dataclass(frozen=True, slots=True)
class RowChange:
    """What becomes of one row.

    Attributes:
        kind: What happens to it.
        key: Its primary key.
        columns: All of them, or those that an update changes.
    """

    kind: Kind
    key: tuple[KeyPart, ...]
    columns: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class TableChange:
    """What becomes of one table.

    Attributes:
        table: Its name, with the schema where it is not the usual one.
        rows: What is shown, new and updated rows first, in the order of their keys.
        more: How many changed rows are not shown.
        note: Why its rows are not shown, as a sentence; empty: they are.
    """

    table: str
    rows: tuple[RowChange, ...] = ()
    more: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a call did in a transaction that was undone.

    Attributes:
        tool: The tool's name.
        arguments: What it ran with, defaults included.
        status: ``ok``, or ``error``: the tool failed, and would change nothing.
        result: What the model would be told, or its beginning.
        refused: Why the database would not keep the changes, as it says it; empty: it would.
        tables: What changed, by name.
        more_tables: How many changed tables are not shown.
    """

    tool: str
    arguments: dict[str, Any]
    status: str
    result: str
    refused: str
    tables: tuple[TableChange, ...]
    more_tables: int
