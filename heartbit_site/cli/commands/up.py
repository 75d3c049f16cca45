"""`heartbit up`: everything in one terminal."""

from __future__ import annotations

import os
from typing import Final

from heartbit_site.base import variables
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.address import check_port, page_url

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
BIND = common.option("ADDRESS", "On which address.", "127.0.0.1")
CONCURRENCY = common.option("--concurrency -c", "Runs the worker holds at once.", 100, min=1)


def up(
    *,
    port: int = PORT,
    bind: str = BIND,
    concurrency: int = CONCURRENCY,
    queues: str = common.QUEUES,
) -> int:
    """Start everything here: worker, beat, web and services.

    Database and Valkey are the embedded ones unless DATABASE_URL and REDIS_URL name others. Links
    in mails lead to --port unless HEARTBIT_PUBLIC_URL says otherwise. One Ctrl-C ends all of it
    in order.
    """
    check_port(bind, port)
    common.parse_queues(queues)  # before three processes start
    if not os.environ.get(variables.PUBLIC_URL.name, "").strip():
        os.environ[variables.PUBLIC_URL.name] = page_url(bind, port)  # of all its children as well
    admin = ensure_ready(*IMPORTED, waits=True)
    from heartbit_site.cli.serving import all_in_one

    return all_in_one.up(port=port, bind=bind, concurrency=concurrency, queues=queues, admin=admin)
