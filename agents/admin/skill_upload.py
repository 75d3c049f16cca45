"""Upload of a skill's packed folder in the admin, and the notices that follow a new version."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminFileFieldWidget

from agents.actions.publish_agent import Led
from agents.actions.skills import save_skill
from agents.errors import ShippedSkillError
from agents.models import Skill
from agents.skills.archive import MAX_ARCHIVE_BYTES, InvalidSkillError, unpack
from agents.skills.folder import read_folder
from agents.skills.spec import MAIN_FILE
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.saved_by_verb import VerbForm


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
