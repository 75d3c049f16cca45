"""A workspace with many runs, for the cost of reading its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.query import execute

if TYPE_CHECKING:
    from agents.models import AgentVersion
    from heartbit_site.base.models import Workspace

_RUNS = """
INSERT INTO agents_run (id, workspace_id, kind, version_id, agent, root_id, status, task, model,
    model_override, input_tokens, output_tokens, priority, queue, home, lease_token, crashes,
    last_seq, open_waits, cancel_requested, created_at, started_at, finished_at, error)
SELECT x.id, %(workspace)s, 'agent', %(version)s, 'agent-' || n %% 8, x.id,
       CASE WHEN n %% 20 = 0 THEN 'failed' ELSE 'succeeded' END, repeat('What is it? ', 20),
       'openai:model-' || n %% 3, '', 100, 50, 0, 'agents', 'fleet', 1, 0, 9, 0, false,
       at, at + make_interval(secs => n %% 100 / 100.0), at + make_interval(secs => 1 + n %% 60),
       CASE WHEN n %% 20 = 0 THEN jsonb_build_object('message',
            'The provider answered ' || 500 + n %% 3 || ' after ' || n || ' s for ' || x.id) END
FROM generate_series(1, %(count)s) n
CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id,
    clock_timestamp() - make_interval(secs => n * %(days)s * 86400.0 / %(count)s) AS at) x
"""
_USAGE = """
INSERT INTO base_usageentry (workspace_id, run_id, turn, model, input_tokens, output_tokens,
    cached_input_tokens, cost_usd, at)
SELECT workspace_id, id, 1, model, 100, 50, 0, 0.001, finished_at FROM agents_run
WHERE workspace_id = %s
"""


def fill(workspace: Workspace, version: AgentVersion, count: int, days: float = 29.9) -> None:
    """Add so many ended runs of the last days, one of 20 failed, each with a model call."""
    values = {"workspace": workspace.pk, "version": version.pk, "count": count, "days": days}
    execute(_RUNS, values)
    execute(_USAGE, [workspace.pk])
    execute("ANALYZE agents_run")
    execute("ANALYZE base_usageentry")
