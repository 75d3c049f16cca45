"""Quota errors and wait reasons: runs per day, per minute and at once.

The database counts and refuses in ``heartbit_submit`` (``sql/quotas.sql``); this module explains
the refusal in one sentence for every surface, with the seconds until the next run may start.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from agents.choices import Placement
from agents.errors import QuotaExceededError, TooManyRunsError
from heartbit_site.base.amounts import duration
from heartbit_site.base.query import fetch_named, fetch_one

if TYPE_CHECKING:
    from agents.models import Agent, Run

# What is used up of both periods, and how long they last; by the database's clock.
_NOW = """
    SELECT t.name AS tier, t.runs_per_day AS a_day, coalesce(d.runs, 0) AS today,
           extract(epoch FROM x.day + interval '1 day' - x.now)::float AS day_seconds,
           coalesce(m.runs, 0) AS this_minute,
           extract(epoch FROM x.minute + interval '1 minute' - x.now)::float AS minute_seconds
    FROM (SELECT n.now, date_trunc('day', n.now, 'UTC') AS day,
                 date_trunc('minute', n.now, 'UTC') AS minute
          FROM (SELECT clock_timestamp() AS now) n) x
    JOIN base_workspace w ON w.id = %(workspace)s
    LEFT JOIN base_tier t ON t.id = w.tier_id
    LEFT JOIN agents_runcount d
        ON d.workspace_id = w.id AND d.agent_id IS NULL AND d.starts_at >= x.day
    LEFT JOIN agents_runcount m
        ON m.workspace_id = w.id AND m.agent_id = %(agent)s AND m.starts_at >= x.minute
"""
_FULL = """
    SELECT t.name, t.runs_at_once FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id
    WHERE w.id = %s AND heartbit_room(w.id) <= 0
"""


def raise_if_exceeded(agent: Agent) -> None:
    """Raise if a quota is why the database did not accept a run of an agent.

    Raises:
        QuotaExceededError: The workspace has used its tier's runs per day.
        TooManyRunsError: The agent has used its runs per minute.
    """
    now = _now(agent)
    if now["a_day"] is not None and now["today"] >= now["a_day"]:
        seconds = math.ceil(now["day_seconds"])
        raise QuotaExceededError(
            f"The workspace {agent.workspace.slug} has started its {_runs(now['a_day'])} of today "
            f"(tier {now['tier']}): more can be started in {duration(timedelta(seconds=seconds))}, "
            "at midnight UTC, or once an operator gives it another tier.",
            seconds,
        )
    a_minute = agent.max_runs_per_minute
    if a_minute is not None and now["this_minute"] >= a_minute:
        seconds = math.ceil(now["minute_seconds"])
        raise TooManyRunsError(
            f"The agent {agent.name} takes {_runs(a_minute)} a minute and has been given as many: "
            f"start it again in {seconds} s, or raise its limit.",
            seconds,
        )


def _now(agent: Agent) -> dict[str, Any]:
    return fetch_named(_NOW, {"workspace": agent.workspace_id, "agent": agent.pk})[0]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def quota_blocked_reason(run: Run) -> str:
    """Return the quota that keeps a queued run from starting, as one sentence, or ""."""
    if run.home != Placement.FLEET:
        return ""
    full = fetch_one(_FULL, [run.workspace_id])
    if full is None:
        return ""
    tier, at_once = full
    return (
        f"The workspace is limited to {_runs(at_once)} at once (tier {tier}): this one starts when "
        "another one ends or waits."
    )
