"""One run in a process of its own: ``python -m heartbit_site.isolated_run RUN``."""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import signal
import sys
from uuid import UUID

from django.conf import settings

from heartbit_site.base import aio
from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.bootstrap import attach


def main(run_id: UUID) -> None:
    """Execute one slice of the run, then exit; SIGTERM requeues the run."""
    log_to_stderr(logging.INFO, "%(asctime)s %(levelname)-7s alone: %(message)s", force=True)
    attach()  # the worker that starts this one has prepared the installation
    from agents.runtime import worker  # noqa: PLC0415  needs Django set up

    worker.start(queues=(), slots=1)
    aio.submit(_watched(3 * settings.HEARTBIT_LEASE_SECONDS))
    signal.signal(signal.SIGTERM, lambda *_: worker.drain())
    try:
        aio.run(worker.host().process.execute(run_id, f"alone-{run_id}", alone=True))
    finally:
        faulthandler.cancel_dump_traceback_later()
        worker.stop()


async def _watched(seconds: float) -> None:
    """End the process when its loop is stuck: by then another worker has claimed its run."""
    while True:
        faulthandler.dump_traceback_later(seconds, exit=True)
        await asyncio.sleep(1)


if __name__ == "__main__":
    main(UUID(sys.argv[1]))
