"""`heartbit serve`, `web`, `beat`, `up` and `down`: processes and services of this machine."""

from __future__ import annotations

import os
from typing import Final

from heartbit_site.base import variables
from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.cli.installation.startup import ensure_ready, in_use, kept
from heartbit_site.cli.options import common
from heartbit_site.cli.options.address import check_port, page_url, parse_address
from heartbit_site.cli.terminal.errors import OK, CommandError
from heartbit_site.cli.terminal.output import write
from heartbit_site.config.telemetry import apply_telemetry
from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory

SLOTS = common.option("--concurrency -c", "Execute at most N runs at once.", 100, min=1)
HEALTH = common.option("HOST:PORT", "Answer health checks there: /live and /ready.")


def serve(
    *,
    concurrency: int = SLOTS,
    queues: str = common.QUEUES,
    loglevel: common.LogLevel = common.LOG_LEVEL,
    bind: str = HEALTH,
) -> int:
    """Start a worker, which executes submitted runs.

    On Ctrl-C or SIGTERM it requeues its runs and exits. Tool calls with effects that are in
    flight get HEARTBIT_DRAIN_SECONDS (25) to finish first.
    """
    apply_telemetry(os.environ)
    health = parse_address(bind) if bind else None
    if health is not None:
        check_port(*health, options="--bind")
    ensure_ready("heartbit_site.cli.serving.worker", waits=True)
    from heartbit_site.cli.serving import worker

    return worker.serve(concurrency=concurrency, queues=queues, loglevel=loglevel, health=health)


WEB_PORT = common.option(
    "", "Listen on this port; 0: any free one, which is logged.", 8000, min=0, max=65535
)
WEB_BIND = common.option("ADDRESS", "Listen on this address.", "127.0.0.1")
GRACE = common.option("SECONDS", "Wait for open requests so long at the end.", 8, min=0)


def web(
    *,
    port: int = WEB_PORT,
    bind: str = WEB_BIND,
    grace: int = GRACE,
    loglevel: common.LogLevel = common.LOG_LEVEL,
) -> int:
    """Serve the web pages, the admin and the API.

    It starts neither workers nor beat: see `heartbit serve` and `heartbit beat`, or `heartbit up`
    for everything at once.
    """
    apply_telemetry(os.environ)
    check_port(bind, port)
    ensure_ready(waits=True)
    from django.conf import settings
    from django.db import connections

    from heartbit_site.web_server.serve import serve

    log_to_stderr(loglevel.upper(), force=True)
    connections.close_all()  # the server's threads have connections of their own
    with kept(settings.ENVIRONMENT):
        serve(bind=bind, port=port, graceful_seconds=grace, log_level=loglevel)
    return OK


def beat(*, loglevel: common.LogLevel = common.LOG_LEVEL) -> int:
    """Send periodic tasks to the workers when they are due.

    They start people's schedules, deliver results and webhooks, read mailboxes and delete what is
    past its retention. One beat an installation is enough.
    """
    apply_telemetry(os.environ)
    ensure_ready(waits=True)
    from django.conf import settings

    from heartbit_site.celery import app as celery
    from heartbit_site.celery_beat import PatientBeat

    log_to_stderr(loglevel.upper(), force=True)  # else Celery does, and raw
    with kept(settings.ENVIRONMENT):
        PatientBeat(app=celery, loglevel=loglevel.upper(), quiet=True).run()
    return OK


#: What the three processes import, here once for all of them: they are forks (`cli.fork`).
IMPORTED: Final = (
    "agents.tasks",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.backends.redis",
    "channels_redis.pubsub",
    "django_celery_beat.schedulers",
    "heartbit_site.asgi",
    "heartbit_site.celery_pool",
    "heartbit_site.cli.serving.all_in_one",
    "heartbit_site.cli.serving.worker",
    "heartbit_site.urls",
    "heartbit_site.web_server.connection",
    "scheduling.tasks",
)

PORT = common.option("", "Serve the web pages on this port.", 8000, min=1, max=65535)
BIND = common.option("ADDRESS", "Listen on this address.", "127.0.0.1")
WORKER_SLOTS = common.option("--concurrency -c", "Execute at most N runs at once.", 100, min=1)


def up(
    *,
    port: int = PORT,
    bind: str = BIND,
    concurrency: int = WORKER_SLOTS,
    queues: str = common.QUEUES,
) -> int:
    """Start everything here: worker, beat, web and services.

    Database and Valkey are the embedded ones unless DATABASE_URL and REDIS_URL name others. Links
    in mails lead to --port unless HEARTBIT_PUBLIC_URL says otherwise. One Ctrl-C ends all of it
    in order.
    """
    apply_telemetry(os.environ)
    check_port(bind, port)
    common.parse_queues(queues)  # before three processes start
    if not os.environ.get(variables.PUBLIC_URL.name, "").strip():
        os.environ[variables.PUBLIC_URL.name] = page_url(bind, port)  # of all its children as well
    admin = ensure_ready(*IMPORTED, waits=True)
    from heartbit_site.cli.serving import all_in_one

    return all_in_one.up(port=port, bind=bind, concurrency=concurrency, queues=queues, admin=admin)


FORCE = common.flag("--force -f", "Stop them even if other processes use them.")


def down(*, force: bool = FORCE) -> int:
    """Stop the embedded services now.

    By themselves they stop minutes after their last use. The next command starts them again.
    """
    state = StateDirectory()
    names = [name for name, status in client.status(state).services.items() if status.pid]
    if names and not force and in_use(state):
        raise CommandError(
            "Other processes use the embedded services: end them first (`heartbit serve`, "
            "`heartbit up`, ...), or stop the services all the same with --force."
        )
    client.stop(state)
    write(f"Stopped {', '.join(names)}." if names else f"Nothing runs in {state.path}.")
    return OK
