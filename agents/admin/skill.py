"""Skills in the admin: upload one, read it, see who has it, compare its versions, roll back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agents.actions.skills import remove_skill
from agents.admin.skill_upload import SkillForm, report_republished, store_upload
from agents.admin.skill_versions import SkillVersionInline, compare_with_asked, roll_back
from agents.errors import SkillNotFoundError
from agents.models import Agent, Skill, SkillVersion
from agents.reads.skills import users_by_skill
from agents.reads.versions import VersionNotFoundError, find_version
from agents.runtime.files.skill_files import file_of
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, format_datetime, link, pill, two_lines
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.saved_by_verb import VerbAdmin
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.visible_text import visible

_FACTS = ("description", "needs_tools", "used_by", "state", "further")
_SHOWN_AGENTS = 20


@admin.register(Skill)
class SkillAdmin(VerbAdmin[Skill]):
    """Instructions and files that agents load when a task calls for them."""

    workspace_path = "workspace"
    needs: ClassVar = {
        "view": "agents:read",
        **dict.fromkeys(("add", "change", "delete", "rollback"), "agents:write"),
    }
    form = SkillForm
    inlines = (SkillVersionInline,)
    list_display = ("what", "origin_of", "current", "files_counted", "used_by", "updated")
    list_select_related = ("workspace", "current_version")
    search_fields = ("name",)
    sortable_by = ()
    actions = None  # one at a time: the page says which agents have it
    fixed = ("workspace",)
    readonly_fields = (*_FACTS, "instructions", "files_shown")

    # -------------------------------------------------------------------------------------- rights

    def reached(
        self, request: HttpRequest, rows: QuerySet[Any], what: str = "view"
    ) -> QuerySet[Any]:
        """Return the skills of the user's workspaces, and the shipped ones to look at."""
        own = super().reached(request, rows, what)
        shared = Q(workspace=None) if what == "view" and self.may(request, what) else Q(pk__in=())
        return rows.filter(Q(pk__in=own.values("pk")) | shared)

    def may(self, request: HttpRequest, what: str, row: object = None) -> bool:
        """Return True if the user may do it; a shipped skill can be looked at, and that is all."""
        if _is_shipped(row):
            return what == "view" and super().may(request, what)
        return super().may(request, what, row)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list with the agents that have each skill."""
        changelist = super().get_changelist_instance(request)
        _look_at(request, changelist.result_list)
        return changelist

    def get_object(self, request: HttpRequest, *place: Any) -> Skill | None:
        """Return the skill with the agents that have it."""
        row = super().get_object(request, *place)
        _look_at(request, [] if row is None else [row])
        return row

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
        store_upload(request, row, form.cleaned_data["archive"])

    def remove_row(self, request: HttpRequest, row: Skill) -> None:
        """Delete the skill, unless agents have it."""
        report_republished(request, remove_skill(row, by=actor_of(request)))

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
        try:
            version = find_version(skill, number)
        except VersionNotFoundError as error:
            raise Http404(str(error)) from error
        problem = ""
        if request.method == "POST":
            if not self.may(request, "rollback", skill):
                raise PermissionDenied
            try:
                return roll_back(request, skill, number)
            except HeartbitError as error:
                problem = str(error)
        context = {
            **self.admin_site.each_context(request),
            **compare_with_asked(request, skill, version),
            "may_roll_back": self.may(request, "rollback", skill)
            and version.pk != skill.current_version_id,
            "problem": problem,
        }
        return render(request, "admin/agents/skill/compare.html", context)

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
    updated = Column[Skill]("updated", lambda row: format_datetime(row.updated_at))
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
        return format_html('<pre class="hb-text hb-code" tabindex="0" dir="auto">{}</pre>', body)

    @admin.display(description="files")
    def files_shown(self, row: Skill) -> SafeString | str:
        """Return the files as links to their contents."""
        place = reverse("admin:agents_skill_file", args=[row.pk])
        lines = [
            (link(f"{place}?path={file['path']}", file["path"]), f"{file['size']:,} bytes")
            for file in _current(row).files
        ]
        return format_html_join("", '<p>{} <span class="hb-quiet">{}</span></p>', lines) or "none"


def _look_at(request: HttpRequest, rows: Collection[Skill]) -> None:
    """Set at each skill the names of the agents that have it, of those that the person sees."""
    seen = permissions_for(request).rows(Agent.objects.all(), "workspace", "agents:read")
    found = users_by_skill(rows, seen) if rows else {}
    for row in rows:
        row.seen_agents = found[row.pk]  # type: ignore[attr-defined]


def _agents(row: Any) -> str:
    names: list[str] = row.seen_agents
    further = len(names) - _SHOWN_AGENTS
    return ", ".join(names[:_SHOWN_AGENTS]) + (f" and {further} more" if further > 0 else "") or "-"


def _current(row: Skill) -> SkillVersion:
    version = row.current_version
    if version is None:
        raise TypeError("a stored skill has a version")
    return version


def _is_shipped(row: object) -> bool:
    if isinstance(row, Skill):
        return row.pk is not None and row.shipped
    if str(row).isdecimal():  # an id, which comes from the address and may be anything
        return Skill.objects.filter(pk=int(str(row)[:18]), workspace=None).exists()
    return False
