"""The last runs of a server as a table: as `reports` prints it for rows. No Django."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from heartbit_site.cli.output import one_line, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

AGENT_WIDTH: Final = 20
TASK_WIDTH: Final = 200
SHORT_ID: Final = 13
STYLES: Final = {
    "running": "cyan",
    "queued": "dim",
    "waiting": "dim cyan",
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "quarantined": "red",
}


def table(runs: Sequence[Mapping[str, Any]], console: Console) -> list[Text]:
    """A line a run, below a headline."""
    if not runs:
        return [Text('No runs yet: heartbit "<task>" starts one.', style="dim")]
    now = datetime.now(UTC)
    names = max(5, *(len(one_line(run["agent"], AGENT_WIDTH)) for run in runs))
    head = (
        f"{'RUN':<{SHORT_ID}}  {'STATUS':<11}  {'AGE':>10}  {'TOOK':>10}  {'AGENT':<{names}}  TASK"
    )
    return [Text(head, style="dim"), *(_row(run, names, now, console) for run in runs)]


def _row(run: Mapping[str, Any], names: int, now: datetime, console: Console) -> Text:
    created = datetime.fromisoformat(run["created_at"])
    age = seconds((now - created).total_seconds())
    took = ""
    if run["started_at"] is not None:
        finished = run["finished_at"]
        end = datetime.fromisoformat(finished) if finished else now
        took = seconds((end - datetime.fromisoformat(run["started_at"])).total_seconds())
    line = Text(f"{one_line(run['run'])[:SHORT_ID]:<{SHORT_ID}}  ")
    line.append(f"{run['status']:<11}", style=STYLES.get(run["status"], ""))
    agent = one_line(run["agent"], AGENT_WIDTH)
    line.append(f"  {age:>10}  {took:>10}  {agent:<{names}}  ")
    line.append(one_line(run["task"], TASK_WIDTH))
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    return line
