"""What agents remember: the lowest of the apps; its models come with the memory issue."""

from __future__ import annotations

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """Label ``memory``."""

    name = "memory"
