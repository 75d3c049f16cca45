"""App of definitions, runs, the loop, orchestration and live output."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save


class AgentsConfig(AppConfig):
    """Label ``agents``."""

    name = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        """Follow the audit: whatever people change writes an entry, so pages learn of it there."""
        post_save.connect(_notify_pages, sender="base.AuditEntry", dispatch_uid="agents.live")


def _notify_pages(instance: Any, **signal: Any) -> None:
    from agents.live.changes import EVERYWHERE, notify_on_commit

    notify_on_commit(instance.workspace_id or EVERYWHERE, "definitions")
