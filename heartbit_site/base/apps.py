"""The app at the bottom: tenancy, the usage ledger, and the small parts every app stands on."""

from __future__ import annotations

from django.apps import AppConfig


class BaseConfig(AppConfig):
    """Label ``base``: tables are named ``base_*``."""

    name = "heartbit_site.base"
    label = "base"
    verbose_name = "Workspaces"
