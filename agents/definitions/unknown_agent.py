"""Error for an agent name that a workspace does not have."""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import AgentNotFoundError
from tools.texts.near_names import hint


def unknown_agent(name: str, names: Sequence[str], place: str) -> AgentNotFoundError:
    """Return the error, which suggests the closest name or lists the known ones.

    Args:
        name: The unknown name.
        names: The agents of the place.
        place: The short name of a workspace, or words for the team of a file or program.
    """
    end = hint(name, names)
    if not names:
        end += "; `heartbit config import` makes them from a file"
    stop = "" if end.endswith("?") else "."
    return AgentNotFoundError(f"There is no agent named {name!r} in {place}: {end}{stop}")
