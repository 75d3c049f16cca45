"""Archive finished runs as lines of text, and then delete them from the database.

A unit is archived and deleted as a whole: a run tree, or a conversation with all of its trees,
because its earlier runs are the history of the later ones.

Usage::

    units = finished_units(workspace, before, after=None, limit=500)
    for line in lines(units): ...          # write the lines durably
    for unit in units: delete_unit(unit, before)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction

from agents.models import Delivery, Run
from heartbit_site.base.query import fetch_all, fetch_one

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

FORMAT = 1
FETCH = 50  # lines per query; a line holds a whole journal

_TREES = "SELECT * FROM heartbit_trees_over(%s, %s, %s, %s, %s)"
_CONVERSATIONS = "SELECT * FROM heartbit_conversations_over(%s, %s, %s, %s, %s)"
_FIRST = ("-infinity", "00000000-0000-0000-0000-000000000000")


@dataclass(frozen=True, slots=True)
class ArchiveUnit:
    """Runs that are archived and deleted together: a conversation, or a run tree.

    Attributes:
        at: Start time; units are in this order.
        roots: Roots of its run trees.
        events: Total length of its journals, which reveals a later change.
    """

    at: datetime
    id: UUID
    is_conversation: bool
    roots: tuple[UUID, ...]
    runs: int
    events: int


def finished_units(
    workspace: Workspace,
    before: datetime,
    *,
    conversations: bool = False,
    after: ArchiveUnit | None = None,
    limit: int,
) -> list[ArchiveUnit]:
    """Return units whose runs all ended before a time, the oldest first.

    Sources of live forks are left out until the fork has ended.

    Args:
        workspace: Workspace of the units.
        before: Time before which the last run has to have ended.
        conversations: True for conversations, False for trees without one.
        after: Last unit of the previous page.
        limit: Maximum number of units.
    """
    at, first = (after.at, after.id) if after is not None else _FIRST
    query = _CONVERSATIONS if conversations else _TREES
    rows = fetch_all(query, [workspace.pk, before, at, first, limit])
    return [
        ArchiveUnit(at, key, conversations, tuple(roots), runs, events)
        for at, key, roots, runs, events in rows
    ]


def lines(units: Sequence[ArchiveUnit]) -> Iterator[str]:
    """Yield one JSON object per conversation and run; parents and conversations come first."""
    for thread in _conversations([unit.id for unit in units if unit.is_conversation]):
        yield json.dumps({"format": FORMAT, "type": "conversation", "conversation": thread})
    roots = [root for unit in units for root in unit.roots]
    yield from tree_lines(roots)


def tree_lines(roots: Sequence[UUID]) -> Iterator[str]:
    """Yield one JSON object per run, tree by tree, parents before children, and per artifact."""
    query = "SELECT id FROM agents_run WHERE root_id = ANY (%s) ORDER BY root_id, created_at, id"
    ids = [row[0] for row in fetch_all(query, [list(roots)])]
    for begin in range(0, len(ids), FETCH):
        for (line,) in fetch_all(
            "SELECT heartbit_archived(r) FROM agents_run r"
            " JOIN unnest(%s::uuid[]) WITH ORDINALITY AS o(id, n) ON o.id = r.id ORDER BY o.n",
            [ids[begin : begin + FETCH]],
        ):
            yield line
        yield from _artifact_lines(ids[begin : begin + FETCH])


def delete_unit(unit: ArchiveUnit, before: datetime) -> bool:
    """Delete a unit, in one short transaction; the usage ledger stays.

    Deliveries outlive their runs, but not those of private runs: without the run, nothing says who
    may read them.

    Returns:
        False, with nothing deleted, if the unit has changed since it was archived.
    """
    thread = unit.id if unit.is_conversation else None
    values = [list(unit.roots), unit.runs, unit.events, before, thread]
    trees = Run.objects.filter(root_id__in=unit.roots)
    with transaction.atomic():
        private = list(trees.filter(private_to__isnull=False).values_list("pk", flat=True))
        (forgotten,) = fetch_one("SELECT heartbit_forget(%s, %s, %s, %s, %s)", values)
        if forgotten and private:
            Delivery.objects.filter(run_id__in=private).delete()
    return bool(forgotten)


def _artifact_lines(run_ids: Sequence[UUID]) -> Iterator[str]:
    """Yield one JSON object per stored artifact of some runs, read one by one: they are large."""
    query = "SELECT id FROM agents_artifact WHERE run_id = ANY (%s) ORDER BY id"
    for (key,) in fetch_all(query, [list(run_ids)]):
        query = "SELECT heartbit_archived_artifact(f) FROM agents_artifact f WHERE f.id = %s"
        for (line,) in fetch_all(query, [key]):
            yield line


def _conversations(ids: Sequence[UUID]) -> list[dict[str, Any]]:
    if not ids:
        return []
    rows = fetch_all(
        "SELECT to_jsonb(v)::text FROM agents_conversation v WHERE v.id = ANY (%s)"
        " ORDER BY v.created_at, v.id",
        [list(ids)],
    )
    return [json.loads(row[0]) for row in rows]
