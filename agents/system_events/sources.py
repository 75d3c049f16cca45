"""SQL of a workspace's system events, read from the rows that record them anyway.

Journal, audit and messages are never changed, and a firing or a delivery that has ended is not
either, until it is redelivered. So the transaction that wrote a row (``xmin``) places its event:
after the events of all transactions before one, exactly the others are left.

Parameters: ``workspace``; ``floor``, before which no wanted row was written; ``reader``: the person
who reads events of their private runs; null: no one; ``decides``: true if the reader may decide,
and so reads about the calls of private runs that they are asked about.
"""

from __future__ import annotations

from typing import Final

_READABLE: Final = "(r.private_to_id IS NULL OR r.private_to_id = %(reader)s::bigint)"
# A question names its group when it is asked, not when it is answered.
_ASKED: Final = """(%(decides)s AND k.type NOT LIKE 'run.%%' AND heartbit_is_asked(
       CASE k.type
           WHEN 'question.asked' THEN e.payload
           WHEN 'question.answered' THEN (
               SELECT q.payload FROM agents_runevent q
               WHERE q.run_id = e.run_id AND q.type = 'call.waiting'
                     AND q.payload -> 'keys' ? (e.payload ->> 'key') LIMIT 1)
           ELSE c2.approval_view END, %(reader)s::bigint))"""
