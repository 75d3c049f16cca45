"""A process that executes runs, inside the test: the real runtime on the real database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.choices import Placement, RunKind
from agents.live.follow import wait_for_end
from agents.models import Agent, Run, RunEvent, ToolBinding
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer


@dataclass
class Studio:
    """Runs agents of one workspace in this process, against the wire server."""

    host: LocalHost
    workspace: Workspace

    async def start(
        self,
        task: str,
        *,
        agent: str = "solo",
        model: str = "openai:fake",
        approve: bool = False,
    ) -> UUID:
        """Accept a run and start it."""
        run_id = await orm.run_in_thread(
            lambda: start_run(
                self.workspace,
                task,
                agent=agent,
                model=model,
                home=Placement.LOCAL,
                approve=approve,
            )
        )
        self.host.execute(run_id)
        return run_id

    async def run(self, task: str, *, agent: str = "solo", model: str = "openai:fake") -> Run:
        """Accept a run, execute it, and return it ended."""
        run_id = await self.start(task, agent=agent, model=model)
        return await wait_for_end(run_id, self.host.window)

    async def events(self, run: Run) -> list[RunEvent]:
        """The run's journal."""
        return await orm.run_in_thread(lambda: list(run.events.all()))


@pytest.fixture
def agent(workspace: Workspace) -> Callable[..., Agent]:
    """Create and publish an agent of the workspace."""

    def create(name: str = "solo", *, tools: tuple[str, ...] = (), **fields: object) -> Agent:
        row = Agent.objects.create(
            workspace=workspace, name=name, system_prompt="Be brief.", **fields
        )
        ToolBinding.objects.bulk_create(ToolBinding(agent=row, tool=tool) for tool in tools)
        publish_agent(row)
        return row

    return create


@pytest.fixture
async def studio(workspace: Workspace, wire_server: WireServer) -> AsyncIterator[Studio]:
    """The runtime, started, and stopped after the test."""
    host = LocalHost(slots=20)
    await host.start()
    yield Studio(host, workspace)
    await host.stop()
    # Follow-ups that the test did not execute, which a worker of another test would.
    left = Run.objects.filter(workspace=workspace, kind=RunKind.EXTRACTION, finished_at=None)
    await orm.run_in_thread(left.delete)
