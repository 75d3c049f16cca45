"""A claim reads as few rows in a burst, and after one, as when little is queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection
from django.utils import timezone

from agents.models import Run
from tests.quotas.limited import new_workspace, park, start

if TYPE_CHECKING:
    from uuid import UUID

    from agents.runs.claims import Claimant
    from heartbit_site.base.models import Workspace


def claim_cost(fleet: Claimant, run: UUID) -> int:
    """Return the number of rows of ``agents_run`` that a claim fetches; roll the claim back."""

    def fetched() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute(
                "SELECT sum(idx_tup_fetch) + sum(seq_tup_read) FROM pg_stat_xact_user_tables"
                " WHERE relname = 'agents_run'"
            )
            return int(cursor.fetchone()[0] or 0)

    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        before = fetched()
        cursor.execute(
            "SELECT count(*) FROM heartbit_claim(%s, 'fleet', %s, %s, 'x', 'x', 'm', '', 2, false)",
            [run, [*fleet.queues], fleet.worker_id],
        )
        assert cursor.fetchone() == (1,)
        after = fetched()
        cursor.execute("ROLLBACK")
    return after - before


def test_a_claim_reads_no_more_because_ten_thousand_wait(
    mine: Workspace, theirs: Workspace, fleet: Claimant
) -> None:
    """The number of fetched rows does not grow with the number of queued runs."""
    few = start(mine, 20)
    start(theirs, 20)
    small = claim_cost(fleet, few[0])
    start(mine, 3000)
    large = claim_cost(fleet, few[0])
    assert large <= small + 20, f"{small} rows with 40 waiting, {large} with 3040"
    start(theirs, 3000, priority=1000)
    larger = claim_cost(fleet, few[0])
    assert larger <= small + 20, f"{small} rows with 40 waiting, {larger} with 6040"


def test_nor_because_ten_thousand_waited_before(
    mine: Workspace, theirs: Workspace, fleet: Claimant, queue: str
) -> None:
    """PostgreSQL still chooses the index of queued runs after a burst left it nearly empty."""
    for _ in range(50):
        small = new_workspace()
        park(small, queue)
        start(small)
    start(mine, 3000)
    waited = Run.objects.filter(queue=queue)
    waited.update(status="running")
    waited.update(status="cancelled", finished_at=timezone.now())
    Run.objects.filter(workspace=mine).delete()
    few = start(mine, 1)
    start(theirs, 1)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) agents_run")
    before = claim_cost(fleet, few[0])
    start(mine, 1000)
    after = claim_cost(fleet, few[0])
    assert after <= before + 20, f"{before} rows with 2 waiting, {after} with 1002"
