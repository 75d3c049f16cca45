"""Agent versions in the admin: to be read only, as the database has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from agents.models import AgentVersion
from heartbit_site.base.admin.themed import ReadOnlyAdmin, json_block

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


@admin.register(AgentVersion)
class AgentVersionAdmin(ReadOnlyAdmin[AgentVersion]):
    """What runs are pinned to."""

    list_display = ("__str__", "short_hash", "created_at")
    list_select_related = ("agent",)
    list_filter = (("agent", RelatedOnlyFieldListFilter),)
    search_fields = ("agent__name", "^hash")
    ordering = ("-id",)
    fields = ("agent", "number", "hash", "created_at", "content")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """Of the agents that people edit."""
        return super().get_queryset(request).filter(agent__origin="")

    @admin.display(description="hash")
    def short_hash(self, version: AgentVersion) -> str:
        """As much of the hash as tells versions apart."""
        return version.hash[:12]

    @admin.display(description="snapshot")
    def content(self, version: AgentVersion) -> SafeString:
        """What the model sees and what limits hold."""
        return json_block(version.snapshot)
