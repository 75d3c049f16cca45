"""REST in one request: ``POST /runs?wait``, over one connection a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.bench.doors.rest import Rest

if TYPE_CHECKING:
    from tests.bench.rest_client import RestClient


class RestAtOnce(Rest):
    """A program with a key, which is answered once the run has ended."""

    name = "REST in one request"
    place = 3

    def answered(self, client: RestClient, body: dict[str, Any]) -> tuple[UUID, Any]:
        """See ``Rest``."""
        run = client.ask("POST", "/runs?wait=30", body)
        return UUID(run["id"]), run["result"]
