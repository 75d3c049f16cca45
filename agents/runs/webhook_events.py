"""Polling for webhook events (``agents.system_events``). SQL in one place.

A poll reads what was written since the previous poll, or since before the oldest transaction that
ran then. The unique constraint of deliveries drops duplicates, so any number of polls may run at
once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from agents.system_events.reader import floor
from agents.system_events.sources import HAPPENED
from agents.system_events.types import matching
from heartbit_site.base.query import execute

if TYPE_CHECKING:
    from agents.models import WebhookEndpoint

#: Maximum age of an event; older ones are never sent, even if polling was down.
OLDEST = timedelta(hours=24)
MOST_CHARACTERS = 20_000

_LOOK = f"""
WITH looked AS (
    UPDATE agents_webhookendpoint SET last_polled_at = clock_timestamp(), read_from = %(next)s
    WHERE id = %(endpoint)s AND enabled
), {HAPPENED}
INSERT INTO agents_webhookdelivery
    (endpoint_id, run_id, event, event_key, message_id, payload)
SELECT e.id, h.run_id, h.type, h.key, 'msg_' || replace(gen_random_uuid()::text, '-', ''),
       jsonb_build_object(
           'type', h.type, 'timestamp', h.at, 'subject', h.subject,
           'data', h.data || CASE WHEN r.id IS NULL THEN '{{}}' ELSE jsonb_build_object(
               'run_id', r.id, 'root_id', r.root_id, 'conversation_id', r.conversation_id,
               'forked_from_id', r.forked_from_id, 'agent', r.agent, 'model', r.model,
               'status', r.status, 'task', left(r.task, %(most)s),
               'output', left(r.output, %(most)s),
               'cut', length(r.task) > %(most)s OR length(coalesce(r.output, '')) > %(most)s,
               'error', r.error,
               'usage', jsonb_build_object('input_tokens', r.input_tokens,
                                           'output_tokens', r.output_tokens),
               'cost_usd', u.cost, 'created_at', r.created_at, 'started_at', r.started_at,
               'finished_at', r.finished_at) END)
FROM agents_webhookendpoint e
JOIN happened h ON h.type = ANY (%(types)s) AND h.at >= e.events_from
LEFT JOIN agents_run r ON r.id = h.run_id AND h.type !~ '^(schedule|delivery)'
CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) = count(cost_usd)
           THEN trim_scale(coalesce(sum(cost_usd), 0))::text END AS cost
    FROM base_usageentry WHERE run_id = r.id
) u
WHERE e.id = %(endpoint)s AND e.enabled
ORDER BY h.xid, h.key COLLATE "C"
ON CONFLICT DO NOTHING
"""  # noqa: S608  constants


def create_webhook_deliveries(endpoint: WebhookEndpoint) -> int:
    """Create the missing deliveries of an enabled endpoint; return the number of new ones."""
    begins = endpoint.read_from or endpoint.events_from
    values = {
        "endpoint": endpoint.pk,
        "workspace": endpoint.workspace_id,
        "reader": None,  # no private run is told of
        "decides": False,
        "most": MOST_CHARACTERS,
        "types": matching(endpoint.events),
        "next": floor(),
        "floor": max(begins, timezone.now() - OLDEST),
    }
    return execute(_LOOK, values)
