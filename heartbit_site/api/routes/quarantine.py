"""Runs that killed their workers: do the task again, let them go on, or give them up."""

from __future__ import annotations

from typing import Any, Protocol

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router
from ninja.responses import Status as Answer

from agents.actions.discard_run import discard_run
from agents.actions.retry_run import retry_run
from agents.actions.revive_run import revive_run
from agents.models import Run
from agents.querysets import find_run
from heartbit_site.api.auth import WRITE_RUNS, access_of, starter_of, workspace_of
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import RunStateOut
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor, actor_of
from heartbit_site.contract.model import Word  # noqa: TC001

router = Router(tags=["operation"])


@router.post(
    "/runs/{run_id}/retry",
    auth=WRITE_RUNS,
    response=answers(RunStateOut, 404, 409, status=201),
    summary="Do a run's task again",
)
async def retry(request: HttpRequest, run_id: Word) -> Any:
    """A new run with the same task on the same version; a quarantined one is discarded with it."""
    workspace, starter = workspace_of(request), starter_of(request)

    def accept() -> dict[str, Any]:
        return _state(Run.objects.get(pk=retry_run(find_run(workspace, run_id), by=starter)))

    return Answer(201, await orm.in_thread(accept))


@router.post(
    "/runs/{run_id}/resume",
    auth=WRITE_RUNS,
    response=answers(RunStateOut, 404, 409),
    summary="Let a quarantined run go on",
)
async def resume(request: HttpRequest, run_id: Word) -> Any:
    """It goes on where it was, alone in a process; 409 when it is not in quarantine."""
    return await _settle(request, run_id, revive_run)


@router.post(
    "/runs/{run_id}/discard",
    auth=WRITE_RUNS,
    response=answers(RunStateOut, 404, 409),
    summary="Give a quarantined run up",
)
async def discard(request: HttpRequest, run_id: Word) -> Any:
    """It is cancelled; 409 when it is not in quarantine."""
    return await _settle(request, run_id, discard_run)


class _Settle(Protocol):
    def __call__(self, run: Run, *, by: Actor) -> None: ...


async def _settle(request: HttpRequest, run_id: str, settle: _Settle) -> dict[str, Any]:
    access = access_of(request)

    def act() -> dict[str, Any]:
        run = find_run(access.workspace, run_id)
        settle(run, by=actor_of(access))
        return _state(run)

    return await orm.in_thread(act)


def _state(run: Run) -> dict[str, Any]:
    run.refresh_from_db(fields=["status"])
    return {"run": str(run.pk), "status": run.status}
