"""``heartbit mcp serve``: the same server, for the client that starts it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

from agents.models import Run
from heartbit_site.base.models import Workspace
from tests.doors.mcp.test_tools import ERAS, text_of

if TYPE_CHECKING:
    from tests.api.server import Caller
    from tests.doors.mcp.conftest import Mcp


@pytest.mark.parametrize("era", ERAS)
def test_a_client_starts_it_and_calls_an_agent(mcp: Mcp, workspace: Workspace, era: str) -> None:
    async def use() -> Any:
        async with Client(_command(workspace), cache=None, mode=era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, await client.call_tool("writer", {"task": "[[text: Done.]]"})

    names, found = asyncio.run(use())
    assert "analyst" in names
    assert text_of(found) == "Done."
    assert Run.objects.get(workspace=workspace).status == "succeeded"


def test_the_person_at_the_client_decides(mcp: Mcp, caller: Caller, workspace: Workspace) -> None:
    caller.http.patch("/agents/analyst", json={"approval": "always"})

    async def decide(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"decision": "approve"})

    async def use() -> Any:
        task = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
        command = _command(workspace)
        async with Client(command, cache=None, elicitation_callback=decide) as client:
            return await client.call_tool("analyst", {"task": task})

    assert text_of(asyncio.run(use())) == "Done."


def _command(workspace: Workspace) -> StdioServerParameters:
    arguments = ["-m", "heartbit_site.cli.main", "mcp", "serve", "--workspace", workspace.slug]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
