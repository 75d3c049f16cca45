"""Classification of a dry run's rows as inserted, updated or deleted, from their versions. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.dry_runs.changes import Cell, ColumnChange, KeyPart, RowChange

if TYPE_CHECKING:
    from collections.abc import Collection

    from agents.dry_runs.changes import Kind
    from agents.dry_runs.row_versions import Key, Value, Values
    from agents.dry_runs.tables import Table


def row_change(
    table: Table, key: Key, old: Values | None, new: Values | None, *, concealed: Collection[str]
) -> RowChange | None:
    """Return the change of a row; None: it was rewritten with the same values.

    Args:
        table: The row's table.
        key: Its primary key.
        old: Values before; None: the row is new.
        new: Values after; None: the row is deleted.
        concealed: Columns whose values are not shown.
    """
    names = [column.name for column in table.columns]
    if old is not None and new is not None:
        names = [name for name in names if old[name] != new[name]]
        if not names:
            return None
    columns = tuple(
        ColumnChange(
            name,
            None if old is None else _cell(old[name], hidden=name in concealed),
            None if new is None else _cell(new[name], hidden=name in concealed),
        )
        for name in names
    )
    kind: Kind = "inserted" if old is None else "deleted" if new is None else "updated"
    shown = tuple(
        KeyPart(name, Cell(None, hidden=True) if name in concealed else Cell(text))
        for name, text in zip((column.name for column in table.key), key, strict=True)
    )
    return RowChange(kind, shown, columns)


def _cell(value: Value, *, hidden: bool) -> Cell:
    text, length, _ = value
    if hidden:
        return Cell(None, hidden=True)
    return Cell(text, 0 if text is None or length is None else int(length) - len(text))
