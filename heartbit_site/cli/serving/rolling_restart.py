"""Stop workers, or restart them one after the other, and wait for it. No Django."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from agents.reads.views import FleetOut, WorkerOut
from heartbit_site.cli.terminal.errors import FAILED, CommandError, UsageError
from heartbit_site.cli.terminal.output import note
from heartbit_site.contract.fleet import RESTART_WORKER, SHOW_FLEET, STOP_WORKER

if TYPE_CHECKING:
    from heartbit_site.cli.backend.protocol import Backend

LOOK_SECONDS: Final = 0.25
SAY_SECONDS: Final = 5.0


def chosen(fleet: FleetOut, text: str | None) -> list[WorkerOut]:
    """Return the named workers: one by id, host:pid or pid; None: all that answer.

    Raises:
        CommandError: There is none, or several are meant.
    """
    workers = [row for row in fleet.workers if row.queues]
    if text is None:
        for row in workers:
            if row.state == "stale":
                note(f"{row.name} is silent and not asked: the sweepers take its runs.")
        return [row for row in workers if row.state != "stale"]
    found = [row for row in workers if text in (str(row.id), row.name)]
    found = found or [row for row in workers if row.name.endswith(f":{text}")]
    if len(found) == 1:
        return found
    problem = "several workers are" if found else "no worker is"
    raise UsageError(
        f"By {text[:60]!r} {problem} meant: `heartbit fleet` lists them, name one by its id."
    )


def stop(backend: Backend, workers: Sequence[WorkerOut], *, patience: float) -> None:
    """Ask all of them at once, and wait until they have left.

    Raises:
        CommandError: One is still there.
    """
    for row in workers:
        backend.call(STOP_WORKER, worker_id=row.id)
    ids = {row.id for row in workers}

    def left() -> str:
        there = [row for row in backend.call(SHOW_FLEET).workers if row.id in ids]
        return ", ".join(f"{row.name} holds {row.slots_used} runs" for row in there)

    still = _wait(left, patience)
    if still:
        raise CommandError(
            f"Not every worker has left within {patience:g} s ({still}): it leaves when its "
            "running tool calls have ended; see its log.",
            FAILED,
        )


def restart(backend: Backend, workers: Sequence[WorkerOut], *, patience: float) -> None:
    """Restart workers one after the other: the next is asked when the one before is back.

    Raises:
        CommandError: One is not back; those after it were not asked.
    """
    for number, row in enumerate(workers, start=1):
        note(f"{number} of {len(workers)}: {row.name} restarts ...")
        backend.call(RESTART_WORKER, worker_id=row.id)
        missing = _wait(partial(_missing, backend, row), patience)
        if missing:
            rest = len(workers) - number
            raise CommandError(
                f"The worker {row.name} is not back within {patience:g} s ({missing}): its log "
                f"says why; {rest} others were not asked.",
                FAILED,
            )


def _missing(backend: Backend, row: WorkerOut) -> str:
    """Return the condition that a restart still waits for; empty: the worker is back."""
    there = backend.call(SHOW_FLEET).workers
    for other in there:
        if other.id == row.id:
            return f"it holds {other.slots_used} runs"
    back = any(
        other.name == row.name and other.id > row.id and other.state == "alive" for other in there
    )
    return "" if back else "it has left and starts"


def _wait(waits_for: Callable[[], str], patience: float) -> str:
    """Return the unmet condition after a time; empty: none."""
    began = said = time.monotonic()
    while True:
        found = waits_for()
        now = time.monotonic()
        if not found or now - began > patience:
            return found
        if now - said > SAY_SECONDS:
            said = now
            note(f"  after {now - began:.0f} s: {found}")
        time.sleep(LOOK_SECONDS)
