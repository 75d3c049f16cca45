"""App of definitions, runs, the loop, orchestration and live output."""

from __future__ import annotations

import sys
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save
from django.utils.module_loading import autodiscover_modules


class AgentsConfig(AppConfig):
    """Label ``agents``."""

    name = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        """Follow the audit, whose entries tell pages what people change, and the apps' triggers."""
        post_save.connect(_notify_pages, sender="base.AuditEntry", dispatch_uid="agents.live")
        autodiscover_modules("agent_triggers")
        if "agents.definitions.triggers" in sys.modules:  # few installations have any
            from agents.actions.triggered_runs import follow_all

            follow_all()


def _notify_pages(instance: Any, **signal: Any) -> None:
    from agents.live.changes import EVERYWHERE, notify_on_commit

    notify_on_commit(instance.workspace_id or EVERYWHERE, "definitions")
