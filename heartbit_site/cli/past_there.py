"""Forks at a server. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.cli.remote_client import post
from heartbit_site.cli.remote_outcome import described, warn_without_worker
from heartbit_site.cli.remote_runs import path_of, stay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.remote import Server


class There:
    """See ``past.Past``."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: dict[str, Any] = {}

    def fork(self, run: str, turn: int, edits: Mapping[str, Any]) -> dict[str, Any]:
        """Fork a run on the fleet; the new one as `--json` prints it."""
        self._made = post(self._server, f"{path_of(run)}/fork", {"turn": turn, **edits})
        return described(self._made)

    def warn(self, run: Mapping[str, Any]) -> None:
        """Say so when no worker serves the queue of a run that was made a moment ago."""
        warn_without_worker(self._made)

    def stay(self, run: Mapping[str, Any], *, as_json: bool, plain: bool) -> int:
        """Show a run to its end; the exit code says how it ended."""
        return stay(self._server, self._made, as_json=as_json, plain=plain)
