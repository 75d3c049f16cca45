"""Django's admin app with Heartbit's site, which is imported once the apps are loaded."""

from __future__ import annotations

from django.contrib.admin.apps import SimpleAdminConfig


class AdminConfig(SimpleAdminConfig):
    """The admin app without autodiscovery, which ``heartbit_site.urls`` does."""

    default_site = "heartbit_site.admin.site.HeartbitAdminSite"
