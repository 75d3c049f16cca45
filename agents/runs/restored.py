"""Release of runs that are held since a restore (``heartbit_site/backup/hold.sql`` holds them)."""

from __future__ import annotations

from uuid import UUID

from heartbit_site.base.query import fetch_all

# Parents before children, as everywhere: an id begins with its time.
_LOCK = """
SELECT id FROM agents_run WHERE root_id = %s AND home = 'restored' AND finished_at IS NULL
ORDER BY id FOR NO KEY UPDATE
"""
_RELEASE = """
WITH free AS (
    UPDATE agents_run SET home = 'fleet', last_seq = last_seq + 1, woken_at = CASE
        WHEN status = 'queued' THEN clock_timestamp() END
    WHERE id = ANY (%s) AND home = 'restored' AND finished_at IS NULL
    RETURNING id, last_seq, status
), journal AS (
    INSERT INTO agents_runevent (run_id, seq, type, payload, at)
    SELECT id, last_seq, 'run.released', jsonb_build_object('by', %s::text), clock_timestamp()
    FROM free
)
SELECT id, status FROM free ORDER BY id
"""


def release_tree(root_id: UUID, *, by: str) -> tuple[int, list[UUID]]:
    """Give the held runs of a tree back to the fleet.

    Returns:
        The number of such runs, and those that are queued, which the caller wakes.
    """
    ids = [run_id for (run_id,) in fetch_all(_LOCK, [root_id])]
    free = fetch_all(_RELEASE, [ids, by])
    return len(free), [run_id for run_id, status in free if status == "queued"]
