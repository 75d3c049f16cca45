"""Metrics of the installation: their names, and the statement that reads most of them.

Counters begin at zero at midnight UTC, by the database's clock. So each web process reports the
same number without a counter of its own, and a scrape reads one day of the ledger at most.
No metric names a workspace, an agent or a person: the number of series does not grow with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric family. ``help`` is one sentence, also of ``docs/howto/monitoring.md``."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...] = ()


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"heartbit_{name}", "gauge", text, labels)


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"heartbit_{name}_total", "counter", text, labels)


METRICS: Final = (
    _gauge("runs", "Runs that have not ended, and quarantined runs, by status.", "status"),
    _counter("runs_ended", "Ended runs without those of sub-agents, by status.", "status"),
    _gauge("queue_runs", "Due runs that wait for a slot.", "queue"),
    _gauge("queue_blocked_runs", "Due runs that a pause or a halt holds back.", "queue"),
    _gauge("queue_running_runs", "Running runs.", "queue"),
    _gauge("queue_oldest_seconds", "Age of the oldest due run that nothing holds back.", "queue"),
    _gauge("queue_workers", "Workers that serve the queue.", "queue"),
    _gauge("workers", "Workers by state: alive, leaving, or stale (silent past lease).", "state"),
    _gauge("worker_slots", "Runs that the workers can execute at once, stale workers left out."),
    _gauge("worker_slots_used", "Slots in use."),
    _gauge("pauses", "Pauses, halts and disabled tools, by kind.", "kind"),
    _gauge("waits", "Runs' open waits for people: approval, outcome, question.", "kind"),
    _gauge("wait_oldest_seconds", "Age of the oldest open wait for a person.", "kind"),
    _gauge("uncertain_calls", "Tool calls whose outcome a person has to state."),
    _gauge("deliveries_pending", "Messages that are due or retried: result, webhook.", "kind"),
    _gauge("deliveries_failed", "Messages of the last three days that were given up.", "kind"),
    _gauge("schedules_late", "Schedules more than 60 seconds late, without halted workspaces."),
    _gauge("schedule_lateness_seconds", "Lateness of the latest of these schedules; 0: none."),
    _gauge("budgets", "Budgets by state in their period: ok, warning, exceeded.", "state"),
    _gauge("open_circuits", "Provider accounts that workers back off from; none if unknown."),
    _gauge("valkey_up", "1 if Valkey answers the web process, else 0."),
    _gauge("journal_bytes", "Size of the journals' table with its indexes."),
    _counter("model_calls", "Answers of models.", "model"),
    _counter("model_tokens", "Tokens: input, its part cached_input, output.", "model", "kind"),
    _counter("model_cost_usd", "US dollars; calls of unknown price count as 0.", "model"),
    _counter("model_unpriced_calls", "Answers of models whose price is unknown.", "model"),
)

#: Rows of metric, labels and value. Each part reads live rows through a partial index, or those of
#: a few days through an index by time, which ``clock_timestamp()`` would keep from use.
VALUES: Final = """
WITH day AS (SELECT date_trunc('day', statement_timestamp(), 'UTC') AS starts),
waits AS (
    SELECT w.kind, count(*)::float AS number,
           extract(epoch FROM statement_timestamp() - min(w.created_at))::float AS oldest
    FROM agents_wait w JOIN agents_run r ON r.id = w.run_id
    WHERE w.asks_person AND w.resolved_at IS NULL AND r.finished_at IS NULL GROUP BY w.kind
), late AS (
    SELECT count(*)::float AS number,
           coalesce(extract(epoch FROM statement_timestamp() - min(s.next_at)), 0)::float AS seconds
    FROM scheduling_schedule s
    WHERE s.enabled AND s.next_at < statement_timestamp() - interval '60 seconds'
      AND NOT heartbit_halts(s.workspace_id, (SELECT heartbit_halted())::bigint[])
), budgets AS (
    SELECT b.warn_at,
           b.exceeded_period >= date_trunc(b.period, statement_timestamp(), 'UTC') AS refuses,
           greatest(
               100.0 * heartbit_spent_tokens(b) / b.max_tokens,
               CASE WHEN b.max_usd > 0 THEN 100.0 * heartbit_spent_usd(b) / b.max_usd
                    WHEN b.max_usd = 0 THEN 100 END) AS percent
    FROM agents_budget b
), usage AS MATERIALIZED (
    SELECT u.model, sum(u.calls)::float AS calls, sum(u.unpriced)::float AS unpriced,
           sum(u.input)::float AS input, sum(u.cached)::float AS cached,
           sum(u.output)::float AS output, sum(u.usd)::float AS usd
    FROM day, base_workspace w CROSS JOIN LATERAL (
        SELECT e.model, count(*) AS calls, count(*) - count(e.cost_usd) AS unpriced,
               sum(e.input_tokens::bigint) AS input, sum(e.cached_input_tokens::bigint) AS cached,
               sum(e.output_tokens::bigint) AS output, coalesce(sum(e.cost_usd), 0) AS usd
        FROM base_usageentry e WHERE e.workspace_id = w.id AND e.at >= day.starts GROUP BY e.model
    ) u GROUP BY u.model
)
SELECT 'heartbit_runs', ARRAY[r.status]::text[], count(*)::float FROM agents_run r
    WHERE r.finished_at IS NULL GROUP BY r.status
