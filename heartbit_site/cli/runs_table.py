"""Runs as a table, or as JSON. No Django."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from heartbit_site.base.amounts import duration
from heartbit_site.cli.describe import run_summary
from heartbit_site.cli.errors import OK
from heartbit_site.cli.invocation import as_json
from heartbit_site.cli.output import one_line, write_json
from heartbit_site.cli.render import STYLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.contract.runs import RunSummaryOut

AGENT_WIDTH: Final = 20
TASK_WIDTH: Final = 200
SHORT_ID: Final = 13  # the milliseconds of a UUIDv7: what distinguishes two runs
NO_RUNS: Final = 'No runs yet: heartbit "<task>" starts one.'


def print_runs(runs: Sequence[RunSummaryOut], *, none: str = NO_RUNS) -> int:
    """Print a line for each run, or ``none`` if there are no runs; return the exit code."""
    if as_json():
        write_json({"runs": [run_summary(run) for run in runs]})
        return OK
    console = Console(highlight=False)
    for line in table(runs, console, none=none):
        console.print(line, soft_wrap=True)
    return OK


def table(runs: Sequence[RunSummaryOut], console: Console, *, none: str = NO_RUNS) -> list[Text]:
    """Return a line for each run, below a headline; one with ``none`` if there are no runs."""
    if not runs:
        return [Text(none, style="dim")]
    now = datetime.now(UTC)
    names = max(5, *(len(one_line(run.agent, AGENT_WIDTH)) for run in runs))
    head = (
        f"{'RUN':<{SHORT_ID}}  {'STATUS':<11}  {'AGE':>10}  {'TOOK':>10}  {'AGENT':<{names}}  TASK"
    )
    return [Text(head, style="dim"), *(_row(run, names, now, console) for run in runs)]


def _row(run: RunSummaryOut, names: int, now: datetime, console: Console) -> Text:
    age = duration((now - run.created_at).total_seconds())
    took = ""
    if run.started_at is not None:
        took = duration(((run.finished_at or now) - run.started_at).total_seconds())
    line = Text(f"{one_line(run.id)[:SHORT_ID]:<{SHORT_ID}}  ")
    line.append(f"{run.status:<11}", style=STYLES.get(run.status, ""))
    line.append(f"  {age:>10}  {took:>10}  {one_line(run.agent, AGENT_WIDTH):<{names}}  ")
    line.append(one_line(run.task, TASK_WIDTH))
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    return line
