"""Versions of agents in the admin, read-only; and the page that compares and restores versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.contrib import admin, messages
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse

from agents.actions.rollback_agent import rollback_agent
from agents.admin.drawing import GRAPH, drawings_beside, graph_text
from agents.definitions.snapshot_diff import FieldChangeOut, SnapshotDiff, compare
from agents.models import Agent, AgentVersion, Skill, SkillVersion
from agents.models.workflow import KIND as WORKFLOW
from agents.reads.agents import VersionNotFoundError, pair
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, link, pill
from heartbit_site.admin.themed import ModelAdmin, ReadOnlyAdmin, ReadOnlyInline, json_block
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.line_diff import line_diff
from heartbit_site.base.visible_text import readable_json, visible

V = TypeVar("V", AgentVersion, SkillVersion)
P = TypeVar("P", Agent, Skill)
SHORT = 60  # characters of JSON that stand on one line


class VersionList(ReadOnlyInline[V, P]):
    """Versions on the page of what they are of, newest first; the comparison offers the rollback.

    Attributes:
        compare_page: Name of the page that compares a version.
        place: The version's fields in the page's address.
    """

    verbose_name_plural = "versions"
    compare_page: ClassVar[str]
    place: ClassVar[tuple[str, ...]] = ("pk",)

    short_hash = Column[Any]("hash", lambda row: row.hash[:12])

    @admin.display(description="state")
    def standing(self, row: V) -> str:
        """Return a label for the version that the next runs get."""
        return pill("Current", tone="success") if self._is_current(row) else ""

    @admin.display(description="compare")
    def compared(self, row: V) -> str:
        """Return a link to the comparison with the current version."""
        if self._is_current(row):
            return ""
        place = [getattr(row, name) for name in self.place]
        return link(reverse(self.compare_page, args=place), "Compare, roll back")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the versions with what they are of."""
        return super().get_queryset(request).select_related(self.fk_name).order_by("-number")

    def _is_current(self, row: V) -> bool:
        return bool(row.pk == getattr(row, str(self.fk_name)).current_version_id)


class VersionInline(VersionList[AgentVersion, Agent]):
    """Published versions on an agent's page."""

    model = AgentVersion
    fk_name = "agent"
    fields = ("page", "standing", "pinned", "created_at", "short_hash", "compared")
    compare_page = "admin:agents_agentversion_compare"
    tab = True

    page = Column[AgentVersion](
        "version",
        lambda row: link(
            reverse("admin:agents_agentversion_change", args=[row.pk]), f"v{row.number}"
        ),
    )
    pinned = Column[AgentVersion]("runs", lambda row: getattr(row, "run_count", 0))

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """Return the versions, each with the number of its runs."""
        versions: QuerySet[AgentVersion] = super().get_queryset(request)
        return versions.annotate(run_count=Count("runs"))


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
        agent = Agent.objects.select_related("current_version").get(pk=version.agent_id)
        return compared(
            *(self, request, version, agent, version),
            describe=lambda other: _described(other, version),
            roll_back=lambda: _rolled_back(request, version),
        )


def compared(
    page: ModelAdmin[Any],
    request: HttpRequest,
    row: Model,
    owner: Agent | Skill,
    version: Any,
    *,
    describe: Callable[[Any], dict[str, Any]],
    roll_back: Callable[[], HttpResponse],
) -> HttpResponse:
    """Show a version beside the one asked for; a POST rolls back to it.

    Args:
        page: The admin class whose rights hold.
        request: Theirs who look.
        row: The row of the admin class.
        owner: What the version is of.
        version: An ``AgentVersion`` or ``SkillVersion``.
        describe: Return the differences from another version, as the page draws them.
        roll_back: Roll back to the version, and return where that is seen.

    Raises:
        Http404: There is no version such as is asked for.
        PermissionDenied: The person may not see the row, or not roll back.
    """
    if not page.has_view_permission(request, row):
        raise PermissionDenied
    may_roll_back, problem = page.may(request, "rollback", row), ""
    if request.method == "POST":
        if not may_roll_back:
            raise PermissionDenied
        try:
            return roll_back()
        except HeartbitError as error:
            problem = str(error)
    asked = request.GET.get("with", "")
    other = int(asked) if asked.isdecimal() and len(asked) < 10 else None
    try:
        _, beside = pair(owner, version.number, other)
    except VersionNotFoundError as error:
        raise Http404(str(error)) from error
    context = {
        **page.admin_site.each_context(request),
        "title": f"{owner.name}: v{version.number} beside v{beside.number}",
        "owner": owner,
        "owner_url": reverse(f"admin:agents_{owner._meta.model_name}_change", args=[owner.pk]),
        "version": version,
        "other": beside,
        "versions": owner.versions.order_by("-number"),
        "diff": describe(beside),
        "may_roll_back": may_roll_back and version.pk != owner.current_version_id,
        "problem": problem,
    }
    return render(request, f"admin/agents/{page.opts.model_name}/compare.html", context)


def _rolled_back(request: HttpRequest, version: AgentVersion) -> HttpResponse:
    """Bring the version back and show the agent's form, which says the same now."""
    anyway = "anyway" in request.POST
    done = rollback_agent(version.agent, version.number, by=actor_of(request), anyway=anyway)
    messages.success(request, f"Rolled back: runs from now on use v{done.version.number}.")
    if done.differs:
        messages.warning(request, f"Not as in v{done.wanted}: {done.differs}.")
    page = "workflow" if version.agent.kind == WORKFLOW else "agent"
    return redirect(f"admin:agents_{page}_change", version.agent_id)


def _described(other: AgentVersion, version: AgentVersion) -> dict[str, Any]:
    drawings = drawings_beside(other.snapshot, version.snapshot)
    shown = shown_diff(compare(other.snapshot, version.snapshot))
    if drawings:  # long lists are read line by line
        before, after = (graph_text(one.snapshot).splitlines() for one in (other, version))
        lines = "\n".join(line_diff(before, after, context=3))
        rows = [row for row in shown["rows"] if row[0] not in GRAPH]
        shown |= {"title": "Definition", "lines": diff_lines(lines), "rows": rows}
    return shown | {"drawings": list(zip((other, version), drawings, strict=False))}


def shown_diff(diff: SnapshotDiff) -> dict[str, Any]:
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
