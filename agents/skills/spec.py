"""Settings of a skill: the one list of their names, types, bounds and meaning. Pure.

They are the front matter of ``SKILL.md``, the file of the open Agent Skills format
(https://agentskills.io/specification), and its body. A version's snapshot is derived from them.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from agents.definitions import validators
from agents.definitions.spec import SkillName, ToolName
from heartbit_site.base.spec import Spec

MEGABYTE: Final = 1024 * 1024
#: Files of a skill beside ``SKILL.md``, and their sizes.
MAX_FILES: Final = 500
MAX_FILE_BYTES: Final = 4 * MEGABYTE
MAX_BYTES: Final = 8 * MEGABYTE
MAX_PATH: Final = 120  # characters: skills/NAME/ stands before it in a program's folder
MAIN_FILE: Final = "SKILL.md"

_Storable = AfterValidator(validators.storable)


class SkillSpec(Spec):
    """A skill, without its files."""

    name: SkillName = Field(description="Name of the skill and of its folder.")
    description: Annotated[str, Field(min_length=1, max_length=1024), _Storable] = Field(
        description="Purpose, and when to use it; every run's prompt contains it."
    )
    license: Annotated[str, Field(max_length=500), _Storable] = Field(
        "", description="Name of a licence, or of a file that has its text."
    )
    compatibility: Annotated[str, Field(max_length=500), _Storable] = Field(
        "", description="Requirements on its surroundings; for people."
    )
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=200), _Storable], Annotated[str, _Storable]],
        Field(max_length=50),
    ] = Field(default_factory=dict, description="Further texts, such as author and version.")
    allowed_tools: Annotated[list[ToolName], Field(max_length=100)] = Field(
        default_factory=list, description="Tools that an agent with this skill has to have."
    )
    body: Annotated[str, Field(min_length=1, max_length=100_000), _Storable] = Field(
        description="The instructions, in Markdown."
    )


#: Settings that are keys of the front matter.
FRONT_MATTER: Final = tuple(name for name in SkillSpec.model_fields if name != "body")
