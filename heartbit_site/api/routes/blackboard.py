"""What the runs of a tree share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router

from agents.querysets import blackboard, find_run
from heartbit_site.api.auth import READ_RUNS, workspace_of
from heartbit_site.api.fields import Word  # noqa: TC001  ninja evaluates the annotations
from heartbit_site.api.forms import time
from heartbit_site.api.openapi import answers
from heartbit_site.api.paging import USUAL, Cursor, Limit, page
from heartbit_site.api.tree_outputs import BlackboardOut
from heartbit_site.base import orm

if TYPE_CHECKING:
    from agents.models import BlackboardEntry

router = Router(tags=["runs"])


@router.get(
    "/runs/{run_id}/blackboard",
    auth=READ_RUNS,
    response=answers(BlackboardOut, 404),
    summary="A tree's blackboard",
)
async def entries(
    request: HttpRequest, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """What the tree of a run shares now, by key: any run of the tree gives the same."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        shared = blackboard(find_run(workspace, run_id).root_id)
        rows, following = page(shared, "key", cursor, limit)
        return {"entries": [_row(row) for row in rows], "next": following}

    return await orm.in_thread(read)


def _row(entry: BlackboardEntry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "author": entry.author,
        "value": entry.value,
        "updated_at": time(entry.updated_at),
        "expires_at": time(entry.expires_at),
    }
