"""Whether who let a call run may still do so when it is about to: hours may lie in between.

People are known by their account: they must be active, and a member whose role decides, or a
superuser, and in the group if the call needs one. A decision through an API key is that of whoever
made the key. Of a terminal, a program, or a key that a command made, no account is known: their
word holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.runs.pool import Pool, call
from heartbit_site.base.access import roles_with

if TYPE_CHECKING:
    from agents.runs.claims import ClaimedRun
    from agents.runtime.toolbox import RevokedRightLookup

DECIDE = "approvals:decide"


def revoked_right_lookup(pool: Pool, claimed: ClaimedRun) -> RevokedRightLookup:
    """The lookup for one run."""

    async def look(key: str) -> str | None:
        parameters = (claimed.id, key, roles_with(DECIDE))
        row = await call(pool, "SELECT heartbit_lost_right(%s, %s, %s) AS who", parameters)
        return None if row is None else row["who"]

    return look
