"""Error for an agent name that a workspace does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.errors import AgentNotFoundError
from tools.registry import closest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.base.models import Workspace


def unknown_agent(name: str, names: Sequence[str], workspace: Workspace) -> AgentNotFoundError:
    """Return the error, which suggests the closest name or lists the known ones."""
    near = closest(name, names)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names) or 'none yet'}."
    return AgentNotFoundError(f"There is no agent named {name!r} in {workspace.slug}: {hint}")
