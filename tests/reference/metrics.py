"""Metrics of an installation."""

from __future__ import annotations

from heartbit_site.monitoring.metrics import METRICS
from tests.reference.markdown import table


def page() -> str:
    """Return the page."""
    rows = ([f"`{one.name}`", one.kind, ", ".join(one.labels), one.help] for one in METRICS)
    return (
        "# Metrics\n\nWhat `GET /metrics` shows ([monitoring](../howto/monitoring.md)).\n\n"
        + table("metric, kind, labels, meaning", rows)
    )
