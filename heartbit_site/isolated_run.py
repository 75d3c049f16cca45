"""Suspect runs in a process of their own: ``python -m heartbit_site.isolated_run RUN...``."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from heartbit_site.base import aio
from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.bootstrap import attach

if TYPE_CHECKING:
    from agents.runtime.execution.run_executor import RunExecutor


def main(run_ids: Sequence[UUID]) -> None:
    """Execute one slice of each run, then exit; SIGTERM requeues the runs."""
    log_to_stderr(logging.INFO, "%(asctime)s %(levelname)-7s apart: %(message)s", force=True)
    attach()  # the worker that starts this one has prepared the installation
    from agents.runtime.execution import worker  # noqa: PLC0415  needs Django set up

    worker.start(queues=(), slots=len(run_ids))
    signal.signal(signal.SIGTERM, lambda *_: worker.drain())
    try:
        aio.run(_execute(worker.host().process, run_ids))
    finally:
        worker.stop()


async def _execute(process: RunExecutor, run_ids: Sequence[UUID]) -> None:
    await asyncio.gather(
        *(process.execute(run_id, f"alone-{run_id}", alone=True) for run_id in run_ids)
    )


if __name__ == "__main__":
    main([UUID(run_id) for run_id in sys.argv[1:]])
