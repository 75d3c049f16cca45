"""The fleet and what agents are doing, as JSON: in responses, and on the command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from heartbit_site.api.forms import time
from heartbit_site.contract.agents import AgentMetricsOut

if TYPE_CHECKING:
    from agents.agent_status import AgentStatus
    from agents.fleet import Fleet, QueueNow, WorkerNow
    from agents.pauses import Held


def fleet(found: Fleet) -> dict[str, Any]:
    """All of it."""
    return {
        "workers": [worker(row) for row in found.workers],
        "queues": [_queue(row) for row in found.queues],
        "totals": {
            "workers": found.alive,
            "slots": found.slots,
            "used": found.used,
            "queued": found.queued,
        },
        "pauses": [{**asdict(row), "at": time(row.at)} for row in found.pauses],
        "problems": list(found.problems),
    }


def worker(row: WorkerNow) -> dict[str, Any]:
    """One process."""
    return {
        **asdict(row),
        "queues": list(row.queues),
        "uptime_seconds": round(row.uptime_seconds, 3),
        "beat_seconds": round(row.beat_seconds, 3),
        "runs": [
            {"run": str(run.id), "agent": run.agent, "workspace": run.workspace} for run in row.runs
        ],
    }


def _queue(row: QueueNow) -> dict[str, Any]:
    return {**asdict(row), "oldest_seconds": round(row.oldest_seconds, 3)}


def held(what: Held, *, now: bool, changed: bool) -> dict[str, Any]:
    """What became of something that can be held back."""
    slug = what.workspace.slug if what.workspace is not None else ""
    return {
        "kind": what.kind.value,
        "name": what.queue or what.tool or slug,
        "workspace": slug if what.tool else "",
        "held": now,
        "changed": changed,
    }


def agent_status(found: AgentStatus) -> dict[str, Any]:
    """One agent."""
    overview, queue = found.overview, found.queue
    agent, version = overview.agent, overview.agent.current_version
    oldest = queue.oldest_seconds
    return {
        "name": agent.name,
        "state": overview.state,
        "enabled": agent.enabled,
        "version": version.number if version is not None else None,
        "uptime_seconds": round(overview.metrics.uptime_seconds, 3),
        "last_activity": time(overview.metrics.last_activity),
        "runs": [{"run": str(run.id), "worker": run.worker} for run in found.working],
        "tools": {
            "loaded": list(found.tools.loaded),
            "changed": list(found.tools.changed),
            "unknown": list(found.tools.unknown),
            "stopped": list(found.tools.stopped),
        },
        "queue": {
            "name": queue.name,
            "queued": queue.queued,
            "running": queue.running,
            "waiting": queue.waiting,
            "oldest_seconds": None if oldest is None else round(oldest, 3),
        },
        "metrics": AgentMetricsOut.of(overview.metrics).model_dump(mode="json"),
        "problem": found.problem,
    }
