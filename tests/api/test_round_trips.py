"""What a program's request costs: one thread, and as few statements as it has facts to learn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.actions.runs import cancel_run
from agents.choices import Placement
from agents.models import Agent, Run
from agents.runtime.providers.preflight import has_obstacle
from heartbit_site.api.programs import ProgramRequests
from heartbit_site.base import orm
from heartbit_site.base.audit import NOBODY
from tests.api.server import key_for
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heartbit_site.base.models import Workspace


@dataclass
class Work:
    """The statements of each piece of work that threads did for the loop."""

    pieces: list[list[str]] = field(default_factory=list)

    def of(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do a piece."""
        with CaptureQueriesContext(connection) as asked:
            try:
                return fn(*args, **kwargs)
            finally:
                piece = [query["sql"] for query in asked]
                # Not the look of a sweeper that another test has left in this process.
                if "heartbit_expire_waits" not in str(piece):
                    self.pieces.append(piece)

    @property
    def statements(self) -> list[int]:
        """How many each piece took."""
        return [len(piece) for piece in self.pieces]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    found = Work()
    monkeypatch.setattr(orm, "_checked", found.of)
    monkeypatch.setattr(orm, "_again_if_dead", found.of)
    return found


@pytest.fixture
def key(workspace: Workspace) -> Iterator[str]:
    """A key that has just been used: its use is written down once a minute."""
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    yield key_for(workspace)
    for run in Run.objects.filter(workspace=workspace, finished_at=None):  # for no sweeper to ring
        cancel_run(workspace, run.pk, reason="over")


async def asked(key: str, method: str, path: str, **request: Any) -> httpx.Response:
    transport = httpx.ASGITransport(app=ProgramRequests(pages=None))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1/api/v1", headers=headers
    ) as client:
        return await client.request(method, path, **request)


async def test_given_a_task_then_one_thread_asks_for_the_key_starts_the_run_and_reads_it(
    key: str, work: Work, workspace: Workspace
) -> None:
    assert (await asked(key, "GET", "/me")).status_code == 200  # its first use is written down
    await orm.run_in_thread(
        lambda: has_obstacle(workspace.pk, Placement.FLEET)
    )  # read every few seconds
    work.pieces.clear()
    response = await asked(key, "POST", "/runs", json={"task": "x", "agent": "writer"})
    assert response.status_code == 201, response.text
    assert work.statements == [3]


async def test_given_an_ended_run_then_one_thread_asks_for_the_key_and_reads_the_result(
    key: str, workspace: Workspace, work: Work
) -> None:
    def ended() -> str:
        run_id = start_run(workspace, "x", agent="writer")
        cancel_run(workspace, run_id, reason="test", by=NOBODY)
        return str(run_id)

    run = await orm.run_in_thread(ended)
    assert (await asked(key, "GET", "/me")).status_code == 200
    work.pieces.clear()
    response = await asked(key, "GET", f"/runs/{run}/result", params={"wait": 30})
    assert response.json()["status"] == "cancelled"
    assert work.statements == [3]


async def test_given_a_run_under_way_then_its_waiter_holds_no_thread(key: str, work: Work) -> None:
    started = await asked(key, "POST", "/runs", json={"task": "x", "agent": "writer"})
    work.pieces.clear()
    path = f"/runs/{started.json()['id']}/result"
    response = await asked(key, "GET", path, params={"wait": 0.2})
    assert (response.status_code, response.json()["result"]) == (202, None)
    # The key and the state; a look once a push would be heard; what is answered.
    assert work.statements == [2, 1, 1]


async def test_given_an_unknown_key_then_its_body_is_not_looked_at(
    workspace: Workspace, work: Work
) -> None:
    response = await asked(f"hb_{'0' * 10}_{'A' * 43}", "POST", "/runs", content=b"no JSON")
    assert response.status_code == 401
    assert work.statements == [1]


async def test_given_a_waiter_who_leaves_then_its_request_ends(key: str) -> None:
    started = await asked(key, "POST", "/runs", json={"task": "x", "agent": "writer"})
    left, sent = asyncio.Event(), []
    arriving = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if arriving:
            return arriving.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api/v1/runs/{started.json()['id']}/result",
        "query_string": b"wait=60",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {key}".encode())],
        "client": ("127.0.0.1", 1),
    }
    serving = asyncio.create_task(ProgramRequests(pages=None)(scope, receive, send))
    await asyncio.sleep(0.3)
    assert not serving.done()
    left.set()
    async with asyncio.timeout(20):
        await serving
    assert not sent
