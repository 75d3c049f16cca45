"""What a dry run answers; the fields are those of ``agents.dry_runs.changes``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from heartbit_site.contract.model import View


class CellOut(View):
    """A column's value."""

    text: str | None = Field(description="Its beginning; null: it is NULL, or hidden.")
    more: int = Field(description="How many characters are left out.")
    hidden: bool = Field(description="The column is called like a secret.")


class KeyPartOut(View):
    """A column of a primary key."""

    column: str
    value: CellOut


class ColumnChangeOut(View):
    """What becomes of a column; null: there is no such row before, or after."""

    column: str
    old: CellOut | None
    new: CellOut | None


class RowChangeOut(View):
    """What becomes of a row."""

    kind: Literal["inserted", "updated", "deleted"]
    key: list[KeyPartOut]
    columns: list[ColumnChangeOut] = Field(description="All, or those that an update changes.")


class TableChangeOut(View):
    """What becomes of a table."""

    table: str
    rows: list[RowChangeOut] = Field(description="At most 50.")
    more: int = Field(description="How many changed rows are not shown.")
    note: str = Field(description="Why no rows are shown, as a sentence; empty: they are.")


class DryRunOut(View):
    """What a call did in a transaction that was undone."""

    tool: str
    arguments: dict[str, JsonValue] = Field(description="What it ran with.")
    status: str = Field(description="ok; error: the tool failed, and would change nothing.")
    result: str = Field(description="What the model would be told, or its beginning.")
    refused: str = Field(description="Why the database would not keep it; empty: it would.")
    tables: list[TableChangeOut] = Field(description="At most 20.")
    more_tables: int = Field(description="How many changed tables are not shown.")
