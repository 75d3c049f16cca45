"""What an agent that can read its inbox is told of it: how much is unread."""

from __future__ import annotations

from dataclasses import replace

from agents.messaging.reach import READ_TOOL
from agents.runs.pool import Pool, call
from agents.runtime.toolbox import Offer

_QUERY = """
    SELECT count(*) AS unread FROM (
        SELECT 1 FROM agents_inboxentry WHERE agent_id = %s AND read_at IS NULL LIMIT 1000) counted
"""


async def with_unread(pool: Pool, agent_id: int, offer: Offer) -> Offer:
    """The offer, whose tool for the inbox says how many messages are unread as a slice begins.

    Nothing is asked for an agent without that tool, and nothing changes while the inbox is empty.
    """
    spec = offer.specs.get(READ_TOOL)
    if spec is None:
        return offer
    row = await call(pool, _QUERY, (agent_id,))
    unread = int(row["unread"]) if row is not None else 0
    if not unread:
        return offer
    noun = "message is" if unread == 1 else "messages are"
    told = replace(spec, description=f"{spec.description} {unread} {noun} unread.")
    return Offer({**offer.specs, READ_TOOL: told}, offer.hashes)
