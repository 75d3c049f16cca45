"""App of the memory of agents, the lowest of the apps."""

from __future__ import annotations

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """Label ``memory``."""

    name = "memory"
