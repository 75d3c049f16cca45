"""Collector of the metrics over PostgreSQL and Valkey, and the text that `GET /metrics` returns."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from heartbit_site.monitoring.metrics import METRICS
from heartbit_site.monitoring.readings import read_values

#: Seconds for which a text is served again: several scrapers cost no more than one.
FRESH_SECONDS: Final = 5.0


class InstallationCollector(Collector):
    """Collector of all metrics, with an empty family for one that has no value."""

    def collect(self) -> Iterator[Family]:
        """Return the families, in the order of their declaration."""
        families = {}
        for metric in METRICS:
            kind = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
            families[metric.name] = kind(metric.name, metric.help, labels=metric.labels)
        for name, labels, value in read_values():
            families[name].add_metric(list(labels), float(value))
        yield from families.values()


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
