"""Disabled tools, kept in a process's memory so that calls need no query.

Disabling a tool notifies the control channel, and every process reads the few rows again
(``RunExecutor``), as it does at each heartbeat, in case the notification was missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

#: Rows of the whole installation and of each workspace; an operator's row overrides earlier ones.
QUERY = (
    "SELECT tool, workspace_id, by, reason FROM agents_pause WHERE kind = 'tool'"
    " ORDER BY by_operator"
)


def refusal(tool: str, who: str) -> str:
    """Return the text that tells a model that a call was not run."""
    return f"The tool {tool} was stopped by {who}: go on without it, or say what cannot be done."


class StoppedTools:
    """Disabled tools of all workspaces. Written on the process's loop, read from any thread."""

    def __init__(self) -> None:
        self._refusals: Mapping[tuple[str, int | None], str] = {}
        self._under_way: dict[asyncio.Future[str], tuple[str, int]] = {}

    def update(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store the rows of ``QUERY``, and stop running calls of tools that are now disabled."""
        self._refusals = {
            (row["tool"], row["workspace_id"]): refusal(
                row["tool"], f"{row['by']} ({row['reason']})" if row["reason"] else row["by"]
            )
            for row in rows
        }
        for stop, (tool, workspace_id) in self._under_way.items():
            self._set_if_stopped(stop, tool, workspace_id)

    def stop_reason(self, tool: str, workspace_id: int) -> str | None:
        """Return the refusal of a disabled tool's call; None: it may be called."""
        refusals = self._refusals  # read once: it may be replaced meanwhile
        return refusals.get((tool, None)) or refusals.get((tool, workspace_id))

    @contextmanager
    def track_call(self, tool: str, workspace_id: int) -> Iterator[asyncio.Future[str]]:
        """Track a running call; yield a future of the refusal if the tool is disabled."""
        stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._under_way[stop] = (tool, workspace_id)
        self._set_if_stopped(stop, tool, workspace_id)
        try:
            yield stop
        finally:
            del self._under_way[stop]

    def _set_if_stopped(self, stop: asyncio.Future[str], tool: str, workspace_id: int) -> None:
        why = self.stop_reason(tool, workspace_id)
        if why is not None and not stop.done():
            stop.set_result(why)


@dataclass(frozen=True, slots=True)
class WorkspaceStoppedTools:
    """Disabled tools as seen by one workspace's runs."""

    tools: StoppedTools
    workspace_id: int

    def stop_reason(self, tool: str) -> str | None:
        """See ``StoppedTools``."""
        return self.tools.stop_reason(tool, self.workspace_id)

    def track_call(self, tool: str) -> AbstractContextManager[asyncio.Future[str]]:
        """See ``StoppedTools``."""
        return self.tools.track_call(tool, self.workspace_id)
