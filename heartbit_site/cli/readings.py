"""What a workspace keeps for people to read, here or through its server: one form. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from heartbit_site.cli.here_or_there import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Readings(Protocol):
    """Usage, deliveries and messages; the dictionaries are those of the REST API."""

    def usage(self) -> Mapping[str, Any]:
        """What was used, against what may be."""
        ...

    def deliveries(self, run: str, status: str, count: int) -> list[dict[str, Any]]:
        """Where results went, the newest first; of one run, or in one state, if that is named."""
        ...

    def inbox(self, agent: str, count: int) -> list[dict[str, Any]]:
        """What an agent was written, the newest first: of each text the beginning."""
        ...

    def message(self, message_id: str) -> dict[str, Any]:
        """Return one message with the whole of its text."""
        ...


def readings_at(url: str | None) -> Readings:
    """Those of the server that is meant, else of this installation."""
    found: Readings = chosen("readings", url)
    return found
