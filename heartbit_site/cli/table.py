"""Rows of text as a table. Pure but for the console it is printed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from heartbit_site.base.terminal_text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, styles: Mapping[str, str] | None = None
) -> None:
    """Print aligned columns; the last one is as long as it gets, or as the terminal is wide.

    Args:
        head: The columns' titles.
        rows: One text a column; what steers a terminal is removed.
        styles: How a cell with exactly this text is drawn.
    """
    rows = [[clean(cell).replace("\n", " ") for cell in row] for row in rows]
    console = Console(highlight=False)
    widths = [max(cell_len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        line = Text(style="dim" if row is head else "")
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            last = column == len(head) - 1
            line.append(cell, style=(styles or {}).get(cell, "") if row is not head else "")
            line.append("" if last else " " * (width - cell_len(cell) + 2))
        line.rstrip()
        if console.is_terminal:
            line.truncate(console.width, overflow="ellipsis")
        console.print(line, soft_wrap=True)
