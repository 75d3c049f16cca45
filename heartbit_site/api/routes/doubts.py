"""Tool calls whose worker died while they ran: nobody knows what became of them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router

from agents.actions.settle_call import settle_call
from agents.choices import Outcome
from agents.doubts import asked_about, doubt_of
from heartbit_site.api import forms
from heartbit_site.api.auth import DECIDE, READ_WAITING, workspace_of
from heartbit_site.api.inputs import OutcomeIn  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import DoubtsOut, SettledOut
from heartbit_site.api.routes.approvals import decider_of
from heartbit_site.base import orm
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.calls import find_call
from heartbit_site.operations.paging import page

router = Router(tags=["approvals"])


@router.get("/doubts", auth=READ_WAITING, response=answers(DoubtsOut), summary="What is in doubt")
async def in_doubt(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The tool calls of unknown outcome that wait for a person, the oldest first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows, following = page(asked_about(workspace), "pk", cursor, limit)
        return {"calls": [forms.doubt(doubt_of(row)) for row in rows], "next": following}

    return await orm.in_thread(read)


@router.post(
    "/runs/{run_id}/calls/{call_id}/outcome",
    auth=DECIDE,
    response=answers(SettledOut, 404, 409, body=True),
    summary="Settle",
)
async def settle(request: HttpRequest, run_id: Word, call_id: Word, body: OutcomeIn) -> Any:
    """Say what became of a call in doubt. One word wins; 409 says who was quicker."""
    workspace = workspace_of(request)
    by = decider_of(request)

    def take() -> dict[str, Any]:
        call = find_call(workspace, run_id, call_id)
        settle_call(call, Outcome(body.outcome), by=by, result=body.result)
        return {
            "run": str(call.run_id),
            "call": call.call_id,
            "outcome": body.outcome,
            "settled_by": by.name,
        }

    return await orm.in_thread(take)