UNION ALL SELECT 'heartbit_runs', ARRAY['quarantined'], count(*) FROM agents_run r
    WHERE r.status = 'quarantined'
UNION ALL SELECT 'heartbit_runs_ended_total', ARRAY[r.status], sum(r.number)
    FROM day, base_workspace w CROSS JOIN LATERAL (
        SELECT e.status, count(*) AS number FROM agents_run e
        WHERE e.workspace_id = w.id AND e.parent_id IS NULL AND e.finished_at >= day.starts
        GROUP BY e.status) r
    GROUP BY r.status
UNION ALL SELECT 'heartbit_waits', ARRAY[kind], number FROM waits
UNION ALL SELECT 'heartbit_wait_oldest_seconds', ARRAY[kind], oldest FROM waits
UNION ALL SELECT 'heartbit_uncertain_calls', '{}', coalesce(sum(number), 0) FROM waits
    WHERE kind = 'outcome'
UNION ALL SELECT 'heartbit_deliveries_pending', ARRAY['result'], count(*)
    FROM agents_delivery d LEFT JOIN agents_run r ON r.id = d.run_id
    WHERE d.status = 'pending' AND (r.id IS NULL OR r.finished_at IS NOT NULL)
UNION ALL SELECT 'heartbit_deliveries_pending', ARRAY['webhook'], count(*)
    FROM agents_webhookdelivery d JOIN agents_webhookendpoint e ON e.id = d.endpoint_id
    WHERE d.status = 'pending' AND e.enabled
UNION ALL SELECT 'heartbit_deliveries_failed', ARRAY['result'], count(*) FROM agents_delivery
    WHERE status = 'failed' AND created_at > statement_timestamp() - interval '3 days'
UNION ALL SELECT 'heartbit_deliveries_failed', ARRAY['webhook'], count(*)
    FROM agents_webhookdelivery
    WHERE status = 'failed' AND created_at > statement_timestamp() - interval '3 days'
UNION ALL SELECT 'heartbit_schedules_late', '{}', number FROM late
UNION ALL SELECT 'heartbit_schedule_lateness_seconds', '{}', seconds FROM late
UNION ALL SELECT 'heartbit_budgets', ARRAY[b.state], count(*) FROM (
    SELECT CASE WHEN refuses IS TRUE OR percent >= 100 THEN 'exceeded'
                WHEN percent >= warn_at THEN 'warning' ELSE 'ok' END AS state FROM budgets) b
    GROUP BY b.state
UNION ALL SELECT 'heartbit_journal_bytes', '{}', pg_total_relation_size('agents_runevent')
UNION ALL SELECT 'heartbit_model_calls_total', ARRAY[model], calls FROM usage
UNION ALL SELECT 'heartbit_model_unpriced_calls_total', ARRAY[model], unpriced FROM usage
UNION ALL SELECT 'heartbit_model_cost_usd_total', ARRAY[model], usd FROM usage
UNION ALL SELECT 'heartbit_model_tokens_total', ARRAY[model, 'input'], input FROM usage
UNION ALL SELECT 'heartbit_model_tokens_total', ARRAY[model, 'cached_input'], cached FROM usage
UNION ALL SELECT 'heartbit_model_tokens_total', ARRAY[model, 'output'], output FROM usage
"""
