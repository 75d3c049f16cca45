"""Error for an agent name that a workspace does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.errors import AgentNotFoundError
from tools.near_names import hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.base.models import Workspace


def unknown_agent(name: str, names: Sequence[str], workspace: Workspace) -> AgentNotFoundError:
    """Return the error, which suggests the closest name or lists the known ones."""
    end = hint(name, names)
    stop = "" if end.endswith("?") else "."
    return AgentNotFoundError(f"There is no agent named {name!r} in {workspace.slug}: {end}{stop}")