# By ``OFFSET`` the few events of a poll look up their runs, never all runs of a workspace.
_JOURNAL: Final = """
SELECT e.xmin AS xid, e.at, e.run_id || ':' || lpad(e.seq::text, 9, '0') AS key,
       k.type, r.root_id AS run_id, 'run:' || r.id AS subject,
       jsonb_strip_nulls(CASE WHEN k.type LIKE 'run.%%' THEN jsonb_build_object(
           'run_id', r.id, 'agent', r.agent, 'kind', r.kind,
           'reason', CASE WHEN k.type IN ('run.requeued', 'run.waiting')
                     THEN e.payload ->> 'reason' END,
           'waits_for', CASE e.type WHEN 'call.waiting' THEN coalesce(e.payload ->> 'kind', 'child')
                        WHEN 'run.paused' THEN 'pause' WHEN 'model.delayed' THEN 'timer' END,
           'error_kind', CASE e.type WHEN 'run.failed' THEN e.payload ->> 'kind' END)
       ELSE jsonb_build_object(
           'run_id', r.root_id, 'agent', t.agent, 'call', jsonb_build_object(
               'run_id', r.id, 'agent', r.agent, 'call_id', e.payload ->> 'call_id',
               'tool', coalesce(c2.approval_view ->> 'tool', c2.tool),
               'waiting_since', CASE WHEN e.type <> 'wait.resolved' THEN e.at END,
               'expires_at', e.at + make_interval(secs => (e.payload ->> 'timeout_seconds')::float),
               'decision', e.payload #>> '{value,status}',
               'decided_by', e.payload #>> '{value,by}')) END) AS data
FROM agents_runevent e
JOIN LATERAL (SELECT * FROM agents_run o WHERE o.id = e.run_id OFFSET 0) r
    ON r.workspace_id = %(workspace)s
JOIN agents_run t ON t.id = r.root_id
LEFT JOIN agents_toolcall c2 ON c2.run_id = e.run_id AND c2.call_id = e.payload ->> 'call_id'
CROSS JOIN LATERAL (SELECT CASE e.type
    WHEN 'run.created' THEN 'run.queued'
    WHEN 'run.paused' THEN 'run.waiting'
    WHEN 'model.delayed' THEN 'run.waiting'
    WHEN 'run.discarded' THEN 'run.cancelled'
    WHEN 'call.waiting' THEN
        CASE e.payload ->> 'kind' WHEN 'question' THEN 'question.asked' ELSE 'run.waiting' END
    WHEN 'wait.resolved' THEN
        CASE e.payload ->> 'kind' WHEN 'approval' THEN 'approval.decided'
            WHEN 'question' THEN 'question.answered' WHEN 'outcome' THEN 'outcome.resolved' END
    ELSE e.type END AS type) k
WHERE e.at >= %(floor)s AND r.kind <> 'extraction' AND ({readable} OR {asked})
  AND (e.seq = 1 OR e.seq > r.forked_seq)  -- others were copied from another run
  AND (r.parent_id IS NULL OR k.type NOT LIKE 'run.%%')
  AND e.type IN ('run.created', 'run.started', 'run.paused', 'model.delayed', 'call.waiting',
                 'run.requeued', 'run.succeeded', 'run.failed', 'run.cancelled', 'run.discarded',
                 'run.quarantined', 'run.unquarantined', 'approval.requested',
                 'approval.escalated', 'outcome.requested', 'wait.resolved')
"""
# ``base.audit.BY_SCHEDULE`` begins the name of the starter.
_FIRED: Final = """
SELECT e.xmin, e.at, 'fired:' || e.run_id, 'schedule.fired', r.id,
       'schedule:' || substr(r.started_by, 10),
       jsonb_build_object('schedule', substr(r.started_by, 10),
                          'agent', r.agent, 'run_id', r.id)
FROM agents_runevent e
JOIN LATERAL (SELECT * FROM agents_run o WHERE o.id = e.run_id OFFSET 0) r
    ON r.workspace_id = %(workspace)s
WHERE e.at >= %(floor)s AND e.type = 'run.created' AND r.started_by LIKE 'schedule %%'
  AND r.parent_id IS NULL AND {readable}
"""
# A firing is deferred for a day at most; that it started is in the journal.
_FIRINGS: Final = """
SELECT f.xmin, coalesce(f.retry_at, f.created_at), 'firing:' || f.id,
       'schedule.' || f.status, NULL, 'schedule:' || s.name,
       jsonb_build_object('schedule', s.name, 'agent', a.name, 'scheduled_for', f.scheduled_for,
                          'reason', f.note)
FROM scheduling_firing f
JOIN scheduling_schedule s ON s.id = f.schedule_id AND s.workspace_id = %(workspace)s
JOIN agents_agent a ON a.id = s.agent_id
WHERE f.created_at >= %(floor)s::timestamptz - interval '25 hours'
  AND f.status IN ('skipped', 'failed')
"""
# An ended delivery keeps the end of its last attempt's lease, which is later than its end.
_DELIVERIES: Final = """
SELECT d.xmin, coalesce(d.delivered_at, d.next_at - make_interval(
           secs => CASE d.kind WHEN 'webhook' THEN 60 ELSE 300 END)),
       'delivery:' || d.id || ':' || extract(epoch FROM d.next_at),
       CASE d.status WHEN 'delivered' THEN 'delivery.sent' ELSE 'delivery.failed' END,
       d.run_id, 'delivery:' || d.id,
       jsonb_build_object('delivery_id', d.id, 'run_id', d.run_id, 'agent', r.agent,
                          'kind', d.kind, 'attempts', d.attempts, 'error', d.error)
FROM agents_delivery d LEFT JOIN agents_run r ON r.id = d.run_id
WHERE d.workspace_id = %(workspace)s AND d.status <> 'pending' AND d.next_at >= %(floor)s
  AND {readable}
"""
_MESSAGES: Final = """
SELECT m.xmin, m.created_at, 'message:' || m.id, 'message.sent', NULL,
       'message:' || m.id,
       jsonb_build_object('message_id', m.id, 'sender', m.sender, 'recipient', m.recipient,
                          'kind', m.kind, 'run_id', m.source_run_id)
FROM agents_message m
WHERE m.workspace_id = %(workspace)s AND m.created_at >= %(floor)s
"""
_AUDIT: Final = """
SELECT a.xmin, a.at, 'audit:' || a.id,
       CASE a.action WHEN 'agent.start' THEN 'agent.started' WHEN 'agent.stop' THEN 'agent.stopped'
           WHEN 'agent.restart' THEN 'agent.restarted'
           ELSE CASE WHEN a.action LIKE 'agent.%%' THEN 'agent.changed' ELSE a.action END END,
       NULL, a.target,
       CASE WHEN a.action LIKE 'agent.%%' THEN jsonb_build_object('agent', a.label)
           WHEN a.action LIKE 'quota.%%'
           THEN a.details || jsonb_build_object('quota', a.label, 'workspace', w.slug)
           ELSE a.details END
FROM base_auditentry a JOIN base_workspace w ON w.id = a.workspace_id
WHERE a.workspace_id = %(workspace)s AND a.at >= %(floor)s
  AND a.action IN ('quota.warning', 'quota.reached', 'alert.raised', 'alert.resolved',
                   'agent.add', 'agent.change', 'agent.publish', 'agent.rollback', 'agent.start',
                   'agent.stop', 'agent.restart')
"""
#: Common table expressions: ``c`` has the transactions, ``happened`` the events. A row has the last
#: 32 bits of its transaction's number.
HAPPENED: Final = f"""
c AS MATERIALIZED (
    SELECT pg_snapshot_xmin(s)::text::bigint AS horizon, pg_snapshot_xmax(s)::text::bigint AS top
    FROM pg_current_snapshot() s
), happened AS (
    SELECT c.top - ((c.top - u.xid::text::bigint) & 4294967295) AS xid,
           u.at, u.key, u.type, u.run_id, u.subject, u.data
    FROM c CROSS JOIN ({
    " UNION ALL ".join(
        one.replace("{readable}", _READABLE).replace("{asked}", _ASKED)
        for one in (_JOURNAL, _FIRED, _FIRINGS, _DELIVERIES, _MESSAGES, _AUDIT)
    )
}) u
)
"""  # noqa: S608  constants
