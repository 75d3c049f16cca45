"""Runs as a table, or as JSON. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from heartbit_site.base.amounts import duration
from heartbit_site.cli.terminal.errors import OK
from heartbit_site.cli.terminal.invocation import as_json
from heartbit_site.cli.terminal.output import one_line, write, write_json
from heartbit_site.cli.terminal.table import Table
from heartbit_site.cli.views.describe import run_summary
from heartbit_site.cli.views.render import STYLES
from heartbit_site.contract.runs import RunSummaryOut

NO_RUNS: Final = 'No runs yet: heartbit "<task>" starts one.'


def print_runs(runs: Sequence[RunSummaryOut], *, none: str = NO_RUNS) -> int:
    """Print a line for each run, or ``none`` if there are no runs; return the exit code."""
    if as_json():
        write_json({"runs": [run_summary(run) for run in runs]})
    elif runs:
        RUNS.print(runs)
    else:
        write(none)
    return OK


def _took(run: RunSummaryOut) -> str:
    if run.started_at is None:
        return ""
    return duration((run.finished_at or datetime.now(UTC)) - run.started_at)


RUNS: Final = Table[RunSummaryOut](
    {
        "RUN": lambda run: run.id[:13],  # the milliseconds: what distinguishes two runs
        "STATUS": lambda run: run.status,
        "AGE": lambda run: duration(datetime.now(UTC) - run.created_at),
        "TOOK": _took,
        "AGENT": lambda run: one_line(run.agent, 20),
        "TASK": lambda run: one_line(run.task, 200),
    },
    STYLES,
)
