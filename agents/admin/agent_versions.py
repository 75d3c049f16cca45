"""The versions on an agent's page, with the way to compare one and to roll back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Count
from django.urls import reverse
from django.utils.html import format_html

from agents.models import Agent, AgentVersion
from heartbit_site.base.admin.columns import Column, pill
from heartbit_site.base.admin.themed import ReadOnlyInline

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class VersionInline(ReadOnlyInline[AgentVersion, Agent]):
    """Published versions, newest first."""

    model = AgentVersion
    fk_name = "agent"
    fields = ("page", "standing", "pinned", "created_at", "short_hash", "compared")
    verbose_name_plural = "versions"
    tab = True

    @admin.display(description="version")
    def page(self, version: AgentVersion) -> SafeString:
        """Return the version's number as a link to its snapshot."""
        url = reverse("admin:agents_agentversion_change", args=[version.pk])
        return format_html('<a class="hb-link" href="{}">v{}</a>', url, version.number)

    short_hash = Column[AgentVersion]("hash", lambda row: row.hash[:12])

    @admin.display(description="state")
    def standing(self, version: AgentVersion) -> SafeString | str:
        """Mark the version that the next runs get."""
        current = version.pk == version.agent.current_version_id
        return pill("Current", tone="success") if current else ""

    pinned = Column[AgentVersion]("runs", lambda row: getattr(row, "run_count", 0))

    @admin.display(description="compare")
    def compared(self, version: AgentVersion) -> SafeString | str:
        """Return a link to the comparison with the current version, which offers the rollback."""
        if version.pk == version.agent.current_version_id:
            return ""
        url = reverse("admin:agents_agentversion_compare", args=[version.pk])
        return format_html('<a class="hb-link" href="{}">Compare, roll back</a>', url)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """Return the versions, each with the number of its runs."""
        versions = super().get_queryset(request).select_related("agent")
        return versions.annotate(run_count=Count("runs")).order_by("-number")
