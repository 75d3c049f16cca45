"""Start, stop or restart an agent.

A stopped agent takes no new runs, and its queued runs are not claimed. Running runs are handed back
at once, after an effect in flight; waiting ones keep waiting. All of them resume when the agent is
started.
"""

from __future__ import annotations

from typing import Literal

from django.db import transaction

from agents.actions.wake_run import wake_released
from agents.models import Agent
from agents.runs.notices import notify_workers

Switch = Literal["start", "stop", "restart"]
RING = 200  # runs woken at once; the sweepers wake the others as slots become free


def set_agent_state(agent: Agent, to: Switch) -> bool:
    """Set an agent's state, and notify the workers at once.

    A restart requeues running runs; for a stopped agent it is a start.

    Returns:
        True if anything changed.
    """
    if to == "stop":
        changed = _stop(agent)
    elif to == "start" and Agent.objects.filter(pk=agent.pk, enabled=True).exists():
        changed = False
    else:
        _start(agent)
        changed = True
    agent.refresh_from_db(fields=["enabled", "enabled_at"])
    return changed


@transaction.atomic
def _stop(agent: Agent) -> bool:
    stopped = Agent.objects.filter(pk=agent.pk, enabled=True).update(enabled=False)
    if stopped:
        notify_workers("agent", agent.pk)
    return bool(stopped)


def _start(agent: Agent) -> None:
    wake_released("SELECT ring, ring_queue FROM heartbit_start_agent(%s, %s)", [agent.pk, RING])
