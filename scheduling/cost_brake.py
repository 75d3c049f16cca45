"""Brake for schedules that succeed and burn: the cost of a run against that of the runs before."""

from __future__ import annotations

from statistics import median
from typing import Final
from uuid import UUID

from heartbit_site.base.amounts import money
from heartbit_site.base.query import fetch_all
from scheduling.models import Schedule

#: Number of earlier runs whose median is the usual cost, and the least number that makes one.
COMPARED: Final = 10
LEAST: Final = 3
#: Ended runs of a schedule with what their trees have used, the latest first.
_USED = """
    SELECT r.id, coalesce(u.tokens, 0), CASE WHEN u.is_priced THEN u.cost_usd END
    FROM (SELECT f.run_id FROM scheduling_firing f
          WHERE f.schedule_id = %s AND f.run_id IS NOT NULL AND f.cause = 'schedule'
          ORDER BY f.scheduled_for DESC LIMIT %s) f
    JOIN agents_run r ON r.id = f.run_id AND r.finished_at IS NOT NULL
    LEFT JOIN LATERAL (
        SELECT sum(e.input_tokens::bigint + e.output_tokens)::bigint AS tokens,
               sum(e.cost_usd) AS cost_usd, bool_and(e.cost_usd IS NOT NULL) AS is_priced
        FROM base_usageentry e JOIN agents_run t ON t.id = e.run_id
        WHERE t.root_id = r.id) u ON true
    ORDER BY r.finished_at DESC
"""


def burning_run(schedule: Schedule) -> tuple[UUID, str] | None:
    """Return the last run if it has cost too much, with the reason; None: it has not.

    Tokens are compared where the price of a run is unknown. A run brakes its schedule once.
    """
    times = schedule.cost_brake
    rows = fetch_all(_USED, [schedule.pk, COMPARED + 1]) if times else []
    if times is None or len(rows) <= LEAST or rows[0][0] == schedule.braked_run_id:
        return None
    costs = [cost for _, _, cost in rows]
    is_priced = all(cost is not None for cost in costs)
    last, *before = costs if is_priced else [tokens for _, tokens, _ in rows]
    usual = median(before)
    if last <= times * usual or not last:
        return None
    amounts = [money(one) if is_priced else f"{one:,.0f} tokens" for one in (last, usual)]
    return rows[0][0], (
        f"Paused: its last run used {amounts[0]}, more than {times} times the usual {amounts[1]}."
    )
