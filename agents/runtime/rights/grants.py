"""Standing permissions ("always allow"), looked up before a call waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.runs.pool import Pool, call
from agents.runtime.rights.decision_rights import DECIDE
from heartbit_site.base.access import roles_with

if TYPE_CHECKING:
    from agents.runs.claims import ClaimedRun
    from agents.runtime.rights.lookups import GrantLookup

# A run that requires approval of every call ignores the agent's standing permissions, except those
# granted for its own tree.
_QUERY = """
    SELECT id FROM agents_grant g
    WHERE agent_id = %s AND tool = %s AND definition_hash = %s AND revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > clock_timestamp())
          AND heartbit_grant_holds(g, %s)
          AND (root_id = %s OR (root_id IS NULL AND NOT %s))
    ORDER BY id LIMIT 1
"""


def grant_lookup(pool: Pool, agent_id: int, claimed: ClaimedRun) -> GrantLookup:
    """Return the lookup for one run; the grantor of a permission must still have the right."""
    roles = roles_with(DECIDE)

    async def look(tool: str, definition_hash: str) -> int | None:
        parameters = (agent_id, tool, definition_hash, roles, claimed.root_id, claimed.approve)
        row = await call(pool, _QUERY, parameters)
        return None if row is None else int(row["id"])

    return look
