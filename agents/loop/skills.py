"""Skills in a run: the prompt lists them, and the model loads one when a task requires it. Pure.

Progressive disclosure, as in the Agent Skills format: the prompt always has the names and
descriptions; the model loads a skill's instructions and files on demand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agents.definitions.definition import PinnedSkill

LOAD: Final = "load_skill"
READ: Final = "read_skill_file"
#: Tools that every agent with skills is offered.
TOOLS: Final = (LOAD, READ)
_NOTE: Final = (
    f"Skills are instructions for certain kinds of tasks. If one of these fits the task, call "
    f"{LOAD} with its name before you begin, and follow what it says:"
)


def note(skills: Iterable[PinnedSkill]) -> str:
    """Return the system prompt's section on an agent's skills; empty without skills."""
    lines = [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in skills]
    return "\n".join([_NOTE, *lines]) if lines else ""
