"""An MCP call's intent comes last: what dies while it connects leaves no call in doubt."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import mcp_types
import pytest

from agents.choices import TERMINAL, CallStatus, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent, Run, RunEvent
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.fleet import Worker, wait_until
from tests.mcp.servers import HERE
from tests.starts import start_run
from tools.actions.mcp_servers import save_mcp_server
from tools.actions.read_mcp_server import Reading
from tools.actions.refresh_mcp_server import store_reading
from tools.mcp.listing import Offer
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
TASK = "[[calls: late_good {}]] [[text: Done.]]"


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that the program's user may write to."""
    with tempfile.TemporaryDirectory(prefix="heartbit-test-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def add_server(workspace: Workspace, **fields: str) -> None:
    """Add a server with the tool of ``hostile.py``, as if it had been read."""
    server = McpServer(workspace=workspace, name="late", **fields)
    save_mcp_server(server, by=SYSTEM)
    good = mcp_types.Tool(name="good", description="Be good.", input_schema={"type": "object"})
    store_reading(server, Reading(Offer({"good": good}, {}), {}, ""), by=SYSTEM)


def intents(run_id: UUID) -> int:
    return RunEvent.objects.filter(run_id=run_id, type="tool.started").count()


def test_given_a_program_that_starts_when_its_worker_is_killed_then_the_call_is_repeated(
    workspace: Workspace, agent: Create, wire_server: object, folder: Path, settings: Settings
) -> None:
    words = ("+open", sys.executable, str(HERE / "hostile.py"), "late", str(folder))
    settings.HEARTBIT_MCP_COMMANDS = {"late": words}
    add_server(workspace, transport="stdio", command="late")
    agent(tools=("late_good",), queue=workspace.slug)
    run_id = start_run(workspace, TASK, agent="solo", model="openai:fake")
    line = "late = " + " ".join(words)
    environment = {**os.environ, "HEARTBIT_MCP_COMMANDS": line}
    with Worker(queues=workspace.slug, environment=environment) as worker:
        wait_until((folder / "started").exists, what="the program was started")
        assert intents(run_id) == 0
        worker.kill()
        (folder / "go").touch()
        worker.start()
        wait_until(lambda: Run.objects.get(pk=run_id).status in {*TERMINAL, RunStatus.WAITING})
    run = Run.objects.get(pk=run_id)
    [call] = run.calls.all()
    assert (run.status, call.status, call.result) == (
        RunStatus.SUCCEEDED,
        CallStatus.OK,
        "good: {}",
    )
    assert intents(run_id) == 1


async def test_given_a_silent_server_then_no_intent_is_journaled(
    studio: Studio, agent: Create, workspace: Workspace
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"

        def made() -> None:
            add_server(workspace, url=url)
            agent(tools=("late_good",))

        await orm.run_in_thread(made)
        run_id = await studio.start(TASK)
        heard, _ = await asyncio.to_thread(server.accept)
        with heard:
            heard.settimeout(20)
            assert b"POST /mcp" in await asyncio.to_thread(heard.recv, 65_536)
            assert await orm.run_in_thread(lambda: intents(run_id)) == 0
    run = await wait_for_end(run_id, studio.host.window)
    [call] = await orm.run_in_thread(lambda: list(run.calls.all()))
    assert (run.status, call.status) == (RunStatus.SUCCEEDED, CallStatus.ERROR)
    assert "The MCP server late failed" in (call.result or "")
    assert await orm.run_in_thread(lambda: intents(run_id)) == 0
