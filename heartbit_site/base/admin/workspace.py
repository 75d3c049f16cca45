"""Workspaces in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin

from heartbit_site.base.admin.themed import ModelAdmin
from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest


@admin.register(Workspace)
class WorkspaceAdmin(ModelAdmin[Workspace]):
    """Create and rename workspaces, and say how long their runs are kept.

    The short name is fixed: commands and URLs hold it.
    """

    list_display = ("name", "slug", "retention_days", "created_at")
    search_fields = ("name", "slug")
    fields = ("name", "slug", "default_model", "retention_days")
    prepopulated_fields = {"slug": ("name",)}

    def get_readonly_fields(
        self, request: HttpRequest, obj: Workspace | None = None
    ) -> tuple[str, ...]:
        """The short name can be chosen once."""
        return ("slug",) if obj else ()

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Workspace | None = None
    ) -> dict[str, Sequence[str]]:
        """Only a field that can still be edited is filled in."""
        return {} if obj else {"slug": ("name",)}
