"""Celery task of the alert rules, and of the workspaces' alerts."""

from __future__ import annotations

from celery import shared_task

from heartbit_site.base import queues
from heartbit_site.monitoring import alerts, workspace_alerts


@shared_task(name=queues.SEND_ALERTS)
def send_alerts() -> int:
    """Evaluate the alert rules and the workspaces' alerts; return the number of notices."""
    return alerts.send_alerts() + workspace_alerts.send_workspace_alerts()
