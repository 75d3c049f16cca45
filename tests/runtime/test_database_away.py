"""Connections that are cut, and files that run out, at work: the run waits, and goes on."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mcp_types
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User

from agents.actions.publish_agent import publish_agent
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from tests.runtime.cutting import locked
from tests.starts import start_run
from tools.actions.mcp_servers import save_mcp_server
from tools.actions.read_mcp_server import Reading
from tools.actions.refresh_mcp_server import store_reading
from tools.mcp.listing import Offer
from tools.models import McpServer

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


def requeued(run_id: UUID) -> bool:
    """Return True if the journal says that the database was away, or that the run failed."""
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as connection:
        found = connection.execute(
            "SELECT 1 FROM agents_runevent WHERE run_id = %s AND (type = 'run.failed' "
            "OR type = 'run.requeued' AND payload->>'reason' = 'database was away')",
            (run_id,),
        )
        return found.fetchone() is not None


def accepted(studio: Studio, task: str, **options: Any) -> UUID:
    person = User.objects.create(username=f"p-{studio.workspace.slug}", is_superuser=True)
    by = Actor(person.username, "user", person.pk)
    return start_run(
        studio.workspace,
        task,
        agent="solo",
        model="openai:fake",
        home=Placement.LOCAL,
        by=by,
        **options,
    )


def with_server(workspace: Workspace) -> None:
    """Give the workspace an MCP server with a tool, as if it had been read."""
    server = McpServer(workspace=workspace, name="shop", url="https://shop.example/mcp")
    save_mcp_server(server, by=SYSTEM)
    add = mcp_types.Tool(name="add", description="Add.", input_schema={"type": "object"})
    store_reading(server, Reading(Offer({"add": add}, {}), {}, ""), by=SYSTEM)


SITES = {
    "known_memories": "memory_memoryitem",
    "recalled": "agents_recalledmemory",
    "mcp specs": "tools_cataloguetool",
    "person": "auth_user",
}


@pytest.mark.parametrize("site", SITES)
async def test_a_run_whose_slice_loses_its_connection_goes_on(
    studio: Studio, agent: Create, workspace: Workspace, site: str
) -> None:
    def made() -> UUID:
        with_server(workspace)
        row = agent(memory_tokens=500, tools=("calculate", "shop_add"))
        row.bindings.filter(tool="calculate").update(requires="agents.view_agent")
        publish_agent(row)
        return accepted(studio, '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]')

    run_id = await orm.run_in_thread(made)
    with locked(SITES[site]) as cut_until:
        studio.host.execute(run_id)
        await asyncio.to_thread(cut_until, lambda: requeued(run_id))
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done."), run.error


async def test_a_run_whose_worker_cannot_open_a_file_goes_on(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first use of the price book imports it, which opens files."""
    tries: list[int] = []

    def load() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "prices.py")

    monkeypatch.setattr("agents.runtime.providers.models.load_price_book", load)

    def made() -> UUID:
        agent()
        return accepted(studio, "[[text: Done.]]")

    run_id = await orm.run_in_thread(made)
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done."), run.error
    assert len(tries) == 2
