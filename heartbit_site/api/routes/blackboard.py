"""What the runs of a tree share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Query, Router

from agents.querysets import blackboard, find_run
from heartbit_site.api.auth import READ_RUNS, workspace_of
from heartbit_site.api.forms import time
from heartbit_site.api.openapi import answers
from heartbit_site.api.tree_outputs import BlackboardEntryOut, BlackboardOut
from heartbit_site.base import orm
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.preview import PREVIEW_CHARACTERS, preview
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import page

if TYPE_CHECKING:
    from agents.models import BlackboardEntry

router = Router(tags=["runs"])


class BlackboardEntryNotFoundError(NotFoundError):
    """The tree shares nothing under that key."""


@router.get(
    "/runs/{run_id}/blackboard",
    auth=READ_RUNS,
    response=answers(BlackboardOut, 404),
    summary="A tree's blackboard",
)
async def entries(
    request: HttpRequest, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """What the tree of a run shares now, by key: any run of the tree gives the same.

    Of a long value a row has the beginning: `GET /runs/{run_id}/blackboard/entry` has all of it.
    """
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        shared = blackboard(find_run(workspace, run_id).root_id)
        rows, following = page(shared, "key", cursor, limit)
        return {"entries": [_row(row) for row in rows], "next": following}

    return await orm.in_thread(read)


# The key is no part of the path: an agent chooses it, and it may hold slashes, or be two dots.
@router.get(
    "/runs/{run_id}/blackboard/entry",
    auth=READ_RUNS,
    response=answers(BlackboardEntryOut, 404),
    summary="Get an entry of a tree's blackboard",
)
async def entry(
    request: HttpRequest, run_id: Word, *, key: Annotated[Word, Query(description="Its key.")]
) -> Any:
    """Return one entry with the whole of its value."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        run = find_run(workspace, run_id)
        found = blackboard(run.root_id).filter(key=key).first()
        if found is None:
            raise BlackboardEntryNotFoundError(
                f"The tree of run {run.pk} shares nothing under the key {key!r}: "
                "GET /runs/{run_id}/blackboard lists the keys."
            )
        return {**_row(found), "value": found.value}

    return await orm.in_thread(read)


def _row(entry: BlackboardEntry) -> dict[str, Any]:
    value = entry.value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {
        "key": entry.key,
        "author": entry.author,
        "value": value if len(text) <= PREVIEW_CHARACTERS else preview(text),
        "value_characters": len(text),
        "updated_at": time(entry.updated_at),
        "expires_at": time(entry.expires_at),
    }
