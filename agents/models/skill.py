"""Skills, their immutable versions, and the versions' files."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import unique


class Skill(models.Model):
    """Instructions and files that an agent loads when a task requires them.

    A workspace's skill takes precedence over the shipped skill of the same name.

    Attributes:
        workspace: Workspace of the skill; null: it ships with Heartbit, for all workspaces.
        current_version: Version that agents are published with.
    """

    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.CASCADE, related_name="skills"
    )
    name = models.CharField(max_length=64)
    current_version = models.ForeignKey(
        "SkillVersion",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.RESTRICT,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [unique("skill_name_once", "workspace", "name", nulls_distinct=False)]

    def __str__(self) -> str:
        return self.name

    @property
    def shipped(self) -> bool:
        """True if the skill ships with Heartbit."""
        return self.workspace_id is None


class SkillVersion(models.Model):
    """Snapshot of a skill that versions of agents pin; the database refuses updates.

    ``snapshot`` (``agents.skills.snapshot``) holds the instructions and the hashes of the files;
    ``hash`` is the SHA-256 of its canonical JSON, so the same content makes no new version.
    """

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    snapshot = models.JSONField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-number"]
        constraints = [
            unique("skill_version_hash_once", "skill", "hash"),
            unique("skill_version_number_once", "skill", "number"),
        ]
        indexes = [models.Index(fields=["hash"], name="skill_version_hash")]

    def __str__(self) -> str:
        return f"{self.skill.name} v{self.number}"

    @property
    def description(self) -> str:
        """Purpose of the skill, and when to use it."""
        return str(self.snapshot["description"])

    @property
    def allowed_tools(self) -> list[str]:
        """Names of the tools that an agent with the skill must have."""
        return list(self.snapshot["allowed_tools"])

    @property
    def files(self) -> list[dict[str, Any]]:
        """Path, hash and size of each file."""
        return list(self.snapshot["files"])

    @property
    def file_count(self) -> int:
        """Number of files."""
        return len(self.files)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file["size"] for file in self.files)


class SkillFile(models.Model):
    """Content of a file of a skill, stored once for all versions that have it.

    Attributes:
        hash: SHA-256 of the content, as snapshots name it.
        size: Bytes of ``content``.
    """

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="files")
    hash = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = [unique("skill_file_once", "skill", "hash")]

    def __str__(self) -> str:
        return self.hash[:12]
