"""The versions on an agent's page, with the way to compare one and to roll back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Count
from django.urls import reverse
from django.utils.html import format_html

from agents.models import Agent, AgentVersion
from heartbit_site.base.admin.themed import ReadOnlyInline, pill

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class VersionInline(ReadOnlyInline[AgentVersion, Agent]):
    """What was published, newest first."""

    model = AgentVersion
    fk_name = "agent"
    fields = ("page", "standing", "pinned", "created_at", "short_hash", "compared")
    readonly_fields = fields
    verbose_name_plural = "versions"
    tab = True
    hide_title = True
    per_page = 20

    @admin.display(description="version")
    def page(self, version: AgentVersion) -> SafeString:
        """Its number, as a link to its snapshot."""
        url = reverse("admin:agents_agentversion_change", args=[version.pk])
        return format_html('<a class="hb-link" href="{}">v{}</a>', url, version.number)

    @admin.display(description="hash")
    def short_hash(self, version: AgentVersion) -> str:
        """As much of the hash as tells versions apart."""
        return version.hash[:12]

    @admin.display(description="state")
    def standing(self, version: AgentVersion) -> SafeString | str:
        """Whether the next runs get it."""
        current = version.pk == version.agent.current_version_id
        return pill("Current", tone="success") if current else ""

    @admin.display(description="runs")
    def pinned(self, version: AgentVersion) -> int:
        """How many runs have it."""
        count: int = getattr(version, "run_count", 0)
        return count

    @admin.display(description="compare")
    def compared(self, version: AgentVersion) -> SafeString | str:
        """What differs from the current one, where it can be brought back."""
        if version.pk == version.agent.current_version_id:
            return ""
        url = reverse("admin:agents_agentversion_compare", args=[version.pk])
        return format_html('<a class="hb-link" href="{}">Compare, roll back</a>', url)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """With how many runs each has."""
        versions = super().get_queryset(request).select_related("agent")
        return versions.annotate(run_count=Count("runs")).order_by("-number")
