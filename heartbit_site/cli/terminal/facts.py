"""An answer as a list of facts, each of its fields one."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel

from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.cli.terminal.table import print_facts
from heartbit_site.cli.terminal.times import local_minute

#: Fields that an answer is called by, the best first.
_TITLES: Final = ("name", "heading", "username", "slug", "prefix", "id")


def print_fields(view: BaseModel) -> None:
    """Print the fields of an answer: its name, and below it every other fact that it has."""
    facts = {name: fact(value) for name, value in view}
    title = next((facts.pop(name) for name in _TITLES if facts.get(name)), "")
    width = max((len(name) for name, text in facts.items() if text), default=0) + 1
    rows = [(name.replace("_", " "), text) for name, text in facts.items()]
    print_facts(title, rows, width=max(12, width))


def fact(value: Any) -> str:
    """Return a field's value as the text of a fact; empty: there is none."""
    match value:
        case None | "" | [] | {}:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return local_minute(value)
        case [*rows] if all(isinstance(row, str) for row in rows):
            return ", ".join(rows)
        case BaseModel():
            return readable_json(value.model_dump(mode="json"))
        case list() | dict():
            plain: Any = list(map(_plain, value)) if isinstance(value, list) else value
            return readable_json(plain)
    return one_line(str(value))


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value
