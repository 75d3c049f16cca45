"""The bottom app: tenancy, the usage ledger, and the small parts that every app uses."""

from __future__ import annotations

from django.apps import AppConfig


class BaseConfig(AppConfig):
    """The app with the label ``base``: tables are named ``base_*``."""

    name = "heartbit_site.base"
    label = "base"
    verbose_name = "Workspaces"

    def ready(self) -> None:
        """Refuse a class of accounts that is no use."""
        from heartbit_site.base.people import check_class

        check_class()
