"""Results of `heartbit agents`. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.reads.agent_view import AgentStatusOut
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import note, one_line, seconds, write, write_view
from heartbit_site.cli.run_names import SHORT_ID
from heartbit_site.cli.table import Table, print_done, print_facts, print_list
from heartbit_site.cli.times import format_relative
from heartbit_site.contract import agent_status as contract
from heartbit_site.contract.agents import LIST_AGENTS, SHOW_AGENT, AgentOut
from heartbit_site.contract.versions import LIST_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from agents.reads.agent_view import AgentMetricsOut

STYLES: Final = {"idle": "green", "busy": "cyan", "error": "red", "stopped": "dim"}
MODEL_WIDTH: Final = 40
TITLES: Final = 13  # characters of the longest title of a fact


def list_agents(url: str | None, *, as_json: bool) -> int:
    """Print the published agents with their state and figures."""
    found = backend_for(url).every(LIST_AGENTS)
    return print_list(found, AGENTS.of(found.agents), as_json=as_json)


def show_agent(url: str | None, name: str, *, as_json: bool) -> int:
    """Print an agent: its state, its definition, its versions and its figures."""
    backend = backend_for(url)
    agent = backend.call(SHOW_AGENT, name=name)
    versions = backend.every(LIST_VERSIONS, name=name).versions
    if as_json:
        write_view(agent, versions=[one.model_dump(mode="json") for one in versions])
        return OK
    busy = f" with run {agent.current_run_id}" if agent.current_run_id else ""
    numbers = (f"{one.number}{' (current)' if one.current else ''}" for one in versions)
    facts = (
        ("state", f"{agent.state}{busy}"),
        ("model", agent.model or "the default one"),
        ("tools", ", ".join(agent.tools) or "none"),
        ("team", ", ".join(agent.team) or "none"),
        *_figures(agent.metrics),
        ("uptime", "-" if agent.state == "stopped" else seconds(agent.metrics.uptime_seconds)),
        ("last active", _ago(agent.metrics.last_activity)),
        ("versions", ", ".join(numbers)),
    )
    print_facts(f"{agent.name}: {agent.description or 'no description'}", facts, width=TITLES)
    write(f"  definition\n{readable_json(agent.definition)}")
    return OK


def status(url: str | None, name: str | None, *, as_json: bool) -> int:
    """Print the activity of one agent, or of all."""
    backend = backend_for(url)
    if name is None:
        everything = backend.every(contract.LIST_AGENT_STATUSES)
        return print_list(everything, STATUSES.of(everything.agents), as_json=as_json)
    found = backend.call(contract.SHOW_AGENT_STATUS, name=name)
    if as_json:
        write_view(found)
    else:
        print_facts(found.name, _facts(found), width=TITLES)
    return OK


def start(url: str | None, name: str, *, as_json: bool) -> int:
    """Start an agent."""
    found = backend_for(url).call(contract.START_AGENT, name=name)
    return _done(found, "started", as_json=as_json)


def stop(url: str | None, name: str, *, as_json: bool) -> int:
    """Stop an agent and print how many of its runs wait until it is started."""
    found = backend_for(url).call(contract.STOP_AGENT, name=name)
    _done(found, "stopped", as_json=as_json)
    queue = found.queue
    if not as_json and (queue.running or queue.queued):
        note(
            f"{queue.running} of its runs are requeued at the end of their turn; {queue.queued} "
            "are queued. All of them resume when it is started."
        )
    return OK


def restart(url: str | None, name: str, *, as_json: bool) -> int:
    """Restart an agent."""
    found = backend_for(url).call(contract.RESTART_AGENT, name=name)
    return _done(found, "restarted", as_json=as_json)


def _done(found: AgentStatusOut, change: str, *, as_json: bool) -> int:
    return print_done(found, f"The agent {one_line(found.name)} is {change}.", as_json=as_json)


def _facts(found: AgentStatusOut) -> Iterator[tuple[str, str]]:
    queue, tools = found.queue, found.tools
    oldest = queue.oldest_seconds
    yield "state", found.state
    yield from (("", f"run {run.id} on {run.worker}") for run in found.runs)
    yield "problem", found.problem
    yield "uptime", _uptime(found)
    yield "last active", _ago(found.last_activity)
    yield "tools loaded", ", ".join(tools.loaded) or "none"
    yield "changed", ", ".join(tools.changed)
    yield "unknown", ", ".join(tools.unknown)
    yield "stopped", ", ".join(tools.stopped)
    waiting = f", the oldest for {seconds(oldest)}" if oldest is not None else ""
    yield "queue", f"{queue.name}: {queue.queued} queued{waiting}"
    yield "", f"{queue.running} running, {queue.waiting} waiting"
    yield from _figures(found.metrics)


def _figures(metrics: AgentMetricsOut) -> Iterator[tuple[str, str]]:
    yield "runs", f"{metrics.runs}: {metrics.succeeded} succeeded, {metrics.failed} failed"
    yield "success", _rate(metrics)
    yield "average time", _average(metrics)
    yield "tokens", f"{metrics.input_tokens:,} in, {metrics.output_tokens:,} out"
    cost = metrics.cost_usd
    yield "cost", "unknown: a model has no known price" if cost is None else f"${cost}"


def _rate(metrics: AgentMetricsOut) -> str:
    return "-" if metrics.success_rate is None else f"{metrics.success_rate:.0%}"


def _average(metrics: AgentMetricsOut) -> str:
    return "-" if metrics.average_seconds is None else seconds(metrics.average_seconds)


def _uptime(found: AgentStatusOut) -> str:
    return seconds(found.uptime_seconds) if found.enabled else "-"


def _ago(moment: datetime | None) -> str:
    return "never" if moment is None else format_relative(moment)


def _now(agent: AgentOut) -> str:
    busy = f"run {agent.current_run_id[:SHORT_ID]}  " if agent.current_run_id else ""
    return busy + ", ".join(agent.tools)


def _loaded(found: AgentStatusOut) -> str:
    tools = found.tools
    bad = len(tools.changed) + len(tools.unknown)
    return f"{len(tools.loaded)} loaded{f', {bad} not' if bad else ''}"


AGENTS: Final = Table[AgentOut](
    {
        "AGENT": lambda agent: agent.name,
        "STATE": lambda agent: agent.state,
        "RUNS": lambda agent: agent.metrics.runs,
        "SUCCESS": lambda agent: _rate(agent.metrics),
        "AVERAGE": lambda agent: _average(agent.metrics),
        "TOKENS": lambda agent: f"{agent.metrics.input_tokens + agent.metrics.output_tokens:,}",
        "ACTIVE": lambda agent: _ago(agent.metrics.last_activity),
        "MODEL": lambda agent: one_line(agent.model, MODEL_WIDTH) or "default",
        "": _now,
    },
    STYLES,
)
STATUSES: Final = Table[AgentStatusOut](
    {
        "AGENT": lambda found: found.name,
        "STATE": lambda found: found.state,
        "UPTIME": _uptime,
        "QUEUED": lambda found: found.queue.queued,
        "RUNNING": lambda found: found.queue.running,
        "WAITING": lambda found: found.queue.waiting,
        "ACTIVE": lambda found: _ago(found.last_activity),
        "TOOLS": _loaded,
    },
    STYLES,
)
