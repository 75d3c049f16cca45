"""Heartbit as the clients find it: a web process, a worker, and a model that is scripted."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.actions.publish_agent import publish_agent
from agents.actions.write_agents import create_default_team
from agents.models import Agent, ToolBinding
from tests.api.server import Caller, WebServer, key_for
from tests.askers import asker
from tests.conftest import new_workspace
from tests.fleet import WireServer, Worker, wait_until
from tests.interop.doors.fixtures import FIXTURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

#: Task whose run calls the tool that needs an approval; its agent is ``analyst``.
SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


@dataclass(frozen=True)
class Heartbit:
    """A workspace of a running installation.

    Attributes:
        url: Of the web process.
        key: Of the workspace, with every scope.
        caller: Of the REST API, for what a person does beside the client.
    """

    url: str
    key: str
    caller: Caller = field(repr=False)

    def approve(self) -> str:
        """Approve the one call that waits, as a person does; return its run."""
        [call] = wait_until(lambda: self.caller.get("/approvals").json()["calls"], what="it waits")
        place = f"/runs/{call['run_id']}/calls/{call['call_id']}/decision"
        decided = self.caller.post(place, {"digest": call["digest"], "verdict": "approve"})
        assert decided.status_code == 200, decided.text
        return str(call["run_id"])


def furnish(web: WebServer, workspace: Workspace) -> Heartbit:
    """Give a workspace, which has the default team, all that the clients use."""
    asker(workspace)
    analyst = Agent.objects.get(workspace=workspace, name="analyst")
    ToolBinding.objects.filter(agent=analyst, tool="calculate").update(approval="always")
    publish_agent(analyst)
    Agent.objects.create(workspace=workspace, name="sleeper", system_prompt="-", queue="nobodys")
    publish_agent(Agent.objects.get(workspace=workspace, name="sleeper"))
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    key = key_for(workspace)
    caller = Caller(web, key)
    for workflow in FIXTURES:
        made: Any = caller.post("/workflows", workflow)
        assert made.status_code == 201, made.text
    return Heartbit(web.url, key, caller)


@contextmanager
def started() -> Iterator[Heartbit]:
    """Start everything, and end it by its own ids."""
    with WireServer() as wire:
        os.environ |= {"OPENAI_BASE_URL": wire.url, "OPENAI_API_KEY": "test"}
        workspace = new_workspace()
        create_default_team(workspace)
        with WebServer() as web, Worker():
            heartbit = furnish(web, workspace)
            with closing(heartbit.caller.http):
                yield heartbit
