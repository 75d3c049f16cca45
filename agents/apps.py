"""App of definitions, runs, the loop, orchestration and live output."""

from __future__ import annotations

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Label ``agents``."""

    name = "agents"
    verbose_name = "Agents"
