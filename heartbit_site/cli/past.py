"""Forks of runs, here or through a server: one form for both. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from heartbit_site.cli.here_or_there import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Past(Protocol):
    """Forks; the dictionaries are those of the REST API."""

    def fork(self, run: str, turn: int, edits: Mapping[str, Any]) -> dict[str, Any]:
        """Fork a run on the fleet; the new one as `--json` prints it."""
        ...

    def warn(self, run: Mapping[str, Any]) -> None:
        """Say so when no worker serves the queue of a run that was made a moment ago."""
        ...

    def stay(self, run: Mapping[str, Any], *, as_json: bool, plain: bool) -> int:
        """Show a run to its end; the exit code says how it ended."""
        ...


def past(url: str | None) -> Past:
    """The past of the server that is meant, else of this installation."""
    found: Past = chosen("past", url)
    return found
