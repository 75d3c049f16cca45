"""Count of unread messages in the description of an agent's inbox tool."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from django.db.models import Q

from agents.messaging.texts import READ_TOOL
from agents.models import InboxEntry
from agents.runs.pool import Pool, call
from agents.runtime.toolset.offer import OfferedTools

_MOST: Final = 1000  # the count stops here
_QUERY: Final = """
    SELECT count(*) AS unread FROM (
        SELECT 1 FROM agents_inboxentry
        WHERE agent_id = %s AND read_at IS NULL LIMIT %s) counted
"""


async def with_unread_count(pool: Pool, agent_id: int, offer: OfferedTools) -> OfferedTools:
    """Return the offer with the unread count in the inbox tool's description.

    Agents without that tool cost no query, and an empty inbox changes nothing.
    """
    if READ_TOOL not in offer.specs:
        return offer
    row = await call(pool, _QUERY, (agent_id, _MOST))
    return _with_count(offer, int(row["unread"]) if row is not None else 0)


def with_unread_then(agent_id: int, offer: OfferedTools, begun: datetime) -> OfferedTools:
    """Return the offer as ``with_unread_count`` made it for a slice that began at ``begun``.

    Messages that were deleted since are not counted.
    """
    if READ_TOOL not in offer.specs:
        return offer
    unread = Q(read_at__isnull=True) | Q(read_at__gt=begun)
    entries = InboxEntry.objects.filter(unread, agent=agent_id, message__created_at__lte=begun)
    return _with_count(offer, entries[:_MOST].count())


def _with_count(offer: OfferedTools, unread: int) -> OfferedTools:
    if not unread:
        return offer
    spec = offer.specs[READ_TOOL]
    noun = "message is" if unread == 1 else "messages are"
    spec = replace(spec, description=f"{spec.description} {unread} {noun} unread.")
    return OfferedTools({**offer.specs, READ_TOOL: spec}, offer.hashes)
