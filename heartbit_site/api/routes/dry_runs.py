"""Tool calls that wait for a person, tried without keeping what they do."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router

from agents.actions.dry_run_call import dry_run_call
from agents.dry_runs.threads import in_time
from heartbit_site.api.auth import DECIDE, workspace_of
from heartbit_site.api.dry_run_outputs import DryRunOut
from heartbit_site.api.inputs import DryRunIn  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.routes.approvals import decider_of
from heartbit_site.contract.model import Word  # noqa: TC001
from heartbit_site.operations.calls import find_call

if TYPE_CHECKING:
    from agents.dry_runs.changes import DryRun

router = Router(tags=["approvals"])


@router.post(
    "/runs/{run_id}/calls/{call_id}/dry-run",
    auth=DECIDE,
    response=answers(DryRunOut, 409, body=True),
    summary="Try it without keeping it",
)
async def dry_run(request: HttpRequest, run_id: Word, call_id: Word, body: DryRunIn) -> Any:
    """Run a waiting call of a transactional tool, and undo it: the rows that it would change.

    409: it does not wait any more, took too long, or met others that work on the same.
    """
    workspace = workspace_of(request)
    by = decider_of(request)
    arguments = None if body.arguments is None else json.dumps(body.arguments)

    def attempt() -> DryRun:
        call = find_call(workspace, run_id, call_id)
        return dry_run_call(call, digest=body.digest, by=by, arguments=arguments)

    return asdict(await in_time(attempt))
