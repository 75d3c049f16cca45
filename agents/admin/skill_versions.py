"""Versions of a skill in the admin: upload, list, comparison of two, rollback."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.widgets import UnfoldAdminFileFieldWidget

from agents.actions.publish_agent import Led
from agents.actions.skills import rollback_skill, save_skill
from agents.admin.version import VersionList, diff_lines, setting_row
from agents.errors import ShippedSkillError
from agents.models import Skill, SkillVersion
from agents.runtime.files.skill_files import content_of
from agents.skills.folder import read_folder
from agents.skills.snapshot import compare
from agents.skills.spec import MAIN_FILE, MAX_ARCHIVE_BYTES, InvalidSkillError, unpack
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column
from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.shell.moment import moment


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


def store_upload(request: HttpRequest, row: Skill, archive: UploadedFile[bytes]) -> None:
    """Store an uploaded folder as the next version of a skill, or as a new skill."""
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
        raise ShippedSkillError(f"{row.name} ships with Heartbit: add your own under Add skill.")
    saved = save_skill(workspace, folder, by=actor_of(request))
    row.pk, row.name = saved.version.skill_id, folder.spec.name
    if saved:
        messages.success(request, f"{row.name} is v{saved.version.number} now.")
    else:
        messages.info(request, f"Nothing has changed: v{saved.version.number}.")
    if folder.note:
        messages.info(request, folder.note)
    report_republished(request, saved.led)


def report_republished(request: HttpRequest, led: list[Led]) -> None:
    """Say which agents were published again."""
    for one in led:
        if one.made is None:
            messages.warning(request, f"{one.agent.name} was not published again: {one.problem}")
        elif one.made:
            number = one.made.version.number
            messages.success(request, f"Published as well: {one.agent.name} v{number}.")


class SkillVersionInline(VersionList[SkillVersion, Skill]):
    """Versions of a skill on its page."""

    model = SkillVersion
    fk_name = "skill"
    fields = ("version", "standing", "added", "short_hash", "compared")
    compare_page = "admin:agents_skill_compare"
    place = ("skill_id", "number")

    version = Column[SkillVersion]("version", lambda row: f"v{row.number}")
    added = Column[SkillVersion]("added", lambda row: moment(row.created_at))


def roll_back(request: HttpRequest, skill: Skill, number: int) -> HttpResponse:
    """Roll a skill back, say so, and return to its page."""
    saved = rollback_skill(skill, number, by=actor_of(request))
    messages.success(request, f"Rolled back: {skill.name} is v{saved.version.number} now.")
    report_republished(request, saved.led)
    return redirect("admin:agents_skill_change", skill.pk)


def describe_changes(before: SkillVersion, after: SkillVersion) -> dict[str, Any]:
    """Return the differences as the page draws them."""
    diff = compare(before.snapshot, after.snapshot, partial(content_of, after))
    return {
        "title": "Instructions",
        "lines": diff_lines(diff.body),
        "rows": [setting_row(change) for change in diff.fields],
        "files": [
            {"title": f"{file.path}, {file.kind}", "lines": diff_lines(file.diff)}
            for file in diff.files
        ],
    }
