"""The Celery application: settings of the broker, and the bootsteps of a worker process.

Postgres holds the truth; a message is a wake-up. So runs are acknowledged early, never retried,
delayed or revoked by Celery (docs/decisions/0002).
"""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from django.conf import settings
from kombu import Connection

from agents.housekeeping.beat import BEAT_SCHEDULE
from heartbit_site import kombu_patches
from heartbit_site.base import queues
from heartbit_site.environment import celery_broker, celery_tls

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")
# Django's checks would import every page in workers and Beat; `manage.py check` is for deployers.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
kombu_patches.install()

# Timeout of a broker that does not answer. A worker waits for messages without a timeout.
SOCKET_SECONDS = 1.0

#: The longest pause between two attempts of a worker to reach an unavailable broker. Celery's own
#: would grow to half a minute, in which the worker hears nothing after a long outage.
LOOK_SECONDS = 3.0


class PatientConnection(Connection):
    """A worker's connection, which reconnects at a steady pace."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """Connect as kombu does, with the caller's ``max_retries`` and callbacks."""
        pace = {"interval_start": 1, "interval_step": 1, "interval_max": LOOK_SECONDS}
        return super().ensure_connection(*args, **(pace | options))


app = Celery("heartbit", set_as_current=True)
app.amqp.Connection = PatientConnection
app.conf.update(
    broker_url=celery_broker(settings.REDIS_URL),
    result_backend=celery_broker(settings.REDIS_URL),
    broker_use_ssl=celery_tls(settings.REDIS_URL),
    redis_backend_use_ssl=celery_tls(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": 600,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_timeout": SOCKET_SECONDS,
        "socket_connect_timeout": SOCKET_SECONDS,
        "max_retries": 0,  # to connect for one message; a worker's own connection retries for ever
    },
    redis_socket_timeout=SOCKET_SECONDS,
    redis_socket_connect_timeout=SOCKET_SECONDS,
    result_backend_transport_options={"retry_policy": {"max_retries": 1}},  # chords are wake-ups
    accept_content=["json"],
    task_acks_late=False,
    task_ignore_result=True,
    result_expires=3600,
    result_chord_expires=30 * 24 * 3600,  # a chord may wait for a person
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=True,  # a full worker takes no wake-up that a free one could serve
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_disable_rate_limits=True,
    worker_hijack_root_logger=False,
    task_default_queue=queues.SYSTEM,
    task_publish_retry=False,
    timezone="UTC",
    imports=("agents.tasks", "scheduling.tasks", "heartbit_site.monitoring.tasks"),
    beat_schedule=BEAT_SCHEDULE,
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    beat_sync_every=1,
    beat_max_loop_interval=1,
    beat_cron_starting_deadline=600,
)

# Two lines for each wake-up say nothing: the outcome of a run is in its journal.
for chatty in ("celery.worker.strategy", "celery.app.trace"):
    logging.getLogger(chatty).setLevel(logging.WARNING)

app.autodiscover_tasks()  # the `tasks` modules of HEARTBIT_EXTRA_APPS
app.steps["worker"].add("heartbit_site.worker:RunHost")
