"""Agent versions in the admin: to be read only, as the database has it; compared, and restored."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from agents.actions.rollback_agent import rollback_agent
from agents.definitions.snapshot_diff import FieldChangeOut, SnapshotDiff, compare
from agents.models import Agent, AgentVersion
from agents.reads.agents import VersionNotFoundError, pair, versions_of
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, link, pill
from heartbit_site.admin.themed import ReadOnlyAdmin, ReadOnlyInline, json_block
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.visible_text import readable_json, visible

SHORT = 60  # characters of JSON that stand on one line


def _is_current(version: AgentVersion) -> bool:
    """Return True for the version that the next runs get."""
    return version.pk == version.agent.current_version_id


def _link(version: AgentVersion, page: str, text: str) -> SafeString:
    return link(reverse(f"admin:agents_agentversion_{page}", args=[version.pk]), text)


class VersionInline(ReadOnlyInline[AgentVersion, Agent]):
    """Published versions on an agent's page, newest first; the comparison offers the rollback."""

    model = AgentVersion
    fk_name = "agent"
    fields = ("page", "standing", "pinned", "created_at", "short_hash", "compared")
    verbose_name_plural = "versions"
    tab = True

    page = Column[AgentVersion]("version", lambda row: _link(row, "change", f"v{row.number}"))
    short_hash = Column[AgentVersion]("hash", lambda row: row.hash[:12])
    standing = Column[AgentVersion](
        "state", lambda row: pill("Current", tone="success") if _is_current(row) else ""
    )
    pinned = Column[AgentVersion]("runs", lambda row: getattr(row, "run_count", 0))
    compared = Column[AgentVersion](
        "compare",
        lambda row: "" if _is_current(row) else _link(row, "compare", "Compare, roll back"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """Return the versions, each with the number of its runs."""
        versions = super().get_queryset(request).select_related("agent")
        return versions.annotate(run_count=Count("runs")).order_by("-number")


@admin.register(AgentVersion)
class AgentVersionAdmin(ReadOnlyAdmin[AgentVersion]):
    """Versions that runs are pinned to."""

    workspace_path = "agent__workspace"
    needs: ClassVar[dict[str, str]] = {"view": "agents:read", "rollback": "agents:write"}

    list_display = ("__str__", "short_hash", "created_at")
    list_select_related = ("agent",)
    list_filter = (("agent", RelatedOnlyFieldListFilter),)
    search_fields = ("agent__name", "^hash")
    ordering = ("-id",)
    fields = ("agent", "number", "hash", "created_at", "content")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """Return the versions of the agents that people edit."""
        return super().get_queryset(request).filter(agent__origin="")

    short_hash = Column[AgentVersion]("hash", lambda row: row.hash[:12])
    content = Column[AgentVersion]("snapshot", lambda row: json_block(row.snapshot))

    def get_urls(self) -> list[URLPattern]:
        """Add the page that compares a version with another one and rolls back to it."""
        compare = path(
            "<int:version_pk>/compare/",
            self.admin_site.admin_view(self.compare),
            name="agents_agentversion_compare",
        )
        return [compare, *super().get_urls()]

    def compare(self, request: HttpRequest, version_pk: int) -> HttpResponse:
        """Show the differences between this version and another; a POST rolls back to this one."""
        version = self.get_object(request, str(version_pk))
        if version is None:
            raise Http404
        if not self.has_view_permission(request, version):
            raise PermissionDenied
        problem = ""
        if request.method == "POST":
            if not self.may(request, "rollback", version):
                raise PermissionDenied
            try:
                return _rolled_back(request, version)
            except HeartbitError as error:
                problem = str(error)
        return self._compared(request, version, problem)

    def _compared(self, request: HttpRequest, version: AgentVersion, problem: str) -> HttpResponse:
        agent = Agent.objects.select_related("current_version").get(pk=version.agent_id)
        asked = request.GET.get("with", "")
        other = int(asked) if asked.isdecimal() and len(asked) < 10 else None
        try:
            _, with_version = pair(agent, version.number, other)
        except VersionNotFoundError as error:
            raise Http404(str(error)) from error
        context = {
            **self.admin_site.each_context(request),
            "title": f"{agent.name}: v{version.number} beside v{with_version.number}",
            "owner": agent,
            "owner_url": reverse("admin:agents_agent_change", args=[agent.pk]),
            "version": version,
            "other": with_version,
            "versions": [each for each, _ in versions_of(agent)],
            "diff": _shown(compare(with_version.snapshot, version.snapshot)),
            "may_roll_back": self.may(request, "rollback", version)
            and version.pk != agent.current_version_id,
            "problem": problem,
        }
        return render(request, "admin/agents/agentversion/compare.html", context)


def _rolled_back(request: HttpRequest, version: AgentVersion) -> HttpResponse:
    """Bring the version back and show the agent's form, which says the same now."""
    anyway = "anyway" in request.POST
    done = rollback_agent(version.agent, version.number, by=actor_of(request), anyway=anyway)
    messages.success(request, f"Rolled back: runs from now on use v{done.version.number}.")
    if done.differs:
        messages.warning(request, f"Not as in v{done.wanted}: {done.differs}.")
    return redirect("admin:agents_agent_change", version.agent_id)


def _shown(diff: SnapshotDiff) -> dict[str, Any]:
    """Return the differences as rows: setting, before, after."""
    rows = [setting_row(change) for change in diff.fields]
    for noun, parts in (("tool", diff.tools), ("team", diff.team), ("skill", diff.skills)):
        for part in parts:
            if part.kind != "changed":
                there, gone = "there", "not there"
                before, after = (gone, there) if part.kind == "added" else (there, gone)
                rows.append((f"{noun} {part.name}", before, after))
            elif part.definition:
                rows.append((f"{noun} {part.name}", "described as then", "described otherwise"))
            rows += [_row(f"{noun} {part.name}: ", change) for change in part.fields]
    return {"title": "System prompt", "lines": diff_lines(diff.prompt), "rows": rows}


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a unified diff with their kinds, as the page draws them."""
    return [(_kind(line), line) for line in diff.splitlines()]


def setting_row(change: FieldChangeOut) -> tuple[str, str, str]:
    """Return a changed setting as a row: name, before, after."""
    return _row("", change)


def _row(prefix: str, change: FieldChangeOut) -> tuple[str, str, str]:
    return f"{prefix}{change.name}", _value(change.before), _value(change.after)


def _value(value: Any) -> str:
    if value in ("", None, [], {}):
        return "-"
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return visible(line) if len(line) <= SHORT else readable_json(value)


def _kind(line: str) -> str:
    """Return the kind of a line of a unified diff."""
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")
