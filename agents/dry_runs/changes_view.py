"""Views of a dry run: the database changes of a call, as shown to a person. Needs no Django."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from heartbit_site.base.view import View

RowChangeKind = Literal["inserted", "updated", "deleted"]


class CellOut(View):
    """A column's value."""

    text: str | None = Field(description="Beginning of the value; null if it is NULL or hidden.")
    more: int = Field(description="Count of characters left out.")
    hidden: bool = Field(description="True if the column has the name of a secret.")


class KeyPartOut(View):
    """A column of a primary key."""

    column: str
    value: CellOut


class ColumnChangeOut(View):
    """Change of a column; null if the row does not exist before, or after."""

    column: str
    old: CellOut | None
    new: CellOut | None


class RowChangeOut(View):
    """Change of a row."""

    kind: RowChangeKind
    key: list[KeyPartOut]
    columns: list[ColumnChangeOut] = Field(
        description="All columns; of an update the changed ones."
    )


class TableChangeOut(View):
    """Changes of a table."""

    table: str
    rows: list[RowChangeOut] = Field(description="At most 50.")
    more: int = Field(description="Count of changed rows that are not shown.")
    note: str = Field(
        description="Reason for not showing the rows, as a sentence; empty if they are shown."
    )


class DryRunOut(View):
    """Changes made by a call in a transaction that was rolled back."""

    tool: str
    arguments: dict[str, JsonValue] = Field(description="Arguments of the call.")
    status: str = Field(description="ok, or error if the tool failed, and would change nothing.")
    result: str = Field(description="Result for the model, or its beginning.")
    refused: str = Field(
        description="Reason why the database would reject it; empty if it would not."
    )
    tables: list[TableChangeOut] = Field(description="At most 20.")
    more_tables: int = Field(description="Count of changed tables that are not shown.")
