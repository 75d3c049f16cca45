"""Results of `heartbit agents versions`, `diff` and `rollback`. No Django."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.visible_text import readable_json, visible
from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import note, one_line, write, write_view
from heartbit_site.cli.question import margined
from heartbit_site.cli.table import Table, print_list
from heartbit_site.cli.times import local_minute
from heartbit_site.contract import versions as contract
from heartbit_site.contract.versions import VersionOut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.contract.versions import DiffOut, FieldChangeOut, PartChangeOut

WIDEST: Final = 110
HASH: Final = 12  # characters of a hash
VERSIONS: Final = Table[VersionOut](
    {
        "VERSION": lambda version: version.number,
        "PUBLISHED": lambda version: local_minute(version.created_at),
        "RUNS": lambda version: version.runs,
        "HASH": lambda version: version.hash[:HASH],
        "": lambda version: "current" if version.current else "",
    },
    {"current": "green"},
)


def list_all(url: str | None, agent: str, *, as_json: bool) -> int:
    """Print an agent's versions, one a line, the newest first."""
    found = backend_for(url).every(contract.LIST_VERSIONS, name=agent)
    none = f"The agent {one_line(found.agent)} was never published."
    return print_list(found, VERSIONS.of(found.versions), none=none, as_json=as_json)


def compare(
    url: str | None, agent: str, older: int | None, newer: int | None, *, as_json: bool
) -> int:
    """Print what changed between two versions of an agent, setting by setting."""
    found = backend_for(url).call(contract.COMPARE_VERSIONS, name=agent, older=older, newer=newer)
    if as_json:
        write_view(found)
    else:
        _print_diff(found)
    return OK


def roll_back(url: str | None, agent: str, number: int, *, force: bool, as_json: bool) -> int:
    """Bring an agent back to an earlier version and print which one it has now."""
    body = contract.RollbackIn(force=force)
    done = backend_for(url).call(contract.ROLL_BACK, body, name=agent, number=number)
    if as_json:
        write_view(done)
        return OK
    write(f"{done.agent} is v{done.version} now: its next runs use it.")
    if done.differs:
        note(f"Not as in v{done.requested_version}: {done.differs}.")
    return OK


def _print_diff(diff: DiffOut) -> None:
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
