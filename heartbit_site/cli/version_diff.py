"""The difference between two versions of an agent, as text. No Django."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.visible_text import readable_json, visible
from heartbit_site.cli.output import one_line, write
from heartbit_site.cli.question import margined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.definitions.snapshot_diff import FieldChangeOut, PartChangeOut
    from heartbit_site.contract.versions import DiffOut

WIDEST: Final = 110


def print_diff(diff: DiffOut) -> None:
    """Print what changed, setting by setting."""
    agent, older, newer = one_line(diff.agent), diff.older, diff.newer
    if not diff.changed:
        write(f"{agent}: v{older} and v{newer} are the same.")
        return
    write(f"{agent}: from v{older} to v{newer}")
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    if diff.prompt:
        write("  system prompt")
        for line in margined(visible(diff.prompt), width):
            write(line)
    for change in diff.fields:
        write(f"  {_change(change)}")
    for noun, parts in (("tool", diff.tools), ("team member", diff.team)):
        for part in parts:
            for line in _part(noun, part):
                write(f"  {line}")


def _change(change: FieldChangeOut) -> str:
    return f"{change.name}: {_value(change.before)} -> {_value(change.after)}"


def _value(value: Any) -> str:
    return "-" if value is None else one_line(readable_json(value))


def _part(noun: str, part: PartChangeOut) -> Iterator[str]:
    if part.kind != "changed":
        yield f"{noun} {one_line(part.name)}: {part.kind}"
        return
    if part.definition:
        yield f"{noun} {one_line(part.name)}: described differently"
    for change in part.fields:
        yield f"{noun} {one_line(part.name)}: {_change(change)}"
