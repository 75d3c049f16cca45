"""The real web process, as ``heartbit up`` starts it, on a port of its own."""

from __future__ import annotations

import os
import re
import resource
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import httpx

from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.scopes import SCOPES
from tests import prepared
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heartbit_site.base.models import Workspace

_ADDRESS = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


class WebServer:
    """`heartbit web` in a process, logging to a file.

    Args:
        files: How many it may open; None: as many as this process.
        port: Where it listens; 0: wherever there is room.
        environment: Variables beside those of this process.
    """

    def __init__(self, *, files: int | None = None, port: int = 0, **environment: str) -> None:
        self._files = files
        self._port = port
        self._environment = environment

    def __enter__(self) -> Self:
        descriptor, name = tempfile.mkstemp(prefix="web", suffix=".log")
        self.log = Path(name)
        self._process = prepared.start(
            prepared.HEARTBIT,
            ["web", "--port", str(self._port), "--grace", "1"],
            {**os.environ, **self._environment},
            descriptor,
        )
        self.pid = self._process.pid
        if self._files is not None:
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (self._files, self._files))
        os.close(descriptor)
        found = wait_until(self._address, seconds=40, what=f"the web server, see {self.log}")
        self.url: str = found[1]
        return self

    def _address(self) -> re.Match[str] | None:
        assert self._process.poll() is None, self.log.read_text()[-4000:]
        return _ADDRESS.search(self.log.read_text())

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=90)
        self.log.unlink()


class Caller:
    """A client with a key of one workspace; closed after the test that made it."""

    #: Those not closed yet; ``tests.conftest`` closes them.
    opened: ClassVar[list[Caller]] = []

    def __init__(self, server: WebServer, key: str) -> None:
        self.key = key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Without certificates, whose loading takes longer than most requests here.
        self.http = httpx.Client(
            base_url=f"{server.url}/api/v1",
            headers=headers,
            timeout=60,
            verify=False,  # noqa: S501
        )
        self.opened.append(self)

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return self.http.post(path, json={} if body is None else body, headers=headers)

    def submit(self, task: str, **fields: Any) -> dict[str, Any]:
        response = self.post("/runs", {"task": task, **fields})
        assert response.status_code == 201, response.text
        found: dict[str, Any] = response.json()
        return found

    def ended(self, run_id: str) -> dict[str, Any]:
        response = self.get(f"/runs/{run_id}/result", wait=30)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found


def key_for(workspace: Workspace, scopes: Iterable[str] = SCOPES) -> str:
    return create_api_key(workspace, "test", scopes=scopes)[1]
