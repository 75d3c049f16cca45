"""What is said about agents: the list, and one of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from agents.reads.agents import find_agent
from agents.reads.metrics import AgentOverview, agents_with_metrics
from agents.reads.versions import versions_of
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import one_line, seconds, write, write_json
from heartbit_site.cli.short_id import short_id
from heartbit_site.cli.table import print_table
from heartbit_site.contract.agents import AgentMetricsOut
from heartbit_site.contract.versions import VersionOut
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from decimal import Decimal

    from agents.models import Agent

STYLES: Final = {"idle": "green", "busy": "cyan", "error": "red", "stopped": "dim"}
COLUMNS: Final = ("AGENT", "STATE", "RUNS", "SUCCESS", "AVERAGE", "TOKENS", "ACTIVE", "MODEL", "")


def list_agents(*, as_json: bool) -> int:
    """Every agent that people edit, one a line."""
    found = agents_with_metrics(default_workspace())
    if as_json:
        write_json({"agents": [_row(overview) for overview in found]})
        return OK
    print_table(COLUMNS, [_cells(overview) for overview in found], styles=STYLES)
    return OK


def show_agent(name: str, *, as_json: bool) -> int:
    """One agent: what it does, what it is, what it has done."""
    workspace = default_workspace()
    found = agents_with_metrics(workspace, names=[name])
    if not found:
        find_agent(workspace, name)  # raises, and names those there are
        return OK
    [overview] = found
    shown = {**_row(overview), "definition": _definition(overview.agent)}
    current = overview.agent.current_version_id
    shown["versions"] = [
        VersionOut.of(version, current=version.pk == current, runs=runs).model_dump(mode="json")
        for version, runs in versions_of(overview.agent)
    ]
    if as_json:
        write_json(shown)
        return OK
    _print(overview, shown)
    return OK


def _print(overview: AgentOverview, shown: dict[str, Any]) -> None:
    agent, metrics = overview.agent, overview.metrics
    busy = f" with run {overview.current_run}" if overview.current_run else ""
    ended = f"{metrics.succeeded} succeeded, {metrics.failed} failed"
    average = seconds(metrics.average_seconds) if metrics.average_seconds is not None else "-"
    facts = (
        ("state", f"{overview.state}{busy}"),
        ("model", agent.model or "the default one"),
        ("tools", ", ".join(shown["tools"]) or "none"),
        ("team", ", ".join(shown["definition"]["team"]) or "none"),
        ("runs", f"{metrics.runs}: {ended}"),
        ("average time", average),
        ("tokens", f"{metrics.input_tokens:,} in, {metrics.output_tokens:,} out"),
        ("cost", _cost(metrics.cost_usd)),
        ("uptime", seconds(metrics.uptime_seconds) if agent.enabled else "-"),
        ("last active", _ago(metrics.last_activity)),
        ("versions", ", ".join(_version(version) for version in shown["versions"]) or "none"),
    )
    write(f"{agent.name}: {one_line(agent.description) or 'no description'}")
    for title, text in facts:
        write(f"  {title:<13} {one_line(text)}")
    write(f"  definition\n{readable_json(shown['definition'])}")


def _version(version: dict[str, Any]) -> str:
    return f"{version['number']}{' (current)' if version['current'] else ''}"


def _row(overview: AgentOverview) -> dict[str, Any]:
    agent = overview.agent
    return {
        "agent": agent.name,
        "description": agent.description,
        "state": overview.state,
        "current_run_id": str(overview.current_run) if overview.current_run else None,
        "model": agent.model,
        "tools": _tools(agent),
        "metrics": AgentMetricsOut.of(overview.metrics).model_dump(mode="json"),
    }


def _tools(agent: Agent) -> list[str]:
    """Of the published version: what its runs are offered."""
    return agent.current_version.tool_names if agent.current_version is not None else []


def _definition(agent: Agent) -> dict[str, Any]:
    version = agent.current_version
    return {"team": []} if version is None else {**version.snapshot, "team": version.member_names}


def _cells(overview: AgentOverview) -> tuple[str, ...]:
    agent, metrics = overview.agent, overview.metrics
    rate, average = metrics.success_rate, metrics.average_seconds
    tools = ", ".join(_tools(agent))
    now = f"run {short_id(overview.current_run)}  " if overview.current_run else ""
    return (
        agent.name,
        overview.state,
        str(metrics.runs),
        "-" if rate is None else f"{rate:.0%}",
        "-" if average is None else seconds(average),
        f"{metrics.input_tokens + metrics.output_tokens:,}",
        _ago(metrics.last_activity),
        one_line(agent.model, 40) or "default",
        f"{now}{tools}",
    )


def _ago(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    return f"{seconds((datetime.now(UTC) - moment).total_seconds())} ago"


def _cost(cost: Decimal | None) -> str:
    return "unknown: a model has no known price" if cost is None else f"${cost:.4f}"
