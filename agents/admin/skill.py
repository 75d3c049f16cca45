"""Skills in the admin: upload one, read it, see who has it, compare its versions, roll back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agents.actions.skills import remove_skill
from agents.admin import skill_versions
from agents.admin.version import compared
from agents.errors import SkillNotFoundError
from agents.models import Agent, Skill, SkillVersion
from agents.reads.skills import users_by_skill
from agents.runtime.files.skill_files import file_of
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, link, pill, two_lines
from heartbit_site.admin.permissions import permissions_for, rights
from heartbit_site.admin.saved_by_verb import VerbAdmin
from heartbit_site.admin.themed import SharedRows
from heartbit_site.base.visible_text import visible
from heartbit_site.shell.moment import moment

_FACTS = ("description", "needs_tools", "used_by", "state", "further")
_SHOWN_AGENTS = 20


@admin.register(Skill)
class SkillAdmin(SharedRows[Skill], VerbAdmin[Skill]):
    """Instructions and files that agents load when a task calls for them.

    A skill that ships with Heartbit can be looked at, and that is all.
    """

    needs: ClassVar = rights("agents:read", "agents:write", rollback="agents:write")
    form = skill_versions.SkillForm
    inlines = (skill_versions.SkillVersionInline,)
    list_display = ("what", "origin_of", "current", "files_counted", "used_by", "updated")
    names_workspace = True
    list_select_related = ("workspace", "current_version")
    search_fields = ("name",)
    actions = None  # one at a time: the page says which agents have it
    fixed = ("workspace",)
    readonly_fields = (*_FACTS, "instructions", "files_shown")

    def look_at(self, request: HttpRequest, rows: Collection[Skill]) -> None:
        """Set at each skill the names of the agents that have it, of those that the person sees."""
        seen = permissions_for(request).rows(Agent.objects.all(), "workspace", "agents:read")
        found = users_by_skill(rows, seen) if rows else {}
        for row in rows:
            row.seen_agents = found[row.pk]  # type: ignore[attr-defined]

    # ---------------------------------------------------------------------------------------- page

    def get_fieldsets(self, request: HttpRequest, obj: Skill | None = None) -> Any:
        """Return the fields: a new skill is an archive and a workspace."""
        if obj is None:
            return [(None, {"fields": ("workspace", "archive")})]
        fields: list[Any] = [
            (None, {"fields": _FACTS}),
            ("Content", {"fields": ("instructions", "files_shown")}),
        ]
        if self.has_change_permission(request, obj):
            fields.append(("New version", {"fields": ("archive",)}))
        return fields

    def get_inlines(self, request: HttpRequest, obj: Skill | None) -> Any:
        """Return the list of versions, which a new skill does not have."""
        return () if obj is None else super().get_inlines(request, obj)

    def get_urls(self) -> list[URLPattern]:
        """Add the pages that show a file, and that compare versions."""
        view = self.admin_site.admin_view
        compare_path, file_path = "<int:skill_pk>/versions/<int:number>/", "<int:skill_pk>/file/"
        own = [
            path(compare_path, view(self.compare), name="agents_skill_compare"),
            path(file_path, view(self.file), name="agents_skill_file"),
        ]
        return [*own, *super().get_urls()]

    def save_row(self, request: HttpRequest, row: Skill, form: Any) -> None:
        """Store the uploaded folder, and report the agents that were published again."""
        skill_versions.store_upload(request, row, form.cleaned_data["archive"])

    def delete_model(self, request: HttpRequest, obj: Skill) -> None:
        """Delete the skill, unless agents have it."""
        skill_versions.report_republished(request, remove_skill(obj, by=actor_of(request)))

    # --------------------------------------------------------------------------------------- views

    def file(self, request: HttpRequest, skill_pk: int) -> HttpResponse:
        """Show a file of a skill's current version; one that is no text is downloaded."""
        skill = self._seen(request, skill_pk)
        name = request.GET.get("path", "")
        try:
            content = file_of(_current(skill), name)
        except SkillNotFoundError as error:
            raise Http404(str(error)) from error
        try:
            text = content.decode()
        except UnicodeDecodeError:
            headers = {"Content-Disposition": 'attachment; filename="file"'}
            return HttpResponse(content, content_type="application/octet-stream", headers=headers)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{skill.name}: {name}",
            "skill": skill,
            "text": visible(text),
        }
        return render(request, "admin/agents/skill/file.html", context)

    def compare(self, request: HttpRequest, skill_pk: int, number: int) -> HttpResponse:
        """Show the differences between a version and another; a POST rolls back to it."""
        skill = self._seen(request, skill_pk)
        version = get_object_or_404(SkillVersion, skill=skill, number=number)
        return compared(
            *(self, request, skill, skill, version),
            describe=lambda other: skill_versions.describe_changes(other, version),
            roll_back=lambda: skill_versions.roll_back(request, skill, number),
        )

    def _seen(self, request: HttpRequest, skill_pk: int) -> Skill:
        skill: Skill | None = self.get_object(request, str(skill_pk))
        if skill is None:
            raise Http404
        if not self.has_view_permission(request, skill):
            raise PermissionDenied
        return skill

    # ------------------------------------------------------------------------------------- columns

    what = Column[Skill]("skill", lambda row: two_lines(row.name, _current(row).description))
    current = Column[Skill]("version", lambda row: f"v{_current(row).number}")
    files_counted = Column[Skill]("files", lambda row: _current(row).file_count)
    updated = Column[Skill]("updated", lambda row: moment(row.updated_at))
    origin_of = Column[Skill](
        "from", lambda row: pill("Shipped", tone="info") if row.shipped else str(row.workspace)
    )
    state = Column[Skill](
        "version", lambda row: f"v{_current(row).number}, {_current(row).hash[:12]}"
    )
    description = Column[Skill]("description", lambda row: visible(_current(row).description))
    needs_tools = Column[Skill](
        "needs", lambda row: ", ".join(_current(row).allowed_tools) or "no tools"
    )

    used_by = Column[Skill]("agents", lambda row: _agents(row))

    @admin.display(description="further")
    def further(self, row: Skill) -> SafeString | str:
        """Return what the front matter says for people."""
        snapshot = _current(row).snapshot
        named = {name: snapshot[name] for name in ("license", "compatibility")}
        facts = [(name, text) for name, text in {**named, **snapshot["metadata"]}.items() if text]
        return format_html_join("", "<p>{}: {}</p>", facts) or "-"

    @admin.display(description="instructions")
    def instructions(self, row: Skill) -> SafeString:
        """Return the Markdown that agents read."""
        body = visible(str(_current(row).snapshot["body"]))
        return format_html('<pre class="code" tabindex="0" dir="auto">{}</pre>', body)

    @admin.display(description="files")
    def files_shown(self, row: Skill) -> SafeString | str:
        """Return the files as links to their contents."""
        place = reverse("admin:agents_skill_file", args=[row.pk])
        lines = [
            (link(f"{place}?path={file['path']}", file["path"]), f"{file['size']:,} bytes")
            for file in _current(row).files
        ]
        return format_html_join("", '<p>{} <span class="quiet">{}</span></p>', lines) or "none"


def _agents(row: Any) -> str:
    names: list[str] = row.seen_agents
    further = len(names) - _SHOWN_AGENTS
    return ", ".join(names[:_SHOWN_AGENTS]) + (f" and {further} more" if further > 0 else "") or "-"


def _current(row: Skill) -> SkillVersion:
    version = row.current_version
    if version is None:
        raise TypeError("a stored skill has a version")
    return version
