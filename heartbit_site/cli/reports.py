"""What is said about runs that already exist: list, show, result, cancel."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import connections
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from agents import events
from agents.actions.cancel_run import cancel_run
from agents.choices import LIVE, TERMINAL
from agents.live.follow import Happened, RunSeen, wait_for_end
from agents.live.valkey import ValkeySource, connect
from agents.models import Run
from agents.querysets import events_after, find_run, tree
from heartbit_site.cli import describe, errors
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.fleet import stay, warn_without_worker
from heartbit_site.cli.outcome import answer, conclude, reason
from heartbit_site.cli.output import note, one_line, seconds, write, write_json
from heartbit_site.cli.render import ASCII, STYLES, UNICODE, Canvas, render
from heartbit_site.cli.tree import Tree
from heartbit_site.first_start import default_workspace

REFRESH_SECONDS: Final = 1.0
AGENT_WIDTH: Final = 20
TASK_WIDTH: Final = 200
SHORT_ID: Final = 13  # the milliseconds of a UUIDv7: what tells two runs apart
CANCEL_PATIENCE: Final = 10.0
NO_RUNS: Final = 'No runs yet: heartbit "<task>" starts one.'


def last_runs(count: int, *, watch: bool, as_json: bool) -> int:
    """List the last runs; with `watch`, again every second until Ctrl-C."""
    if as_json:
        write_json({"runs": [describe.run_summary(run) for run in _last(count)]})
        return OK
    console = Console(highlight=False)
    if not watch:
        return list_runs(count, agent="", status="", as_json=False)
    if not sys.stdout.isatty():
        raise CommandError("Name a run to watch; the list is watched on a terminal only.", USAGE)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(Group(*_table(_last(count), console)), refresh=True)
            time.sleep(REFRESH_SECONDS)


def list_runs(count: int, *, agent: str, status: str, as_json: bool) -> int:
    """List the last runs of an agent, or in a state, or of all."""
    runs = _last(count, agent=agent, status=status)
    if as_json:
        write_json({"runs": [describe.run_summary(run) for run in runs]})
        return OK
    console = Console(highlight=False)
    none = "No such runs." if agent or status else NO_RUNS
    for line in _table(runs, console, none=none):
        console.print(line, soft_wrap=True)
    return OK


def one_run(text: str, *, watch: bool, as_json: bool, plain: bool) -> int:
    """Show one run with its sub-agents."""
    run = find_run(default_workspace(), text)
    if watch:
        warn_without_worker(run)
        return stay(run, as_json=as_json, plain=plain)
    rows = tree(run.root_id)
    if as_json:
        write_json(describe.run_tree(run, rows))
        return OK
    print_tree(run, rows)
    if run.status in LIVE:
        warn_without_worker(run)
    elif run.output:
        write(f"\n{answer(run)}")
    elif run.status in TERMINAL:
        write(f"\n{reason(run)}")
    return OK


def print_tree(run: Run, rows: list[Run]) -> None:
    """A run's id, its task, and its tree as it is now."""
    console = Console(highlight=False)
    glyphs = ASCII if console.options.ascii_only else UNICODE
    console.print(Text(f"Run {run.pk}"), soft_wrap=True)
    console.print(Text(f"Task: {one_line(run.task)}"), soft_wrap=True)
    if run.started_by:
        console.print(Text(f"Started by: {one_line(run.started_by)}"), soft_wrap=True)
    for line in render(_fold(rows), Canvas(console.width, datetime.now(UTC), glyphs=glyphs)):
        console.print(line, soft_wrap=True)


def result(text: str, *, wait: bool, as_json: bool) -> int:
    """Print how a run ended."""
    run = find_run(default_workspace(), text)
    if run.status in LIVE:
        if not wait:
            raise CommandError(
                f"Run {run.pk} has not ended ({run.status}): `heartbit result {run.pk} --wait` "
                "waits for it."
            )
        warn_without_worker(run)
        connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
        run = asyncio.run(_wait(run))
    return conclude(run.pk, as_json=as_json)


def cancel(text: str, *, as_json: bool) -> int:
    """Cancel a run and wait a little for its end."""
    workspace = default_workspace()
    run = find_run(workspace, text)
    if run.status in TERMINAL:
        raise CommandError(f"Run {run.pk} has ended already: it {_past(run)}.", errors.FAILED)
    cancel_run(workspace, run.pk, reason="heartbit cancel", by=actor())
    deadline = time.monotonic() + CANCEL_PATIENCE
    while run.status in LIVE and time.monotonic() < deadline:
        time.sleep(0.05)
        run.refresh_from_db()
    if as_json:
        write_json(describe.run_tree(run, tree(run.root_id)))
    elif run.status in LIVE:
        note(f"Run {run.pk} was told to stop; it ends as soon as its worker hears it.")
    else:
        write(f"Run {run.pk} {_past(run)}.")
    return OK


def _past(run: Run) -> str:
    return f"was {run.status}" if run.status in ("cancelled", "quarantined") else run.status


async def _wait(run: Run) -> Run:
    valkey = connect(settings.REDIS_URL)
    try:
        return await wait_for_end(run.pk, ValkeySource(valkey))
    finally:
        await valkey.aclose()


def _fold(rows: list[Run]) -> Tree:
    found = Tree()
    for row in rows:
        found.apply(RunSeen(row))
        for event in events_after(row.pk, 0):
            fact = events.decode(event.type, event.payload)
            found.apply(Happened(row.pk, events.Recorded(event.seq, event.at, fact)))
    return found


def _last(count: int, *, agent: str = "", status: str = "") -> list[Run]:
    """Those that people started; of a named agent, also those it did as a sub-agent."""
    runs = Run.objects.filter(workspace=default_workspace())
    runs = runs.filter(agent=agent) if agent else runs.filter(parent__isnull=True)
    runs = runs.filter(status=status) if status else runs
    return list(runs.order_by("-created_at")[:count])


def _table(runs: list[Run], console: Console, *, none: str = NO_RUNS) -> list[Text]:
    if not runs:
        return [Text(none, style="dim")]
    now = datetime.now(UTC)
    names = max(5, *(len(one_line(run.agent, AGENT_WIDTH)) for run in runs))
    head = (
        f"{'RUN':<{SHORT_ID}}  {'STATUS':<11}  {'AGE':>10}  {'TOOK':>10}  {'AGENT':<{names}}  TASK"
    )
    return [Text(head, style="dim"), *(_row(run, names, now, console) for run in runs)]


def _row(run: Run, names: int, now: datetime, console: Console) -> Text:
    age = seconds((now - run.created_at).total_seconds())
    took = ""
    if run.started_at is not None:
        took = seconds(((run.finished_at or now) - run.started_at).total_seconds())
    line = Text(f"{str(run.pk)[:SHORT_ID]:<{SHORT_ID}}  ")
    line.append(f"{run.status:<11}", style=STYLES.get(run.status, ""))
    line.append(f"  {age:>10}  {took:>10}  {one_line(run.agent, AGENT_WIDTH):<{names}}  ")
    line.append(one_line(run.task, TASK_WIDTH))
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    return line
