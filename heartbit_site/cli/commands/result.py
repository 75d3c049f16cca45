"""`heartbit result`."""

from __future__ import annotations

import time
from typing import Final

from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import CANNOT_START, FAILED, CommandError, explain
from heartbit_site.cli.views.outcome import LIVE, conclude, warn_without_worker
from heartbit_site.contract.runs import MAX_WAIT_SECONDS, SHOW_RUN, WAIT_FOR_RESULT

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
