"""Django's admin app with Heartbit's site; the site is imported when the apps are there."""

from __future__ import annotations

from django.contrib.admin.apps import SimpleAdminConfig


class AdminConfig(SimpleAdminConfig):
    """Without autodiscovery, which ``heartbit_site.urls`` does."""

    default_site = "heartbit_site.base.admin_site.HeartbitAdminSite"
