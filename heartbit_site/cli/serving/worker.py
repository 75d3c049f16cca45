"""A Celery worker in this process, with the pool of one loop and many waiting threads."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import warnings

from celery.exceptions import SecurityWarning
from django.conf import settings

from agents.llm import defaults
from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.celery import app
from heartbit_site.cli.installation.startup import kept
from heartbit_site.cli.options import common
from heartbit_site.health_server import HealthServer
from heartbit_site.worker import restart_if_asked


def serve(*, concurrency: int, queues: str, loglevel: str, health: tuple[str, int] | None) -> int:
    """Work until asked to stop; `health`: address that answers health checks meanwhile."""
    names = common.parse_queues(queues)
    model = defaults.default_model(os.environ)  # a wrong setting is said now, not in each run
    log_to_stderr(loglevel.upper(), force=True)
    logging.getLogger(__name__).info(
        "Worker %s serves %s with %d slots; the default model is %s.",
        os.getpid(),
        ", ".join(names),
        concurrency,
        model,
    )
    # It warns of running as root, for the sake of pickled messages; ours are JSON.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    # Not through Celery's own command line, which loses the worker's exit code.
    worker = app.Worker(
        hostname=f"heartbit-{os.getpid()}@{socket.gethostname()}",  # several on one machine
        pool_cls="heartbit_site.celery_pool:LoopThreadPool",
        concurrency=concurrency,
        queues=names,
        loglevel=loglevel.upper(),
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    with kept(settings.ENVIRONMENT), contextlib.ExitStack() as stack:
        if health is not None:
            server = stack.enter_context(HealthServer(*health))
            logging.getLogger(__name__).info("Health checks are answered at %s.", server.url)
        worker.start()
    restart_if_asked()  # `heartbit fleet restart`
    code: int | None = worker.exitcode
    return code or 0
