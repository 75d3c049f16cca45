"""Operating an installation, here or through its server: one form for both. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from heartbit_site.cli.here_or_there import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

Asked = Literal["stop", "restart"]
Switch = Literal["start", "stop", "restart"]
Holdable = Literal["queue", "workspace", "tool", "all"]


class Operation(Protocol):
    """What an operator can see and do; the dictionaries are those of the REST API."""

    def fleet(self) -> Mapping[str, Any]:
        """Workers, queues, totals and problems."""
        ...

    def ask(self, worker_id: int, wanted: Asked) -> None:
        """Ask a worker to leave."""
        ...

    def hold(self, what: Holdable, name: str, reason: str, *, place: str = "") -> dict[str, Any]:
        """Hold something back; whether that changed anything.

        ``place``: the workspace in which a tool is stopped; empty: everywhere.
        """
        ...

    def free(self, what: Holdable, name: str, *, place: str = "") -> dict[str, Any]:
        """Let it go on; whether that changed anything."""
        ...

    def agents(self) -> list[dict[str, Any]]:
        """What every agent is doing."""
        ...

    def agent(self, name: str) -> dict[str, Any]:
        """What one agent is doing."""
        ...

    def switch(self, name: str, to: Switch) -> dict[str, Any]:
        """Start, stop or restart an agent; what it is doing then."""
        ...


def operation(url: str | None) -> Operation:
    """The server's, when one is named by option or environment; else this installation's."""
    found: Operation = chosen("operation", url)
    return found
