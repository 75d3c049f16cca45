"""Skills in the admin: upload one, read it, see who has it, compare its versions, roll back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from unfold.widgets import UnfoldAdminFileFieldWidget

from agents.actions.remove_skill import remove_skill
from agents.actions.save_skill import rollback_skill, save_skill
from agents.admin.version import diff_lines, setting_row
from agents.errors import ShippedSkillError, SkillNotFoundError
from agents.models import Agent, Skill, SkillVersion
from agents.reads.skills import users_by_skill
from agents.reads.versions import VersionNotFoundError, find_version, pair
from agents.runtime.skill_files import content_of, file_of
from agents.skills.archive import MAX_ARCHIVE_BYTES, unpack
from agents.skills.faults import InvalidSkillError
from agents.skills.folder import read_folder
from agents.skills.snapshot import compare
from agents.skills.spec import MAIN_FILE
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.columns import Column, format_datetime, link, pill, two_lines
from heartbit_site.base.admin.permissions import permissions_for
from heartbit_site.base.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.base.admin.themed import ReadOnlyInline
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.contrib.admin.views.main import ChangeList
    from django.db.models import QuerySet
    from django.urls import URLPattern
    from django.utils.safestring import SafeString

    from agents.actions.republish_orchestrators import Led
    from agents.skills.snapshot import SkillDiff

_FACTS = ("description", "needs_tools", "used_by", "state", "further")
_SHOWN_AGENTS = 20


class SkillForm(VerbForm[Skill]):
    """A skill's folder, packed."""

    archive = forms.FileField(
        widget=UnfoldAdminFileFieldWidget(),
        label="Archive",
        help_text=(
            "The skill's folder as zip, tar or tar.gz, with SKILL.md in it. A skill that is there "
            "gets a new version, and its agents are published again."
        ),
        error_messages={"required": "Choose the packed folder of a skill."},
    )

    class Meta:
        model = Skill
        fields = ("workspace",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "workspace" in self.fields:  # a shipped skill has none, and is never uploaded
            self.fields["workspace"].required = True


class SkillVersionInline(ReadOnlyInline[SkillVersion, Skill]):
    """Versions of a skill, the newest first; the comparison offers the rollback."""

    model = SkillVersion
    fk_name = "skill"
    fields = ("version", "standing", "added", "short_hash", "compared")
    verbose_name_plural = "versions"

    version = Column[SkillVersion]("version", lambda row: f"v{row.number}")
    added = Column[SkillVersion]("added", lambda row: format_datetime(row.created_at))
    short_hash = Column[SkillVersion]("hash", lambda row: row.hash[:12])
    standing = Column[SkillVersion](
        "state",
        lambda row: pill("Current", tone="success") if _is_current(row) else "",
    )
    compared = Column[SkillVersion](
        "compare",
        lambda row: "" if _is_current(row) else link(_compare_url(row), "Compare, roll back"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SkillVersion]:
        """Return the versions with their skill."""
        return super().get_queryset(request).select_related("skill").order_by("-number")


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
        archive = form.cleaned_data["archive"]
        folder = read_folder(unpack(archive.read(MAX_ARCHIVE_BYTES + 1)))
        if row.pk is not None and folder.spec.name != row.name:
            raise InvalidSkillError(
                [
                    f"{MAIN_FILE}: name is {folder.spec.name}, and this is the skill {row.name}: "
                    "upload it under Add skill."
                ]
            )
        workspace = row.workspace
        if workspace is None:
            raise ShippedSkillError(
                f"{row.name} ships with Heartbit: add your own under Add skill."
            )
        saved = save_skill(workspace, folder, by=actor_of(request))
        row.pk, row.name = saved.version.skill_id, folder.spec.name
        if saved:
            messages.success(request, f"{row.name} is v{saved.version.number} now.")
        else:
            messages.info(request, f"Nothing has changed: v{saved.version.number}.")
        _report(request, saved.led)

    def remove_row(self, request: HttpRequest, row: Skill) -> None:
        """Delete the skill, unless agents have it."""
        _report(request, remove_skill(row, by=actor_of(request)))

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
                return _rolled_back(request, skill, number)
            except HeartbitError as error:
                problem = str(error)
        return self._compared(request, skill, version, problem)

    def _compared(
        self, request: HttpRequest, skill: Skill, version: SkillVersion, problem: str
    ) -> HttpResponse:
        asked = request.GET.get("with", "")
        other = int(asked) if asked.isdecimal() and len(asked) < 10 else None
        try:
            _, with_version = pair(skill, version.number, other)
        except VersionNotFoundError as error:
            raise Http404(str(error)) from error
        diff = compare(with_version.snapshot, version.snapshot, partial(content_of, version))
        context = {
            **self.admin_site.each_context(request),
            "title": f"{skill.name}: v{version.number} beside v{with_version.number}",
            "skill": skill,
            "version": version,
            "other": with_version,
            "versions": skill.versions.all(),
            "diff": _shown(diff),
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


def _is_current(version: SkillVersion) -> bool:
    return version.pk == version.skill.current_version_id


def _is_shipped(row: object) -> bool:
    if isinstance(row, Skill):
        return row.pk is not None and row.shipped
    if str(row).isdecimal():  # an id, which comes from the address and may be anything
        return Skill.objects.filter(pk=int(str(row)[:18]), workspace=None).exists()
    return False


def _compare_url(version: SkillVersion) -> str:
    return reverse("admin:agents_skill_compare", args=[version.skill_id, version.number])


def _rolled_back(request: HttpRequest, skill: Skill, number: int) -> HttpResponse:
    saved = rollback_skill(skill, number, by=actor_of(request))
    messages.success(request, f"Rolled back: {skill.name} is v{saved.version.number} now.")
    _report(request, saved.led)
    return redirect("admin:agents_skill_change", skill.pk)


def _report(request: HttpRequest, led: list[Led]) -> None:
    """Say which agents were published again."""
    for one in led:
        if one.made is None:
            messages.warning(request, f"{one.agent.name} was not published again: {one.problem}")
        elif one.made:
            number = one.made.version.number
            messages.success(request, f"Published as well: {one.agent.name} v{number}.")


def _shown(diff: SkillDiff) -> dict[str, Any]:
    """Return the differences as the page draws them."""
    return {
        "body": diff_lines(diff.body),
        "rows": [setting_row(change) for change in diff.fields],
        "files": [
            {"title": f"{file.path}, {file.kind}", "lines": diff_lines(file.diff)}
            for file in diff.files
        ],
    }
