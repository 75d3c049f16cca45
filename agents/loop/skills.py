"""Skills in a run: the prompt names them, and the model loads one when a task calls for it. Pure.

Progressive disclosure, as the Agent Skills format has it: names and descriptions are always there,
the instructions and files of a skill only once the model asks for them.
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
    """Return what the system prompt says of an agent's skills; empty if it has none."""
    lines = [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in skills]
    return "\n".join([_NOTE, *lines]) if lines else ""
