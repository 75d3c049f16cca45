"""What the workspace has used, against what it may use."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router

from agents.usage import usage_of
from heartbit_site.api import usage_outputs as forms
from heartbit_site.api.auth import READ_RUNS, workspace_of
from heartbit_site.api.openapi import answers
from heartbit_site.api.usage_outputs import WorkspaceUsageOut
from heartbit_site.base import orm

router = Router(tags=["usage"])


@router.get(
    "/usage", auth=READ_RUNS, response=answers(WorkspaceUsageOut), summary="Usage and quotas"
)
async def usage(request: HttpRequest) -> Any:
    """Runs, tokens and money of today and of this month, the limits, and who used what."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: forms.usage(usage_of(workspace)))
