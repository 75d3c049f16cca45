"""The past of a server. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.cli.backend import ServerBackend
from heartbit_site.cli.describe import run_tree
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.remote_client import agent_path, get, post, whole
from heartbit_site.cli.run_names import run_id_of
from heartbit_site.cli.run_streams import stay
from heartbit_site.contract.runs import RunDetailOut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.remote import Server


class There:
    """See ``past.Past``."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: RunDetailOut

    def turn(self, run: str, number: int) -> dict[str, Any]:
        """One turn with everything that is known of it."""
        return self._get(f"/runs/{run_id_of(run)}/turns/{number}")

    def fork(self, run: str, turn: int, edits: Mapping[str, Any]) -> dict[str, Any]:
        """Fork a run on the fleet; the new one as `--json` prints it."""
        made = post(self._server, f"/runs/{run_id_of(run)}/fork", {"turn": turn, **edits})
        self._made = RunDetailOut.model_validate(made)
        return run_tree(self._made)

    def warn(self, run: Mapping[str, Any]) -> None:
        """Say so when no worker serves the queue of a run that was made a moment ago."""
        warn_without_worker(self._made)

    def stay(self, run: Mapping[str, Any], *, as_json: bool, plain: bool) -> int:
        """Show a run to its end; the exit code says how it ended."""
        return stay(ServerBackend(self._server), self._made, as_json=as_json, plain=plain)

    def versions(self, agent: str) -> dict[str, Any]:
        """An agent's versions, the newest first."""
        found: dict[str, Any] = whole(self._server, f"{agent_path(agent)}/versions", "versions")
        return found

    def diff(self, agent: str, older: int | None, newer: int | None) -> dict[str, Any]:
        """What changed between two versions."""
        wanted = {"older": older, "newer": newer}
        query = {name: number for name, number in wanted.items() if number is not None}
        return self._get(f"{agent_path(agent)}/versions/diff", query)

    def rollback(self, agent: str, number: int, *, anyway: bool) -> dict[str, Any]:
        """Make an earlier version what the agent is."""
        path = f"{agent_path(agent)}/versions/{number}/rollback"
        done: dict[str, Any] = post(self._server, path, {"anyway": anyway})
        return done

    def _get(self, path: str, query: Mapping[str, int] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = get(self._server, path, query)
        return found
