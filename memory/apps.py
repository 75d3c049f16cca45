"""Memory of agents: the lowest of the apps, without models so far."""

from __future__ import annotations

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """Label ``memory``."""

    name = "memory"
