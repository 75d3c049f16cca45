"""Operate an installation through its server. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from heartbit_site.cli.remote_client import agent_path, get, post, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.operation import Asked, Holdable, Switch
    from heartbit_site.cli.remote import Server


class There:
    """See ``operation.Operation``; one connection a question, so that a server may restart."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def fleet(self) -> Mapping[str, Any]:
        """Workers, queues, totals and problems."""
        return self._get("/fleet")

    def ask(self, worker_id: int, wanted: Asked) -> None:
        """Ask a worker to leave."""
        self._post(f"/fleet/workers/{worker_id}/{wanted}")

    def hold(self, what: Holdable, name: str, reason: str, *, place: str = "") -> dict[str, Any]:
        """Hold something back; whether that changed anything."""
        verb = "pause" if what == "queue" else "halt"
        return self._post(f"{_path(what, name, place)}/{verb}", {"reason": reason})

    def free(self, what: Holdable, name: str, *, place: str = "") -> dict[str, Any]:
        """Let it go on; whether that changed anything."""
        verb = "resume" if what == "queue" else "continue"
        return self._post(f"{_path(what, name, place)}/{verb}")

    def agents(self) -> list[dict[str, Any]]:
        """What every published agent is doing."""
        rows = whole(self._server, "/agents", "agents")["agents"]
        return [self.agent(row["name"]) for row in rows]

    def agent(self, name: str) -> dict[str, Any]:
        """What one agent is doing."""
        return self._get(f"{agent_path(name)}/status")

    def switch(self, name: str, to: Switch) -> dict[str, Any]:
        """Start, stop or restart an agent; what it is doing then."""
        return self._post(f"{agent_path(name)}/{to}")

    def _get(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = get(self._server, path)
        return found

    def _post(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = post(self._server, path, body)
        return found


def _path(what: Holdable, name: str, place: str) -> str:
    if what == "all":
        return "/fleet"
    above = f"/fleet/workspaces/{quote(place, safe='')}" if place else "/fleet"
    return f"{above}/{what}s/{quote(name, safe='')}"
