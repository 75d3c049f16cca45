"""The calls that wait for a person, of every run: a list that leads to where they are decided."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.admin import prompts
from agents.admin.formatting import LeadsToRuns
from agents.models import ToolCall
from agents.querysets import shown_tool
from heartbit_site.admin.columns import Column, pill
from heartbit_site.base import amounts
from heartbit_site.base.access import visible_to
from heartbit_site.base.visible_text import readable_json, visible

_MOST_COUNTED = 99
_PREVIEW = 160  # characters; all of it is on the run's page, where it is decided


@admin.register(ToolCall)
class ApprovalAdmin(LeadsToRuns[ToolCall]):
    """Waiting for approval, or for a word on its outcome, the oldest first.

    Who may see runs may see this.
    """

    workspace_path = "run__workspace"
    work_page = "web:inbox"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}
    list_display = ("what", "asks", "effect_class", "waits", "workspace")
    list_filter = ("run__workspace",)
    search_fields = ("run__agent", "tool")
    ordering = ("id",)
    list_fullwidth = True
    live = "definitions calls"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolCall]:
        """Return the open calls alone."""
        return prompts.waiting_calls()

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the prompts of every page of the admin."""
        view = self.admin_site.admin_view(self.prompts)
        return [path("prompts/", view, name="agents_toolcall_prompts"), *super().get_urls()]

    def prompts(self, request: HttpRequest) -> HttpResponse:
        """Show the calls since ``after`` to those who may decide them."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = prompts.read(
            request,
            after=_number(request.GET.get("after", "")),
            shown=_numbers(request.GET.get("shown", "")),
            dismissed=_numbers(request.GET.get("dismissed", "")),
        )
        context = {"prompts": found}
        return render(request, "admin/prompts.html", context)

    def find_row(self, request: HttpRequest, object_id: str) -> ToolCall | None:
        """Return a call of any status: one that was decided leads to its run as well."""
        rows = visible_to(ToolCall.objects.all(), request.user, path="run__workspace")
        return rows.filter(pk=object_id).first() if object_id.isdecimal() else None

    @admin.display(description="call")
    def what(self, call: ToolCall) -> SafeString:
        """Return the tool, a mark if the outcome is unknown, and the beginning of the arguments."""
        arguments = readable_json(prompts.asked_about(call))
        return format_html(
            '<span class="hb-two"><span class="row"><b>{}</b>{}</span>'
            '<span class="hb-clip" dir="ltr">{}</span></span>',
            visible(shown_tool(call)),
            pill("Unknown outcome", tone="warning") if prompts.is_uncertain(call) else "",
            " ".join(arguments.split())[:_PREVIEW],
        )

    asks = Column[ToolCall]("agent", lambda row: row.run.agent, ordering="run__agent")

    effect_class = Column[ToolCall](
        "effect", lambda row: row.effect.replace("_", " "), ordering="effect"
    )

    @admin.display(description="waiting")
    def waits(self, call: ToolCall) -> str:
        """Return how long the call has waited."""
        asked_at: datetime | None = getattr(call, "asked_at", None)
        return amounts.duration(timezone.now() - asked_at) if asked_at else "a moment"

    workspace = Column[ToolCall]("workspace", lambda row: row.run.workspace.name)


def _numbers(text: str) -> list[int]:
    return [number for one in text.split(",")[:200] if (number := _number(one))]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None
