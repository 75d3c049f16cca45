"""Versions of agents and what changed between them, for a terminal."""

from __future__ import annotations

import shutil
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.visible_text import readable_json, visible
from heartbit_site.cli.output import one_line, write
from heartbit_site.cli.question import margined
from heartbit_site.cli.table import print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COLUMNS: Final = ("VERSION", "PUBLISHED", "RUNS", "HASH", "")
WIDEST: Final = 110
HASH: Final = 12


def print_versions(found: Mapping[str, Any]) -> None:
    """One a line, the newest first."""
    if not found["versions"]:
        write(f"The agent {one_line(found['agent'])} was never published.")
        return
    rows = [
        (
            str(version["number"]),
            f"{datetime.fromisoformat(version['created_at']).astimezone():%Y-%m-%d %H:%M}",
            str(version["runs"]),
            version["hash"][:HASH],
            "current" if version["current"] else "",
        )
        for version in found["versions"]
    ]
    print_table(COLUMNS, rows, styles={"current": "green"})


def print_diff(diff: Mapping[str, Any]) -> None:
    """What changed, setting by setting."""
    agent, older, newer = one_line(diff["agent"]), diff["older"], diff["newer"]
    if not diff["changed"]:
        write(f"{agent}: v{older} and v{newer} are the same.")
        return
    write(f"{agent}: from v{older} to v{newer}")
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    if diff["prompt"]:
        write("  system prompt")
        for line in margined(visible(diff["prompt"]), width):
            write(line)
    for change in diff["fields"]:
        write(f"  {_change(change)}")
    for noun in ("tools", "team"):
        for part in diff[noun]:
            for line in _part("tool" if noun == "tools" else "team member", part):
                write(f"  {line}")


def _change(change: Mapping[str, Any]) -> str:
    return f"{change['name']}: {_value(change['before'])} -> {_value(change['after'])}"


def _value(value: Any) -> str:
    return "-" if value is None else one_line(readable_json(value))


def _part(noun: str, part: Mapping[str, Any]) -> Iterator[str]:
    if part["kind"] != "changed":
        yield f"{noun} {one_line(part['name'])}: {part['kind']}"
        return
    if part["definition"]:
        yield f"{noun} {one_line(part['name'])}: described differently"
    for change in part["fields"]:
        yield f"{noun} {one_line(part['name'])}: {_change(change)}"
