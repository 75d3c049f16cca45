"""What is said about agents at work, and starting and stopping them. No Django."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import note, one_line, seconds, write, write_json
from heartbit_site.cli.table import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.operation import Operation, Switch

STYLES: Final = {"idle": "green", "busy": "cyan", "error": "red", "stopped": "dim"}
COLUMNS: Final = ("AGENT", "STATE", "UPTIME", "QUEUED", "RUNNING", "WAITING", "ACTIVE", "TOOLS")
DONE: Final = {"start": "started", "stop": "stopped", "restart": "restarted"}


def status(operation: Operation, name: str | None, *, as_json: bool) -> int:
    """What one agent is doing, or all of them."""
    if name is not None:
        found = operation.agent(name)
        if as_json:
            write_json(found)
        else:
            _print(found)
        return OK
    rows = operation.agents()
    if as_json:
        write_json({"agents": rows})
    else:
        print_table(COLUMNS, [_cells(row) for row in rows], styles=STYLES)
    return OK


def switch(operation: Operation, name: str, to: Switch, *, as_json: bool) -> int:
    """Start, stop or restart one."""
    found = operation.switch(name, to)
    if as_json:
        write_json(found)
        return OK
    write(f"The agent {one_line(found['name'])} is {DONE[to]}.")
    running, queued = found["queue"]["running"], found["queue"]["queued"]
    if to == "stop" and (running or queued):
        note(
            f"{running} of its runs are at work and handed back at the end of their turn; {queued} "
            "are queued. All of them go on when it is started."
        )
    return OK


def _print(found: Mapping[str, Any]) -> None:
    queue, tools, metrics = found["queue"], found["tools"], found["metrics"]
    oldest = queue["oldest_seconds"]
    waiting = f", the oldest for {seconds(oldest)}" if oldest is not None else ""
    average = metrics["average_seconds"]
    rate = metrics["success_rate"]
    facts = [
        ("state", found["state"]),
        *(("", f"run {run['run']} on {run['worker']}") for run in found["runs"]),
        ("problem", found["problem"]),
        ("uptime", seconds(found["uptime_seconds"]) if found["enabled"] else "-"),
        ("last active", _ago(found["last_activity"])),
        ("tools loaded", ", ".join(tools["loaded"]) or "none"),
        ("changed", ", ".join(tools["changed"])),
        ("unknown", ", ".join(tools["unknown"])),
        ("stopped", ", ".join(tools["stopped"])),
        ("queue", f"{queue['name']}: {queue['queued']} queued{waiting}"),
        ("", f"{queue['running']} running, {queue['waiting']} waiting"),
        (
            "runs",
            f"{metrics['runs']}: {metrics['succeeded']} succeeded, {metrics['failed']} failed",
        ),
        ("success", "-" if rate is None else f"{rate:.0%}"),
        ("average time", "-" if average is None else seconds(average)),
        ("tokens", f"{metrics['input_tokens']:,} in, {metrics['output_tokens']:,} out"),
        ("cost", f"${metrics['cost_usd']}" if metrics["cost_usd"] else "unknown"),
    ]
    write(one_line(found["name"]))
    for title, text in facts:
        if text:
            write(f"  {title:<13} {one_line(text)}")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    queue, tools = row["queue"], row["tools"]
    bad = len(tools["changed"]) + len(tools["unknown"])
    return (
        one_line(row["name"]),
        row["state"],
        seconds(row["uptime_seconds"]) if row["enabled"] else "-",
        str(queue["queued"]),
        str(queue["running"]),
        str(queue["waiting"]),
        _ago(row["last_activity"]),
        f"{len(tools['loaded'])} loaded{f', {bad} not' if bad else ''}",
    )


def _ago(text: str | None) -> str:
    if text is None:
        return "never"
    return f"{seconds((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds())} ago"
