"""Results of commands: a view as JSON, as a sentence, as a table, or as a list of facts.

Usage::

    KEYS = Table.of(KeyOut, "KEY=prefix STATE NAME=name:40 SCOPES", SCOPES=_scopes)
    print_all(LIST_KEYS, KEYS)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, Generic, Self, TypeVar

from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from heartbit_site.cli.terminal.errors import OK
from heartbit_site.cli.terminal.output import as_json, one_line, write, write_view
from heartbit_site.cli.terminal.times import local_minute
from heartbit_site.contract.model import rows_of

Row = TypeVar("Row")

GAP: Final = 2  # spaces between two columns
INDENT: Final = 4  # spaces before what does not fit beside a row's first columns


@dataclass(frozen=True)
class Table(Generic[Row]):
    """The columns of a kind of row, and the styles of texts in them.

    Attributes:
        columns: The value that a row has below each title.
        styles: How a cell with exactly this text is drawn.
        none: The sentence for a list without rows; empty: the titles alone.
    """

    columns: Mapping[str, Callable[[Row], object]]
    styles: Mapping[str, str] = field(default_factory=dict)
    none: str = ""

    @classmethod
    def of(
        cls,
        view: type[Row],
        columns: str,
        *,
        styles: Mapping[str, str] | None = None,
        none: str = "",
        **computed: Callable[[Row], object],
    ) -> Self:
        """Return the table of a model's rows.

        Args:
            view: The model.
            columns: Titles, with `_` for a space, and the field below each: `TITLE=field`; of at
                most 40 characters: `TITLE=field:40`; a number in a format: `TITLE=field:,`; with a
                text in place of nothing: `TITLE=field|-`. `TITLE` alone is computed, or the field
                of that name.
            styles: As for the class.
            none: As for the class.
            computed: Columns that are not just a field, by title.
        """
        found: dict[str, Callable[[Row], object]] = {}
        for column in columns.split():
            title, _, name = column.partition("=")
            if title not in computed:
                computed[title] = _field(view, name or title.lower())
            found[title.replace("_", " ").strip()] = computed[title]
        return cls(found, styles or {}, none)

    def print(self, rows: Iterable[Row]) -> None:
        """Print rows below the titles."""
        console = Console(highlight=False)
        for line in self.lines(rows, console):
            console.print(line, soft_wrap=True)

    def lines(self, rows: Iterable[Row], console: Console) -> list[Text]:
        """Return aligned columns; on a narrow terminal the last ones go on below their row."""
        cells = [[one_line(str(of(row))) for of in self.columns.values()] for row in rows]
        lines = [list(self.columns), *cells]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        fitting = len(widths)
        if console.is_terminal:
            ends = itertools.accumulate(width + GAP for width in widths)
            fitting = max(1, sum(end - GAP <= console.width for end in ends))
        found = []
        for number, cells_of in enumerate(lines):
            line = Text(style="" if number else "dim")
            for cell, width in zip(cells_of[:fitting], widths, strict=False):
                line.append(cell, style=self.styles.get(cell, "") if number else "")
                line.append(" " * (width - cell_len(cell) + GAP))
            line.rstrip()
            found.append(line)
            rest = Text((" " * GAP).join(filter(None, cells_of[fitting:])), style=line.style)
            if rest:
                for part in rest.wrap(console, max(1, console.width - INDENT), overflow="fold"):
                    part.rstrip()
                    found.append(Text(" " * INDENT) + part)
        return found


def _field(view: type[Any], name: str) -> Callable[[Any], object]:
    """Return a function that reads a field, which may be one of a field's, as the text of a cell.

    Raises:
        AttributeError: The model has no such field.
    """
    name, _, default = name.partition("|")
    path, _, form = name.partition(":")
    first = path.partition(".")[0]
    if first not in view.model_fields and not hasattr(view, first):
        raise AttributeError(f"{view.__name__} has no field {first}")
    read = attrgetter(path)
    return lambda row: _cell(read(row) or default if default else read(row), form, path)


def _cell(value: object, form: str, name: str) -> object:
    """Return a field's text; a flag that is set is its name."""
    match value:
        case bool():
            return name if value else ""
        case datetime():
            return local_minute(value)
        case list() | tuple():
            return ", ".join(value)
        case str() if not form or form.isdecimal():
            return one_line(value, int(form or 0))
    return format(value, form) if form else value


def print_list(view: BaseModel, table: Table[Any], *, none: str = "") -> int:
    """Print a list as JSON or as a table; return the exit code.

    Args:
        view: The list as an operation answers it.
        table: The columns.
        none: The sentence for a list without rows; empty: the table's.
    """
    rows = getattr(view, rows_of(type(view)))
    text = "" if rows else none or table.none
    return print_view(view, lambda: write(text) if text else table.print(rows))


def print_done(view: BaseModel, sentence: str) -> int:
    """Print what a command has done as JSON or as a sentence; return the exit code."""
    return print_view(view, lambda: write(sentence))


def print_view(view: BaseModel, print_text: Callable[[], object], **more: Any) -> int:
    """Print a view as JSON with further values, or as text; return the exit code."""
    if as_json():
        write_view(view, **more)
    else:
        print_text()
    return OK


def print_facts(title: str, facts: Iterable[tuple[str, object]], *, width: int = 12) -> None:
    """Print a title and, below it, each fact that is not empty, on a line with its name."""
    write(one_line(title))
    for name, fact in facts:
        if fact:
            write(f"  {name:<{width}} {one_line(str(fact))}")
