"""The values of the metrics, read from PostgreSQL and Valkey."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import redis
from django.conf import settings

from agents.llm.providers import PROVIDERS
from agents.reads.fleet import read_fleet
from agents.runtime.providers.accounts import account_name
from agents.runtime.providers.open_circuits import open_circuits
from heartbit_site.base.models import ProviderAccount
from heartbit_site.base.query import fetch_all
from heartbit_site.monitoring.metrics import VALUES

#: A metric's name, the values of its labels, and its own.
Value = tuple[str, Sequence[str], float]


def read_values() -> Iterator[Value]:
    """Yield the values; a metric without rows, or of an unavailable Valkey, has none."""
    yield from fetch_all(VALUES)
    yield from _of_fleet()
    yield from _of_circuits()


def _of_fleet() -> Iterator[Value]:
    fleet = read_fleet()
    for queue in fleet.queues:
        yield "heartbit_queue_runs", (queue.name,), queue.depth
        yield "heartbit_queue_blocked_runs", (queue.name,), queue.blocked
        yield "heartbit_queue_running_runs", (queue.name,), queue.running
        yield "heartbit_queue_oldest_seconds", (queue.name,), queue.oldest_seconds
        yield "heartbit_queue_workers", (queue.name,), queue.workers
    states = Counter(worker.state for worker in fleet.workers)
    for state in ("alive", "leaving", "stale"):
        yield "heartbit_workers", (state,), states[state]
    yield "heartbit_worker_slots", (), fleet.totals.slots
    yield "heartbit_worker_slots_used", (), fleet.totals.slots_used
    for kind, number in Counter(pause.kind for pause in fleet.pauses).items():
        yield "heartbit_pauses", (kind,), number


def _of_circuits() -> Iterator[Value]:
    accounts = ProviderAccount.objects.filter(enabled=True).values_list("pk", flat=True)
    names = [*map(account_name, accounts), *(f"environment:{name}" for name in PROVIDERS)]
    try:
        circuits = open_circuits(settings.REDIS_URL, names)
    except redis.RedisError:
        yield "heartbit_valkey_up", (), 0
        return
    yield "heartbit_valkey_up", (), 1
    yield "heartbit_open_circuits", (), len(circuits)
