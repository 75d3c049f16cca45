"""`heartbit runs archive` and `export`: take runs out of the database, or only read them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.housekeeping.archive_runs import (
    Archived,
    archive_workspace,
    count_archivable,
    directory,
)
from agents.querysets import find_run
from agents.runs.archive import tree_lines
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import note, write, write_exactly, write_json
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from typing import Any


def archive(*, days: int | None, dry_run: bool, as_json: bool) -> int:
    """Archive runs older than some days, or than the workspace's policy says."""
    workspace = default_workspace()
    if dry_run:
        found = count_archivable(workspace, days=days)
        if as_json:
            write_json(_described(found))
        else:
            write(f"{_counted(found)} would go into {directory()} and leave the database.")
        return OK
    done = archive_workspace(workspace, days=days, said=_say)
    if as_json:
        write_json(_described(done))
        return OK
    if done.files:
        write(f"{_counted(done)} left the database; they are in:")
        for path in done.files:
            write(f"  {path}")
    else:
        write("Nothing is old enough.")
    if done.kept:
        write(f"{done.kept} runs changed meanwhile and stay.")
    return OK


def export(text: str) -> int:
    """Write a run's whole tree as JSON lines, as an archive holds it; the run stays."""
    run = find_run(default_workspace(), text)
    for line in tree_lines([run.root_id]):
        write_exactly(f"{line}\n")
    return OK


def _say(done: Archived) -> None:
    note(f"{_counted(done)} archived so far ...")


def _counted(found: Archived) -> str:
    runs = "1 run" if found.runs == 1 else f"{found.runs:,} runs"
    threads = found.conversations
    if not threads:
        return runs
    return f"{runs} and {'1 conversation' if threads == 1 else f'{threads:,} conversations'}"


def _described(found: Archived) -> dict[str, Any]:
    return {
        "runs": found.runs,
        "conversations": found.conversations,
        "kept": found.kept,
        "files": [str(path) for path in found.files],
    }
