"""The schedules of a server. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from heartbit_site.cli.backend import ServerBackend
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.remote_client import Client, get, post, whole
from heartbit_site.contract.runs import SHOW_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.backend import Backend
    from heartbit_site.cli.remote import Server


class There:
    """See ``schedules.Schedules``."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def all(self) -> list[dict[str, Any]]:
        """Every schedule, by name."""
        found: list[dict[str, Any]] = whole(self._server, "/schedules", "schedules")["schedules"]
        return found

    def one(self, name: str) -> dict[str, Any]:
        """One, by its name or number."""
        found: dict[str, Any] = get(self._server, self._path(name))
        return found

    def firings(self, name: str, count: int) -> list[dict[str, Any]]:
        """What became of its slots, the latest first."""
        page = get(self._server, f"{self._path(name)}/firings", {"limit": count})
        found: list[dict[str, Any]] = page["firings"]
        return found

    @property
    def backend(self) -> Backend:
        """The server."""
        return ServerBackend(self._server)

    def add(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make one."""
        made: dict[str, Any] = post(self._server, "/schedules", given)
        return made

    def change(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is given."""
        with Client(self._server) as client:
            changed: dict[str, Any] = client.patch(self._path(name), given)
        return changed

    def remove(self, name: str) -> None:
        """Remove it, with the log of its slots."""
        with Client(self._server) as client:
            client.delete(self._path(name))

    def run(self, name: str) -> str:
        """Start its run now; the run's id. Says so when no worker serves its queue."""
        started = str(post(self._server, f"{self._path(name)}/run")["run"])
        warn_without_worker(ServerBackend(self._server).call(SHOW_RUN, run_id=started))
        return started

    def backfill(self, name: str, begin: str, end: str) -> int:
        """Make up for the slots of a span; how many will run."""
        span = {"from": begin, "to": end}
        return int(post(self._server, f"{self._path(name)}/backfill", span)["slots"])

    def _path(self, name: str) -> str:
        """Its address; a name with a slash cannot stand in one, so its number does."""
        if "/" in name:
            numbers = [one["schedule"] for one in self.all() if one["name"] == name]
            name = str(numbers[0]) if numbers else name.replace("/", " ")
        return f"/schedules/{quote(name, safe='')}"
