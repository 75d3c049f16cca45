"""The channels of a server. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.cli.remote_client import Client, get, post, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.remote import Server


class There:
    """See ``channels.Channels``."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def all(self) -> list[dict[str, Any]]:
        """List the channels, the newest first."""
        found: list[dict[str, Any]] = whole(self._server, "/channels", "channels")["channels"]
        return found

    def messages(self, number: int, count: int) -> list[dict[str, Any]]:
        """List what came in by a channel, the newest first."""
        page = get(self._server, f"/channels/{number}/messages", {"limit": count})
        found: list[dict[str, Any]] = page["messages"]
        return found

    def webhooks(self) -> list[dict[str, Any]]:
        """List the webhooks."""
        found: list[dict[str, Any]] = whole(self._server, "/webhooks", "webhooks")["webhooks"]
        return found

    def add(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a channel."""
        made: dict[str, Any] = post(self._server, "/channels", given)
        return made

    def change(self, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is given."""
        with Client(self._server) as client:
            changed: dict[str, Any] = client.patch(f"/channels/{number}", given)
        return changed

    def remove(self, number: int) -> None:
        """Remove a channel, with the log of what came in."""
        with Client(self._server) as client:
            client.delete(f"/channels/{number}")
