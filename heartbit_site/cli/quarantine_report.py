"""Settle a quarantined run, and say what became of it. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import note, write, write_json

if TYPE_CHECKING:
    from heartbit_site.cli.operation import Operation, Settling


def settle(operation: Operation, run: str, how: Settling, *, as_json: bool) -> int:
    """Do it; of a new run the id goes to stdout."""
    found = operation.settle(run, how)
    run_id = found["run"]
    if as_json:
        write_json({"run": run_id, "status": found["status"]})
        return OK
    match how:
        case "retry":
            write(run_id)
        case "resume":
            write(f"Run {run_id} goes on where it was, alone in a process.")
        case "discard":
            write(f"Run {run_id} is discarded.")
    if found.get("home") == "local" and how != "discard":
        note(f"It is a local run: `heartbit resume {run_id}` goes on with it here.")
    return OK
