"""Versions of a skill in the admin: their list, the comparison of two, and the rollback."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from agents.actions.skills import rollback_skill
from agents.admin.skill_upload import report_republished
from agents.admin.version import diff_lines, setting_row
from agents.models import Skill, SkillVersion
from agents.reads.versions import VersionNotFoundError, pair
from agents.runtime.files.skill_files import content_of
from agents.skills.snapshot import SkillDiff, compare
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, format_datetime, link, pill
from heartbit_site.admin.themed import ReadOnlyInline


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
        lambda row: "" if _is_current(row) else link(_comparison_url(row), "Compare, roll back"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SkillVersion]:
        """Return the versions with their skill."""
        return super().get_queryset(request).select_related("skill").order_by("-number")


def compare_with_asked(request: HttpRequest, skill: Skill, version: SkillVersion) -> dict[str, Any]:
    """Return the context of the page that shows a version beside the one asked for.

    Raises:
        Http404: There is no such version.
    """
    asked = request.GET.get("with", "")
    other = int(asked) if asked.isdecimal() and len(asked) < 10 else None
    try:
        _, with_version = pair(skill, version.number, other)
    except VersionNotFoundError as error:
        raise Http404(str(error)) from error
    diff = compare(with_version.snapshot, version.snapshot, partial(content_of, version))
    return {
        "title": f"{skill.name}: v{version.number} beside v{with_version.number}",
        "owner": skill,
        "owner_url": reverse("admin:agents_skill_change", args=[skill.pk]),
        "version": version,
        "other": with_version,
        "versions": skill.versions.all(),
        "diff": _shown(diff),
    }


def roll_back(request: HttpRequest, skill: Skill, number: int) -> HttpResponse:
    """Roll a skill back, say so, and return to its page."""
    saved = rollback_skill(skill, number, by=actor_of(request))
    messages.success(request, f"Rolled back: {skill.name} is v{saved.version.number} now.")
    report_republished(request, saved.led)
    return redirect("admin:agents_skill_change", skill.pk)


def _is_current(version: SkillVersion) -> bool:
    return version.pk == version.skill.current_version_id


def _comparison_url(version: SkillVersion) -> str:
    return reverse("admin:agents_skill_compare", args=[version.skill_id, version.number])


def _shown(diff: SkillDiff) -> dict[str, Any]:
    """Return the differences as the page draws them."""
    return {
        "title": "Instructions",
        "lines": diff_lines(diff.body),
        "rows": [setting_row(change) for change in diff.fields],
        "files": [
            {"title": f"{file.path}, {file.kind}", "lines": diff_lines(file.diff)}
            for file in diff.files
        ],
    }
