"""`heartbit status`."""

from __future__ import annotations

import sys
import time
from typing import Final, NoReturn

from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.output import as_json, write, write_json
from heartbit_site.cli.views import outcome
from heartbit_site.contract.runs import LIST_RUNS, SHOW_RUN

RUN = common.argument("RUN", "The run's id, or how it begins; none: the last.", None)
LAST = common.option("--last -n", "List at most N runs.", 20, min=1, max=1000)

REFRESH_SECONDS: Final = 1.0


def status(
    run: str | None = RUN,
    *,
    last: int = LAST,
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
