"""Re-check of an approver's right just before an approved call runs, possibly hours later.

People are identified by their account, which must be active, belong to a superuser or to a member
whose role may decide, and be in the approver group if the call has one. A decision through an API
key counts as its creator's. A decision from a terminal, a program, or a key created by a command
has no account and stays valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.runs.pool import Pool, call
from heartbit_site.base.access import roles_with

if TYPE_CHECKING:
    from agents.runs.claims import ClaimedRun
    from agents.runtime.rights.lookups import RevokedRightLookup

DECIDE = "approvals:decide"
_LOST_RIGHT = "SELECT who FROM heartbit_lost_right(%s, %s, %s) AS who WHERE who IS NOT NULL"


def revoked_right_lookup(pool: Pool, claimed: ClaimedRun) -> RevokedRightLookup:
    """Return a function that names an approver who lost the right, by the wait's key."""

    async def look(key: str) -> str | None:
        parameters = (claimed.id, key, roles_with(DECIDE))
        row = await call(pool, _LOST_RIGHT, parameters)
        return None if row is None else row["who"]

    return look
