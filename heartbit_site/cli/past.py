"""The past of an installation, here or through its server: one form for both. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from heartbit_site.cli.here_or_there import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Past(Protocol):
    """Turns of runs and versions of agents; the dictionaries are those of the REST API."""

    def turn(self, run: str, number: int) -> dict[str, Any]:
        """One turn with everything that is known of it."""
        ...

    def fork(self, run: str, turn: int, edits: Mapping[str, Any]) -> dict[str, Any]:
        """Fork a run on the fleet; the new one as `--json` prints it."""
        ...

    def warn(self, run: Mapping[str, Any]) -> None:
        """Say so when no worker serves the queue of a run that was made a moment ago."""
        ...

    def stay(self, run: Mapping[str, Any], *, as_json: bool, plain: bool) -> int:
        """Show a run to its end; the exit code says how it ended."""
        ...

    def versions(self, agent: str) -> dict[str, Any]:
        """An agent's versions, the newest first."""
        ...

    def diff(self, agent: str, older: int | None, newer: int | None) -> dict[str, Any]:
        """What changed between two versions."""
        ...

    def rollback(self, agent: str, number: int, *, anyway: bool) -> dict[str, Any]:
        """Make an earlier version what the agent is."""
        ...


def past(url: str | None) -> Past:
    """The past of the server that is meant, else of this installation."""
    found: Past = chosen("past", url)
    return found
