"""Rows as the JSON of responses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from heartbit_site.contract.model import dollars

if TYPE_CHECKING:
    from decimal import Decimal

    from agents.metrics import AgentMetrics, AgentOverview
    from agents.models import AgentVersion
    from heartbit_site.base.toolspec import ToolSpec


def money(value: Decimal | None) -> str | None:
    """US dollars as a decimal number without needless zeros."""
    found: str | None = dollars(value)
    return found


def agent(overview: AgentOverview, version: AgentVersion) -> dict[str, Any]:
    """A published agent with what it does and what it has done."""
    row, metrics = overview.agent, overview.metrics
    return {
        "name": row.name,
        "description": row.description,
        "model": version.snapshot.get("model", ""),
        "tools": [tool["name"] for tool in version.snapshot.get("tools", [])],
        "team": [member["name"] for member in version.snapshot.get("team", [])],
        "queue": row.queue,
        "version": version.number,
        "state": overview.state,
        "current_run": str(overview.current_run) if overview.current_run else None,
        "metrics": agent_metrics(metrics),
    }


def agent_metrics(metrics: AgentMetrics) -> dict[str, Any]:
    """What an agent has done so far."""
    return {
        "runs": metrics.runs,
        "succeeded": metrics.succeeded,
        "failed": metrics.failed,
        "success_rate": metrics.success_rate,
        "average_seconds": metrics.average_seconds,
        "input_tokens": metrics.input_tokens,
        "output_tokens": metrics.output_tokens,
        "cost_usd": money(metrics.cost_usd),
        "uptime_seconds": metrics.uptime_seconds,
        "last_activity": time(metrics.last_activity),
    }


def tool(spec: ToolSpec) -> dict[str, Any]:
    """A tool."""
    return {
        "name": spec.name,
        "description": spec.description,
        "effect": spec.effect.value,
        "parameters": dict(spec.parameters),
    }


def time(value: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return value.astimezone(UTC).isoformat() if value else None
