"""Collector of the metrics over PostgreSQL and Valkey, and the text that `GET /metrics` returns."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import redis
from django.conf import settings
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from agents.llm.providers import PROVIDERS
from agents.reads.fleet import read_fleet
from agents.runtime.providers.accounts import account_name
from agents.runtime.providers.open_circuits import open_circuits
from heartbit_site.base.models import ProviderAccount
from heartbit_site.base.query import fetch_all
from heartbit_site.monitoring.metrics import METRICS, VALUES

#: Seconds for which a text is served again: several scrapers cost no more than one.
FRESH_SECONDS: Final = 5.0

Value = tuple[str, Iterable[str], float]


class InstallationCollector(Collector):
    """Collector of all metrics, with an empty family for one that has no value."""

    def collect(self) -> Iterator[Family]:
        """Return the families, in the order of their declaration."""
        families = {}
        for metric in METRICS:
            kind = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
            families[metric.name] = kind(metric.name, metric.help, labels=metric.labels)
        for name, labels, value in (*fetch_all(VALUES), *_of_fleet(), *_of_circuits()):
            families[name].add_metric(list(labels), float(value))
        yield from families.values()


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


class MetricsText:
    """The metrics in Prometheus's text format, cached for five seconds. Thread-safe."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(InstallationCollector())
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._text = b""

    def read(self) -> bytes:
        """Return the text; concurrent callers wait for one reading. Blocks."""
        with self._reading:
            if time.monotonic() - self._read_at > FRESH_SECONDS:
                self._text = generate_latest(self._registry)
                self._read_at = time.monotonic()
            return self._text
