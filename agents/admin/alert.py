"""Alerts of workspaces in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from agents.actions.alerts import remove_alert, save_alert
from agents.models import WorkspaceAlert
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, pill
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.base import amounts


class AlertForm(VerbForm[WorkspaceAlert]):
    """A threshold, its window, and who gets mail."""

    class Meta:
        model = WorkspaceAlert
        fields = (
            *("workspace", "figure", "comparison", "threshold", "window_minutes"),
            *("mail_to", "enabled"),
        )


@admin.register(WorkspaceAlert)
class AlertAdmin(VerbAdmin[WorkspaceAlert]):
    """Thresholds of figures; each is reported once when it is breached, and once at the end."""

    needs: ClassVar = rights("runs:read", "agents:write")
    form = AlertForm
    remove = staticmethod(remove_alert)
    list_display = ("what", "workspace", "window", "mail_to", "state")
    list_filter = ("workspace", "figure", "enabled")
    list_select_related = ("workspace",)
    search_fields = ("workspace__slug", "mail_to")
    fixed = ("workspace",)

    what = Column[WorkspaceAlert]("alert", str)
    window = Column[WorkspaceAlert](
        "window", lambda row: amounts.duration(60.0 * row.window_minutes)
    )
    state = Column[WorkspaceAlert](
        "state",
        lambda row: (
            pill("Paused", tone="warning")
            if not row.enabled
            else pill("Raised", tone="danger")
            if row.raised_at
            else pill("Quiet", tone="success")
        ),
    )

    def save_row(self, request: HttpRequest, row: WorkspaceAlert, form: Any) -> None:
        """Save with ``save_alert``."""
        save_alert(row, by=actor_of(request))
