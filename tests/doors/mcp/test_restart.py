"""A web process that ends does not end the runs that its clients wait for."""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING

from agents.models import Agent, Run
from tests.api.server import WebServer
from tests.doors.mcp.conftest import Mcp
from tests.fleet import wait_until

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp_types import CallToolResult

    from heartbit_site.base.models import Workspace


def test_a_restart_cancels_nothing(mcp: Mcp, workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("writer", {"task": "Wait."})

    runs = Run.objects.filter(workspace=workspace)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with WebServer() as server:
            calling = pool.submit(Mcp(f"{server.url}/mcp", mcp.key).run, use)
            wait_until(runs.exists, what="it is accepted")
        assert calling.exception(timeout=60) is not None
    run = runs.get()
    assert (run.status, run.cancel_requested) == ("queued", False)
