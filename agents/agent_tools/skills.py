"""Tools with which an agent reads its skills (docs/howto/skills.md).

Agents with skills are offered them; no binding is needed.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.runtime.files.skill_files import file_of, skill_of_run
from heartbit_site.base.toolspec import Effect, ToolContext, tool

_TAGS = ("skills",)

Name = Annotated[str, Field(min_length=1, max_length=64, description="The skill's name.")]


@tool(effect=Effect.PURE, tags=_TAGS, labels=())
def load_skill(context: ToolContext, name: Name) -> str:
    """Load the instructions of one of your skills, with the names of its files."""
    version = skill_of_run(context.run_id, name)
    files = [f"- {file['path']} ({file['size']} bytes)" for file in version.files]
    body = str(version.snapshot["body"])
    if not files:
        return body
    head = f"Files of the skill {name}; read_skill_file reads one, run_code takes them in skills:"
    return "\n".join([body, "", head, *files])


@tool(effect=Effect.PURE, tags=_TAGS, labels=())
def read_skill_file(
    context: ToolContext,
    name: Name,
    path: Annotated[
        str,
        Field(min_length=1, max_length=200, description="Path in the skill, as it names it."),
    ],
) -> str:
    """Read a text file of one of your skills."""
    content = file_of(skill_of_run(context.run_id, name), path.removeprefix("./"))
    try:
        return content.decode()
    except UnicodeDecodeError:
        return (
            f"{path} is not text ({len(content)} bytes). A program can use it: run_code takes the "
            "files of a skill in skills."
        )
