"""One run in a process of its own: ``python -m heartbit_site.alone RUN`` (agents.runtime.alone)."""

from __future__ import annotations

import logging
import signal
import sys
from uuid import UUID

from heartbit_site.base import aio
from heartbit_site.bootstrap import prepare


def main(run_id: UUID) -> None:
    """Work one slice of the run, then leave; SIGTERM hands it back."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)-7s alone: %(message)s",
        force=True,
    )
    prepare()
    from agents.runtime import worker  # noqa: PLC0415  needs Django set up

    worker.start(queues=(), slots=1)
    signal.signal(signal.SIGTERM, lambda *_: worker.drain())
    try:
        aio.run(worker.host().process.execute(run_id, f"alone-{run_id}", alone=True))
    finally:
        worker.stop()


if __name__ == "__main__":
    main(UUID(sys.argv[1]))
