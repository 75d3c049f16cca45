"""The channels of an installation, here or through its server: one form for both. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from heartbit_site.cli.here_or_there import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Channels(Protocol):
    """Ways in for messages; the dictionaries are those of the REST API."""

    def all(self) -> list[dict[str, Any]]:
        """List the channels, the newest first."""
        ...

    def messages(self, number: int, count: int) -> list[dict[str, Any]]:
        """List what came in by a channel, the newest first."""
        ...

    def webhooks(self) -> list[dict[str, Any]]:
        """List the webhooks, each with its number (``webhook``) and name."""
        ...

    def add(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a channel; the answer holds its ``secret``, which cannot be read again."""
        ...

    def change(self, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is given."""
        ...

    def remove(self, number: int) -> None:
        """Remove a channel, with the log of what came in."""
        ...


def channels_at(url: str | None) -> Channels:
    """Return the channels of the server that is meant, else of this installation."""
    found: Channels = chosen("channels", url)
    return found
