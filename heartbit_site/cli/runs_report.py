"""Results of commands about runs: list, show, result, cancel, settle. No Django by itself."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Literal

from rich.console import Console, Group
from rich.live import Live

from heartbit_site.cli import errors
from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.describe import run_summary, run_tree
from heartbit_site.cli.errors import CANNOT_START, OK, USAGE, CommandError, explain
from heartbit_site.cli.outcome import LIVE, answer, conclude, past, reason, warn_without_worker
from heartbit_site.cli.output import note, write, write_json, write_view
from heartbit_site.cli.run_names import run_id_of
from heartbit_site.cli.run_streams import print_tree, stay
from heartbit_site.cli.runs_table import NO_RUNS, table
from heartbit_site.contract.runs import (
    CANCEL_RUN,
    DISCARD_RUN,
    LIST_RUNS,
    MAX_WAIT_SECONDS,
    RETRY_RUN,
    SHOW_RUN,
    UNQUARANTINE_RUN,
    WAIT_FOR_RESULT,
)

if TYPE_CHECKING:
    from heartbit_site.cli.backend import Backend
    from heartbit_site.contract.runs import RunSummaryOut

Settling = Literal["retry", "unquarantine", "discard"]
REFRESH_SECONDS: Final = 1.0
CANCEL_PATIENCE: Final = 10.0
LOST_PATIENCE: Final = 60.0  # a server, or a database, that restarts is back within seconds
_SETTLE: Final = {"retry": RETRY_RUN, "unquarantine": UNQUARANTINE_RUN, "discard": DISCARD_RUN}


def list_runs(
    url: str | None,
    count: int,
    *,
    agent: str = "",
    status: str = "",
    watch: bool = False,
    as_json: bool,
) -> int:
    """List the last runs of an agent, or in a state, or of all.

    Those that people started; of a named agent, also those it did as a sub-agent. With ``watch``,
    again every second until Ctrl-C.
    """
    backend = backend_for(url)

    def last() -> list[RunSummaryOut]:
        return backend.call(
            LIST_RUNS,
            limit=count,
            agent=agent or None,
            status=status or None,
            children=bool(agent) or None,
        ).runs

    if as_json:
        write_json({"runs": [run_summary(run) for run in last()]})
        return OK
    console = Console(highlight=False)
    if not watch:
        none = "No such runs." if agent or status else NO_RUNS
        for line in table(last(), console, none=none):
            console.print(line, soft_wrap=True)
        return OK
    if not sys.stdout.isatty():
        raise CommandError("Name a run to watch; the list is watched on a terminal only.", USAGE)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(Group(*table(last(), console)), refresh=True)
            time.sleep(REFRESH_SECONDS)


def one_run(url: str | None, name: str, *, watch: bool, as_json: bool, plain: bool) -> int:
    """Show one run with its sub-agents."""
    backend = backend_for(url)
    run = backend.call(SHOW_RUN, run_id=run_id_of(name))
    if watch:
        warn_without_worker(run)
        return stay(backend, run, as_json=as_json, plain=plain)
    if as_json:
        write_json(run_tree(run))
        return OK
    print_tree(backend, run)
    if run.status in LIVE:
        warn_without_worker(run)
    else:
        write(f"\n{answer(run) if run.output else reason(run)}")
    return OK


def result(url: str | None, name: str, *, wait: bool, as_json: bool) -> int:
    """Print how a run ended."""
    backend = backend_for(url)
    run = backend.call(SHOW_RUN, run_id=run_id_of(name))
    if run.status in LIVE:
        if not wait:
            raise CommandError(
                f"Run {run.id} has not ended ({run.status}): `heartbit result {run.id} --wait` "
                "waits for it."
            )
        warn_without_worker(run)
        _wait(backend, run.id)
        run = backend.call(SHOW_RUN, run_id=run.id)
    return conclude(run, as_json=as_json)


def cancel(url: str | None, name: str, *, as_json: bool) -> int:
    """Cancel a run and wait a little for its end."""
    backend = backend_for(url)
    run = backend.call(SHOW_RUN, run_id=run_id_of(name))
    if run.status not in LIVE:
        raise CommandError(f"Run {run.id} has ended already: it {past(run)}.", errors.FAILED)
    backend.call(CANCEL_RUN, run_id=run.id)
    backend.call(WAIT_FOR_RESULT, run_id=run.id, wait=CANCEL_PATIENCE)
    run = backend.call(SHOW_RUN, run_id=run.id)
    if as_json:
        write_json(run_tree(run))
    elif run.status in LIVE:
        note(f"Run {run.id} was told to stop; it ends as soon as its worker hears it.")
    else:
        write(f"Run {run.id} {past(run)}.")
    return OK


def settle(url: str | None, name: str, how: Settling, *, as_json: bool) -> int:
    """Settle a quarantine, or do a run's task again; of a new run the id goes to stdout."""
    found = backend_for(url).call(_SETTLE[how], run_id=run_id_of(name))
    if as_json:
        write_view(found)
        return OK
    match how:
        case "retry":
            write(found.id)
        case "unquarantine":
            write(f"Run {found.id} goes on where it was, alone in a process.")
        case "discard":
            write(f"Run {found.id} is discarded.")
    if found.placement == "local" and how != "discard":
        note(f"It is a local run: `heartbit resume {found.id}` where it began goes on with it.")
    return OK


def _wait(backend: Backend, run_id: str) -> None:
    """Wait for a run's end; ask again after a moment while a server or a database is down."""
    lost_at: float | None = None
    while True:
        try:
            found = backend.call(WAIT_FOR_RESULT, run_id=run_id, wait=MAX_WAIT_SECONDS)
            if found.status not in LIVE:
                return
            lost_at = None
        except Exception as error:
            lost_at = lost_at or time.monotonic()
            code, _ = explain(error) or (errors.FAILED, "")
            if code != CANNOT_START or time.monotonic() - lost_at > LOST_PATIENCE:
                raise
            time.sleep(REFRESH_SECONDS)
