"""The agent manager: what agents and workers are doing, and start, stop and restart of both."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Path, Router

from agents.actions.ask_worker import WorkerRequest, ask_worker
from agents.actions.switch_agent import Switch, switch_agent
from agents.agent_status import status_of
from agents.fleet import read_fleet
from agents.versions import find_editable
from heartbit_site.api import fleet_forms
from heartbit_site.api.auth import OPERATE, READ_AGENTS, WRITE_AGENTS, access_of, workspace_of
from heartbit_site.api.fleet_outputs import AgentStatusOut, FleetOut, WorkerAskedOut
from heartbit_site.api.openapi import answers
from heartbit_site.api.routes import pauses
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of, record
from heartbit_site.contract.model import Name  # noqa: TC001

router = Router(tags=["operation"])
router.add_router("", pauses.router)

WorkerId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.get("/fleet", auth=OPERATE, response=answers(FleetOut), summary="The fleet")
async def fleet(request: HttpRequest) -> Any:
    """The installation's workers and queues. For its operators: see the scope fleet:manage."""
    return await orm.in_thread(lambda: fleet_forms.fleet(read_fleet()))


@router.post(
    "/fleet/workers/{worker_id}/stop",
    auth=OPERATE,
    response=answers(WorkerAskedOut, 404),
    summary="Stop a worker",
)
async def stop_worker(request: HttpRequest, worker_id: WorkerId) -> Any:
    """It is told at once, hands its runs back and leaves; GET /fleet shows it until then."""
    return await _ask(request, worker_id, "stop")


@router.post(
    "/fleet/workers/{worker_id}/restart",
    auth=OPERATE,
    response=answers(WorkerAskedOut, 404),
    summary="Restart a worker",
)
async def restart_worker(request: HttpRequest, worker_id: WorkerId) -> Any:
    """The same, and then it starts itself anew: with the same name and another id."""
    return await _ask(request, worker_id, "restart")


@router.get(
    "/agents/{name}/status",
    auth=READ_AGENTS,
    response=answers(AgentStatusOut, 404),
    summary="What an agent is doing",
)
async def agent_status(request: HttpRequest, name: Name) -> Any:
    """Its state, uptime, runs at work, tools and queue."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: fleet_forms.agent_status(status_of(workspace, name)))


@router.post(
    "/agents/{name}/start",
    auth=WRITE_AGENTS,
    response=answers(AgentStatusOut, 404),
    summary="Start an agent",
)
async def start_agent(request: HttpRequest, name: Name) -> Any:
    """It takes runs again, and what it had goes on."""
    return await _switch(request, name, "start")


@router.post(
    "/agents/{name}/stop",
    auth=WRITE_AGENTS,
    response=answers(AgentStatusOut, 404),
    summary="Stop an agent",
)
async def stop_agent(request: HttpRequest, name: Name) -> Any:
    """It takes no runs and what is at work is handed back; nothing is lost."""
    return await _switch(request, name, "stop")


@router.post(
    "/agents/{name}/restart",
    auth=WRITE_AGENTS,
    response=answers(AgentStatusOut, 404),
    summary="Restart an agent",
)
async def restart_agent(request: HttpRequest, name: Name) -> Any:
    """What is at work is handed over and taken up anew; a stopped agent is started."""
    return await _switch(request, name, "restart")


async def _ask(request: HttpRequest, worker_id: int, wanted: WorkerRequest) -> dict[str, Any]:
    by = actor_of(access_of(request))
    await orm.in_thread(lambda: ask_worker(worker_id, wanted, by=by))
    return {"id": worker_id, "wanted": wanted}


async def _switch(request: HttpRequest, name: str, to: Switch) -> dict[str, Any]:
    access = access_of(request)

    @transaction.atomic
    def act() -> dict[str, Any]:
        agent = find_editable(access.workspace, name)
        if switch_agent(agent, to):
            record(
                actor_of(access),
                f"agent.{to}",
                workspace=access.workspace,
                target=f"agent:{agent.pk}",
                label=agent.name,
            )
        return fleet_forms.agent_status(status_of(access.workspace, name))

    return await orm.in_thread(act)
