"""What a server keeps for people to read. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from heartbit_site.cli.remote_client import get

if TYPE_CHECKING:
    from heartbit_site.cli.remote import Server


class There:
    """See ``readings.Readings``."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def usage(self) -> dict[str, Any]:
        """What was used, against what may be."""
        found: dict[str, Any] = get(self._server, "/usage")
        return found

    def deliveries(self, run: str, status: str, count: int) -> list[dict[str, Any]]:
        """Where results went, the newest first."""
        asked = {"run": run, "status": status}
        query = {"limit": count} | {name: value for name, value in asked.items() if value}
        found: list[dict[str, Any]] = get(self._server, "/deliveries", query)["deliveries"]
        return found

    def inbox(self, agent: str, count: int) -> list[dict[str, Any]]:
        """What an agent was written, the newest first."""
        page = get(self._server, "/messages", {"to": agent, "limit": count})
        found: list[dict[str, Any]] = page["messages"]
        return found

    def message(self, message_id: str) -> dict[str, Any]:
        """Return one message with the whole of its text."""
        found: dict[str, Any] = get(self._server, f"/messages/{quote(message_id, safe='')}")
        return found
