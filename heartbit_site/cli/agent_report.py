"""Results of `heartbit agents status`, `start`, `stop` and `restart`. No Django."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import note, one_line, seconds, write, write_view
from heartbit_site.cli.table import print_table
from heartbit_site.contract import agent_status as contract

if TYPE_CHECKING:
    from heartbit_site.contract.agent_status import AgentStatusOut

STYLES: Final = {"idle": "green", "busy": "cyan", "error": "red", "stopped": "dim"}
COLUMNS: Final = ("AGENT", "STATE", "UPTIME", "QUEUED", "RUNNING", "WAITING", "ACTIVE", "TOOLS")


def status(url: str | None, name: str | None, *, as_json: bool) -> int:
    """Print what one agent is doing, or all of them."""
    backend = backend_for(url)
    if name is not None:
        found = backend.call(contract.SHOW_AGENT_STATUS, name=name)
        if as_json:
            write_view(found)
        else:
            _print(found)
        return OK
    everything = backend.every(contract.LIST_AGENT_STATUSES)
    if as_json:
        write_view(everything)
    else:
        print_table(COLUMNS, [_cells(row) for row in everything.agents], styles=STYLES)
    return OK


def start(url: str | None, name: str, *, as_json: bool) -> int:
    """Start an agent."""
    found = backend_for(url).call(contract.START_AGENT, name=name)
    return _done(found, "started", as_json=as_json)


def stop(url: str | None, name: str, *, as_json: bool) -> int:
    """Stop an agent, and say what becomes of its runs."""
    found = backend_for(url).call(contract.STOP_AGENT, name=name)
    _done(found, "stopped", as_json=as_json)
    queue = found.queue
    if not as_json and (queue.running or queue.queued):
        note(
            f"{queue.running} of its runs are at work and handed back at the end of their turn; "
            f"{queue.queued} are queued. All of them go on when it is started."
        )
    return OK


def restart(url: str | None, name: str, *, as_json: bool) -> int:
    """Restart an agent."""
    found = backend_for(url).call(contract.RESTART_AGENT, name=name)
    return _done(found, "restarted", as_json=as_json)


def _done(found: AgentStatusOut, what: str, *, as_json: bool) -> int:
    if as_json:
        write_view(found)
    else:
        write(f"The agent {one_line(found.name)} is {what}.")
    return OK


def _print(found: AgentStatusOut) -> None:
    queue, tools, metrics = found.queue, found.tools, found.metrics
    oldest = queue.oldest_seconds
    waiting = f", the oldest for {seconds(oldest)}" if oldest is not None else ""
    average = metrics.average_seconds
    rate = metrics.success_rate
    facts = [
        ("state", found.state),
        *(("", f"run {run.id} on {run.worker}") for run in found.runs),
        ("problem", found.problem),
        ("uptime", seconds(found.uptime_seconds) if found.enabled else "-"),
        ("last active", _ago(found.last_activity)),
        ("tools loaded", ", ".join(tools.loaded) or "none"),
        ("changed", ", ".join(tools.changed)),
        ("unknown", ", ".join(tools.unknown)),
        ("stopped", ", ".join(tools.stopped)),
        ("queue", f"{queue.name}: {queue.queued} queued{waiting}"),
        ("", f"{queue.running} running, {queue.waiting} waiting"),
        (
            "runs",
            f"{metrics.runs}: {metrics.succeeded} succeeded, {metrics.failed} failed",
        ),
        ("success", "-" if rate is None else f"{rate:.0%}"),
        ("average time", "-" if average is None else seconds(average)),
        ("tokens", f"{metrics.input_tokens:,} in, {metrics.output_tokens:,} out"),
        ("cost", f"${metrics.cost_usd}" if metrics.cost_usd else "unknown"),
    ]
    write(one_line(found.name))
    for title, text in facts:
        if text:
            write(f"  {title:<13} {one_line(text)}")


def _cells(row: AgentStatusOut) -> tuple[str, ...]:
    queue, tools = row.queue, row.tools
    bad = len(tools.changed) + len(tools.unknown)
    return (
        one_line(row.name),
        row.state,
        seconds(row.uptime_seconds) if row.enabled else "-",
        str(queue.queued),
        str(queue.running),
        str(queue.waiting),
        _ago(row.last_activity),
        f"{len(tools.loaded)} loaded{f', {bad} not' if bad else ''}",
    )


def _ago(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    return f"{seconds((datetime.now(UTC) - moment).total_seconds())} ago"
