"""REST: ``POST /runs`` and ``GET /runs/{id}/result?wait``, over one connection a workload."""

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit
from uuid import UUID

import psutil

from tests.api.server import WebServer, key_for
from tests.bench.checks import check
from tests.bench.doors import Aim, Door

if TYPE_CHECKING:
    from tests.bench.workloads import Workload

_UNLIMITED = "1000000"  # requests a second: they are counted as always, and none is refused


class Rest(Door):
    """A program with a key; its client is the standard library's, which takes next to no time."""

    name = "REST with wait"
    floor = "bare Celery"
    place = 2
    aims: ClassVar = {"": Aim("internal durable", more_ms=3)}

    def __enter__(self) -> Self:
        self._server = WebServer(HEARTBIT_API_RATE_LIMIT=_UNLIMITED).__enter__()
        self._connection = http.client.HTTPConnection(urlsplit(self._server.url).netloc, timeout=70)
        self._headers = {
            "Authorization": f"Bearer {key_for(self.workspace)}",
            "Content-Type": "application/json",
        }
        return self

    def __exit__(self, *raised: Any) -> None:
        self._connection.close()
        self._server.__exit__(*raised)

    def take(self, workload: Workload) -> float:
        """See ``Door``."""
        self._connection.close()  # the server has closed one that was idle for long
        self._connection.connect()
        body = {"task": workload.task, "agent": workload.agent}
        if workload.messages > 1:
            thread = self._asked("POST", "/conversations", {"agent": workload.agent})
            body = {"task": workload.task, "conversation_id": thread["id"]}
        began = time.perf_counter()
        for _ in range(workload.messages):
            run = self._asked("POST", "/runs", body)["id"]
            result = self._asked("GET", f"/runs/{run}/result?wait=30")["result"]
            check(result and result["text"])
            self.ids.append(UUID(run))
        return time.perf_counter() - began

    @property
    def processes(self) -> list[psutil.Process]:
        """See ``Door``."""
        return [psutil.Process(self._server.pid)]

    def _asked(self, method: str, path: str, body: object = None) -> Any:
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", sent, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status not in (200, 201):
            raise RuntimeError(f"{method} {path} was answered {response.status}: {answer!r}")
        return json.loads(answer)
