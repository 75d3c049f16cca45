"""Forks of runs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router
from ninja.responses import Status as Answer

from agents.actions.fork_run import fork_run
from agents.models import Run
from agents.querysets import find_past_run, find_run
from heartbit_site.api import past_forms
from heartbit_site.api.auth import WRITE_RUNS, starter_of, workspace_of
from heartbit_site.api.idempotency import IdempotencyKey  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.past_inputs import ForkIn  # noqa: TC001
from heartbit_site.base import orm
from heartbit_site.contract.model import Word  # noqa: TC001
from heartbit_site.contract.runs import RunDetailOut
from heartbit_site.operations.run_views import detail

router = Router(tags=["runs"])


@router.post(
    "/runs/{run_id}/fork",
    auth=WRITE_RUNS,
    response={200: RunDetailOut, **answers(RunDetailOut, 404, 409, status=201, body=True)},
    summary="Fork a run",
)
async def fork(
    request: HttpRequest, run_id: Word, body: ForkIn, idempotency_key: IdempotencyKey = None
) -> Any:
    """A new run that begins with the journal of another up to a turn, with edits.

    Nothing before is done again. With `arguments` the calls of that turn run again, and so do their
    effects. 200 instead of 201 when the idempotency key had been used before.
    """
    workspace = workspace_of(request)
    starter = starter_of(request)
    edits = past_forms.edits(body.model_dump())

    def make() -> tuple[bool, RunDetailOut]:
        source = find_past_run(workspace, run_id)
        key = idempotency_key or None
        used = (
            key is not None
            and Run.objects.filter(workspace=workspace, idempotency_key=key).exists()
        )
        made = fork_run(source, body.turn, edits=edits, by=starter, idempotency_key=key)
        return used, detail(find_run(workspace, made))

    used, run = await orm.in_thread(make)
    return Answer(200 if used else 201, run)
