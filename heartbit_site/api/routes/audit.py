"""Who changed and decided what in the workspace."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Query, Router

from heartbit_site.api import identity_forms
from heartbit_site.api.auth import READ_AUDIT, workspace_of
from heartbit_site.api.identity_outputs import EntriesOut, VerifiedOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import audit, orm
from heartbit_site.base.models import AuditEntry
from heartbit_site.contract.model import USUAL, Cursor, Limit, Moment, Word
from heartbit_site.operations.paging import page

router = Router(tags=["audit"])

Action = Annotated[Word | None, Query(description="A verb, or its beginning: member, member.add.")]
Whole = Annotated[Word | None, Query(description="Exactly this one.")]
Time = Annotated[Moment | None, Query(description="ISO 8601 with a time zone.")]


@router.get("/audit", auth=READ_AUDIT, response=answers(EntriesOut), summary="Read the audit")
async def entries(
    request: HttpRequest,
    *,
    cursor: Cursor = None,
    limit: Limit = USUAL,
    action: Action = None,
    actor: Whole = None,
    target: Whole = None,
    since: Time = None,
    until: Time = None,
) -> Any:
    """What was changed and decided, by whom, the newest first."""
    workspace = workspace_of(request)
    filters = {
        "action__startswith": action,
        "actor": actor,
        "target": target,
        "at__gte": since,
        "at__lt": until,
    }
    given = {name: value for name, value in filters.items() if value is not None}

    def read() -> dict[str, Any]:
        rows = AuditEntry.objects.filter(chain=workspace.pk, **given)
        found, following = page(rows, "-number", cursor, limit)
        return {"entries": [identity_forms.entry(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.get(
    "/audit/verify", auth=READ_AUDIT, response=answers(VerifiedOut), summary="Verify the audit"
)
async def verify(request: HttpRequest) -> Any:
    """Whether every entry is as it was written: none changed, moved or taken out between others."""
    workspace = workspace_of(request)

    def check() -> dict[str, Any]:
        broken = audit.verify(workspace)
        tips = audit.tips(workspace)
        return {
            "holds": not broken,
            "last_number": tips[0].number if tips else 0,
            "last_hash": tips[0].hash if tips else "",
            "broken_at": broken[0].number if broken else None,
            "problem": broken[0].problem if broken else None,
        }

    return await orm.in_thread(check)
