"""The past of runs: any turn, and forks from it."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Path, Router
from ninja.responses import Status as Answer

from agents.actions.fork_run import fork_run
from agents.models import Run
from agents.querysets import find_past_run, find_run
from agents.turns import describe_turn, list_turns
from heartbit_site.api import past_forms
from heartbit_site.api.auth import READ_RUNS, WRITE_RUNS, starter_of, workspace_of
from heartbit_site.api.idempotency import IdempotencyKey  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.past_inputs import ForkIn  # noqa: TC001
from heartbit_site.api.past_outputs import TurnOut, TurnsOut
from heartbit_site.base import orm
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.runs import RunDetailOut
from heartbit_site.operations.paging import number, page_of
from heartbit_site.operations.run_views import detail

router = Router(tags=["runs"])

Number = Annotated[int, Path(ge=1, le=100_000, description="From 1.")]


@router.get(
    "/runs/{run_id}/turns",
    auth=READ_RUNS,
    response=answers(TurnsOut, 404, 409),
    summary="A run's turns",
)
async def turns(
    request: HttpRequest, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """The answered turns of a run, in short, the oldest first.

    A row has the beginning of its text: `GET /runs/{run_id}/turns/{number}` has all of the turn.
    """
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        run = find_run(workspace, run_id)
        answered = {turn["turn"]: turn for turn in list_turns(run)}
        found, following = page_of(answered, number, cursor, limit)
        return {"run": str(run.pk), "turns": found, "next": following}

    return await orm.in_thread(read)


@router.get(
    "/runs/{run_id}/turns/{number}",
    auth=READ_RUNS,
    response=answers(TurnOut, 404, 409),
    summary="A turn",
)
async def turn(request: HttpRequest, run_id: Word, number: Number) -> Any:
    """One turn: what the model was sent, what it answered, what its calls gave."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: describe_turn(find_past_run(workspace, run_id), number))


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
