"""`heartbit status`, `result` and `cancel`: a run, or the latest ones."""

from __future__ import annotations

import sys
import time
from typing import Final, NoReturn

from heartbit_site.base.errors import ConflictError
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import (
    CANNOT_START,
    FAILED,
    OK,
    CommandError,
    UsageError,
    explain,
)
from heartbit_site.cli.terminal.output import as_json, note, write, write_json
from heartbit_site.cli.views import outcome
from heartbit_site.cli.views.outcome import LIVE, conclude, past, run_tree, warn_without_worker
from heartbit_site.contract.runs import (
    CANCEL_RUN,
    LIST_RUNS,
    MAX_WAIT_SECONDS,
    SHOW_RUN,
    WAIT_FOR_RESULT,
)

SHOWN_RUN = common.argument("RUN", "The run's id, or its beginning; none: the last.", None)
LAST_RUNS = common.option("--last -n", "List at most N runs.", 20, min=1, max=1000)

REFRESH_SECONDS: Final = 1.0


def status(
    run: str | None = SHOWN_RUN,
    *,
    last: int = LAST_RUNS,
    watch: bool = common.WATCH,
    plain: bool = common.PLAIN,
) -> int:
    """Show the latest runs, or one run with its sub-agents."""
    # Of a run's waits, kinds may be declared beside tools.
    server = backend(reads_only=run is None)
    if run is None:
        if watch and not as_json():
            _watch_list(server, last)
        return outcome.print_runs(server.call(LIST_RUNS, limit=last).runs)
    from heartbit_site.cli.following.streams import print_tree, stay

    found = server.call(SHOW_RUN, run_id=common.run_id_of(run))
    if watch:
        outcome.warn_without_worker(found)
        return stay(server, found, plain=plain)
    if as_json():
        write_json(outcome.run_tree(found))
        return OK
    print_tree(server, found)
    if found.status in outcome.LIVE:
        outcome.warn_without_worker(found)
    else:
        write(f"\n{outcome.answer(found) if found.output else outcome.reason(found)}")
    return OK


def _watch_list(server: Backend, last: int) -> NoReturn:
    """List the last runs every second until Ctrl-C."""
    if not sys.stdout.isatty():
        raise UsageError("Name a run to watch; the list is watched on a terminal only.")
    from rich.console import Console, Group
    from rich.live import Live

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            runs = server.call(LIST_RUNS, limit=last).runs
            live.update(
                Group(*outcome.RUNS.lines(runs, console)) if runs else outcome.NO_RUNS, refresh=True
            )
            time.sleep(REFRESH_SECONDS)


WAIT = common.flag("--wait -w", "Wait until it has ended.")

RETRY_SECONDS: Final = 1.0
LOST_PATIENCE: Final = 60.0  # a server, or a database, that restarts is back within seconds


def result(run: str = common.RUN, *, wait: bool = WAIT) -> int:
    """Print a run's answer.

    The exit code says how the run ended; 1 also when it has not ended and --wait is not given.
    """
    server = backend(reads_only=True)
    found = server.call(SHOW_RUN, run_id=common.run_id_of(run))
    if found.status in LIVE:
        if not wait:
            raise CommandError(
                f"Run {found.id} has not ended ({found.status}): `heartbit result {found.id} "
                "--wait` waits for it."
            )
        warn_without_worker(found)
        _wait(server, found.id)
        found = server.call(SHOW_RUN, run_id=found.id)
    return conclude(found)


def _wait(server: Backend, run_id: str) -> None:
    """Wait for a run's end; ask again after a moment while a server or a database is down."""
    lost_at: float | None = None
    while True:
        try:
            found = server.call(WAIT_FOR_RESULT, run_id=run_id, wait=MAX_WAIT_SECONDS)
            if found.status not in LIVE:
                return
            lost_at = None
        except Exception as error:
            lost_at = lost_at or time.monotonic()
            code, _ = explain(error) or (FAILED, "")
            if code != CANNOT_START or time.monotonic() - lost_at > LOST_PATIENCE:
                raise
            time.sleep(RETRY_SECONDS)


CANCEL_SECONDS: Final = 10.0  # seconds for the run's end


def cancel(run: str = common.RUN) -> int:
    """Cancel a run and its sub-agents."""
    server = backend()
    found = server.call(SHOW_RUN, run_id=common.run_id_of(run))
    if found.status not in LIVE:
        raise ConflictError(f"Run {found.id} has ended already: it {past(found)}.")
    server.call(CANCEL_RUN, run_id=found.id)
    server.call(WAIT_FOR_RESULT, run_id=found.id, wait=CANCEL_SECONDS)
    found = server.call(SHOW_RUN, run_id=found.id)
    if as_json():
        write_json(run_tree(found))
    elif found.status in LIVE:
        note(f"Run {found.id} was told to stop; it ends as soon as its worker hears it.")
    else:
        write(f"Run {found.id} {past(found)}.")
    return OK
