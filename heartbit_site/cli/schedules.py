"""The schedules of an installation, here or through its server: one form for both. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from heartbit_site.cli.here_or_there import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.backend import Backend


class Schedules(Protocol):
    """What agents do by the clock; the dictionaries are those of the REST API."""

    def all(self) -> list[dict[str, Any]]:
        """Every schedule, by name."""
        ...

    def one(self, name: str) -> dict[str, Any]:
        """One, by its name or number."""
        ...

    def firings(self, name: str, count: int) -> list[dict[str, Any]]:
        """What became of its slots, the latest first."""
        ...

    @property
    def backend(self) -> Backend:
        """Where they are."""
        ...

    def add(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make one."""
        ...

    def change(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is given."""
        ...

    def remove(self, name: str) -> None:
        """Remove it, with the log of its slots."""
        ...

    def run(self, name: str) -> str:
        """Start its run now; the run's id. Says so when no worker serves its queue."""
        ...

    def backfill(self, name: str, begin: str, end: str) -> int:
        """Make up for the slots of a span; how many will run."""
        ...


def schedules_at(url: str | None) -> Schedules:
    """Those of the server that is meant, else of this installation."""
    found: Schedules = chosen("schedules", url)
    return found
