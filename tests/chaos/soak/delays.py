"""Latency of runs that nothing disturbed, in each quarter of a soak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heartbit_site.base.query import fetch_all
from tests.chaos.couriers import COURIER

if TYPE_CHECKING:
    from datetime import datetime

    from heartbit_site.base.models import Workspace

FLOOR_SECONDS = {"p50": 0.2, "p95": 0.5}  # below it a busy machine makes the difference
#: Of couriers that one worker executed from claim to end, alone on their conversation.
_QUARTERS = """
    SELECT least(3, floor(4 * extract(epoch FROM created_at - %(began)s)
                            / extract(epoch FROM %(ended)s - %(began)s)))::int AS quarter,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
               ORDER BY extract(epoch FROM finished_at - created_at))
    FROM agents_run
    WHERE workspace_id = %(workspace)s AND agent = %(agent)s AND status = 'succeeded'
          AND lease_token = 1 AND parent_id IS NULL AND conversation_id IS NULL
          AND created_at BETWEEN %(began)s AND %(ended)s
    GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Quarters:
    """Seconds from acceptance to end, by quarter (0 to 3): the median and the 95th percentile."""

    p50: dict[int, float]
    p95: dict[int, float]

    def ratio(self, name: Literal["p50", "p95"]) -> float:
        """The last quarter's, in terms of the first one's; below a floor all is alike."""
        found, floor = (self.p50 if name == "p50" else self.p95), FLOOR_SECONDS[name]
        return max(floor, found.get(3, 0)) / max(floor, found.get(0, 0))

    def seconds(self) -> dict[str, float]:
        """All of them, by name."""
        both = {"p50": self.p50, "p95": self.p95}
        return {
            f"latency_{name}_s_quarter_{quarter + 1}": round(values[quarter], 3)
            for name, values in both.items()
            for quarter in sorted(values)
        }


def delays(workspace: Workspace, began: datetime, ended: datetime) -> Quarters:
    """Read them."""
    values = {"workspace": workspace.pk, "agent": COURIER, "began": began, "ended": ended}
    rows = [(quarter, list(both)) for quarter, both in fetch_all(_QUARTERS, values)]
    return Quarters({row: both[0] for row, both in rows}, {row: both[1] for row, both in rows})
