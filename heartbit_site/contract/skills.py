"""Skills, which agents load when a task needs them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field

from agents.skills.snapshot import SkillDiff
from agents.skills.spec import MAX_ARCHIVE_BYTES
from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Noun

_SNAPSHOT = ("current_version", "snapshot")


class SkillOut(View):
    """A skill of the workspace, or one that ships with Heartbit."""

    id: int = Field(validation_alias="pk")
    name: str
    description: str = Field(validation_alias=AliasPath("current_version", "description"))
    shipped: bool = Field(
        description="True if it ships with Heartbit; a workspace's skill of that name replaces it."
    )
    version: int = Field(validation_alias=AliasPath("current_version", "number"))
    hash: str = Field(
        validation_alias=AliasPath("current_version", "hash"),
        description="SHA-256 of the version, which versions of agents pin.",
    )
    allowed_tools: list[str] = Field(
        validation_alias=AliasPath("current_version", "allowed_tools"),
        description="Tools that an agent with the skill must have.",
    )
    file_count: int = Field(
        validation_alias=AliasPath("current_version", "file_count"),
        description="Files beside SKILL.md.",
    )
    size: int = Field(
        validation_alias=AliasPath("current_version", "size"),
        description="Size of the files in bytes.",
    )
    agents: list[str] = Field(description="Agents of the workspace with the skill.")
    updated_at: Time


class SkillsOut(Page):
    """The workspace's skills by name."""

    skills: list[SkillOut]


class SkillFileOut(View):
    """A file of a skill."""

    path: str
    size: int
    hash: str = Field(description="SHA-256 of the content.")


class SkillDetailOut(SkillOut):
    """A skill with its instructions and files."""

    license: str = Field(validation_alias=AliasPath(*_SNAPSHOT, "license"))
    compatibility: str = Field(validation_alias=AliasPath(*_SNAPSHOT, "compatibility"))
    metadata: dict[str, str] = Field(validation_alias=AliasPath(*_SNAPSHOT, "metadata"))
    body: str = Field(
        validation_alias=AliasPath(*_SNAPSHOT, "body"),
        description="The instructions, which an agent reads when it loads the skill.",
    )
    files: list[SkillFileOut] = Field(validation_alias=AliasPath("current_version", "files"))


class SkillContentOut(View):
    """Content of a file of a skill."""

    path: str
    encoding: Literal["utf-8", "base64"] = Field(description="base64 for a file that is not text.")
    content: str


class PublishedAgentOut(View):
    """An agent that was republished because it has the skill."""

    agent: str
    version: int | None = Field(description="Its current version; null if it was not published.")
    problem: str = Field(description="Reason why it was not published; empty if it was.")


class SavedSkillOut(SkillDetailOut):
    """A skill after a change."""

    published: list[PublishedAgentOut] = Field(
        description="Agents with the skill, whose next runs use this version."
    )
    note: str = Field(
        description="Sentences about keys that are kept as metadata, and about the workflows of "
        "its `workflows.json`; empty if there are none."
    )


class SkillIn(Body):
    """A skill's folder."""

    archive: Annotated[str, Field(min_length=1, max_length=MAX_ARCHIVE_BYTES * 4 // 3 + 4)] = Field(
        description="The folder as a zip, tar or tar.gz archive, in base64."
    )


class SkillVersionOut(View):
    """A version of a skill."""

    number: int
    hash: str
    created_at: Time
    current: bool


class SkillVersionsOut(Page):
    """A skill's versions, the newest first."""

    skill: str
    versions: list[SkillVersionOut]


class SkillDiffOut(SkillDiff):
    """Changes from one version of a skill to another."""

    skill: str
    older: int
    newer: int
    changed: bool


NOUN = Noun("skills", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_SKILLS = NOUN.get("list_skills", "/skills", SkillsOut, command="`heartbit skills`")
SAVE_SKILL = NOUN.post(
    "save_skill", "/skills", SavedSkillOut, "Add a skill or a version of it", body=SkillIn
)
SHOW_SKILL = NOUN.get("show_skill", "/skills/{skill}", SkillDetailOut)
SHOW_SKILL_FILE = NOUN.get(
    "show_skill_file", "/skills/{skill}/file", SkillContentOut, "Get a skill's file"
)
REMOVE_SKILL = NOUN.delete("remove_skill", "/skills/{skill}", errors=(409,))
LIST_SKILL_VERSIONS = NOUN.get(
    "list_skill_versions", "/skills/{skill}/versions", SkillVersionsOut, "List a skill's versions"
)
COMPARE_SKILL_VERSIONS = NOUN.get(
    "compare_skill_versions", "/skills/{skill}/versions/diff", SkillDiffOut,
    "Compare versions of a skill",
)  # fmt: skip
ROLL_SKILL_BACK = NOUN.post(
    "roll_skill_back", "/skills/{skill}/versions/{number}/rollback", SavedSkillOut, errors=(409,)
)
