"""A program that uses the API of a web process of its own.

Its client is the standard library's, which takes next to no time.
"""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import psutil

from tests.api.server import WebServer, key_for

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.bench.workloads import Workload

_UNLIMITED = "1000000"  # requests a second: they are counted as always, and none is refused


class RestClient:
    """One connection with a key, while the block lasts."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __enter__(self) -> Self:
        self._server = WebServer(HEARTBIT_API_RATE_LIMIT=_UNLIMITED).__enter__()
        self._connection = http.client.HTTPConnection(urlsplit(self._server.url).netloc, timeout=70)
        self._headers = {
            "Authorization": f"Bearer {key_for(self._workspace)}",
            "Content-Type": "application/json",
        }
        return self

    def __exit__(self, *raised: object) -> None:
        self._connection.close()
        self._server.__exit__(*raised)

    def reconnect(self) -> None:
        """Open the connection anew: the server has closed one that was idle for long."""
        self._connection.close()
        self._connection.connect()

    def body(self, workload: Workload) -> dict[str, Any]:
        """Return what starts a run of a workload; one of several messages gets a thread."""
        if workload.messages == 1:
            return {"task": workload.task, "agent": workload.agent}
        thread = self.ask("POST", "/conversations", {"agent": workload.agent})
        return {"task": workload.task, "conversation_id": thread["id"]}

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        root: str = "/api/v1",
        **headers: str,
    ) -> Any:
        """Return an answer.

        Args:
            method: The method.
            path: The path below the root.
            body: What is sent as JSON; None: nothing.
            root: Where the API is.
            headers: Headers beside the usual ones.

        Raises:
            RuntimeError: It is an error.
        """
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, f"{root}{path}", sent, self._headers | headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status not in (200, 201):
            raise RuntimeError(f"{method} {path} was answered {response.status}: {answer!r}")
        if response.headers["Content-Type"].startswith("text/event-stream"):
            answer = answer.rpartition(b"data: ")[2]
        return json.loads(answer)

    @property
    def processes(self) -> list[psutil.Process]:
        """The web process."""
        return [psutil.Process(self._server.pid)]
