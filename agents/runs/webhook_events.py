"""Polling for webhook events: runs that ended, calls that wait for a person. SQL in one place.

A poll covers the time since the previous poll and a little more (``OVERLAP``): a transaction may
commit after a poll that began later. The unique constraint of deliveries drops duplicates, so any
number of polls may run at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.query import execute

if TYPE_CHECKING:
    from agents.models import WebhookEndpoint

#: Maximum age of an event; older ones are never sent, even if polling was down.
OLDEST = "24 hours"
OVERLAP = "10 minutes"
MOST_CHARACTERS = 20_000

_LOOK = """
WITH looked AS (
    UPDATE agents_webhookendpoint
    SET last_polled_at = clock_timestamp()
    WHERE id = %(endpoint)s AND enabled
), endpoint AS (
    SELECT e.id, e.workspace_id, e.events,
           greatest(e.events_from,
                    coalesce(e.last_polled_at, e.events_from) - %(overlap)s::interval,
                    clock_timestamp() - %(oldest)s::interval) AS after
    FROM agents_webhookendpoint e WHERE e.id = %(endpoint)s AND e.enabled
), happened AS (
    SELECT r.id AS run_id, 'run.' || r.status AS event,
           to_char(r.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS event_key,
           r.finished_at AS at, '{}'::jsonb AS more
    FROM endpoint e JOIN agents_run r ON r.workspace_id = e.workspace_id
    WHERE r.parent_id IS NULL AND r.finished_at >= e.after AND r.kind <> 'extraction'
    UNION ALL
    SELECT r.root_id, 'approval.requested', 'wait:' || w.id, w.created_at,
           jsonb_build_object('call', jsonb_build_object(
               'run_id', r.id, 'agent', r.agent, 'call_id', w.call_id,
               'tool', coalesce(c.approval_view ->> 'tool', c.tool),
               'waiting_since', w.created_at, 'expires_at', w.expires_at))
    FROM endpoint e
    JOIN agents_wait w ON w.kind = 'approval' AND w.created_at >= e.after
    JOIN agents_run r ON r.id = w.run_id AND r.workspace_id = e.workspace_id
    JOIN agents_toolcall c ON c.run_id = w.run_id AND c.call_id = w.call_id
)
INSERT INTO agents_webhookdelivery
    (endpoint_id, run_id, event, event_key, message_id, payload)
SELECT e.id, h.run_id, h.event, h.event_key, 'msg_' || replace(gen_random_uuid()::text, '-', ''),
       jsonb_build_object(
           'type', h.event, 'timestamp', h.at,
           'data', h.more || jsonb_build_object(
               'run_id', r.id, 'root_id', r.root_id, 'conversation_id', r.conversation_id,
               'forked_from_id', r.forked_from_id, 'agent', r.agent, 'model', r.model,
               'status', r.status, 'task', left(r.task, %(most)s),
               'output', left(r.output, %(most)s),
               'cut', length(r.task) > %(most)s OR length(coalesce(r.output, '')) > %(most)s,
               'error', r.error,
               'usage', jsonb_build_object('input_tokens', r.input_tokens,
                                           'output_tokens', r.output_tokens),
               'cost_usd', u.cost, 'created_at', r.created_at, 'started_at', r.started_at,
               'finished_at', r.finished_at))
FROM endpoint e
JOIN happened h ON e.events ? h.event
JOIN agents_run r ON r.id = h.run_id
CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) = count(cost_usd)
           THEN trim_scale(coalesce(sum(cost_usd), 0))::text END AS cost
    FROM base_usageentry WHERE run_id = r.id
) u
ON CONFLICT DO NOTHING
"""


def create_webhook_deliveries(endpoint: WebhookEndpoint) -> int:
    """Create the missing deliveries of an enabled endpoint; return the number of new ones."""
    values: dict[str, int | str] = {"endpoint": endpoint.pk, "most": MOST_CHARACTERS}
    values |= {"overlap": OVERLAP, "oldest": OLDEST}
    return execute(_LOOK, values)
