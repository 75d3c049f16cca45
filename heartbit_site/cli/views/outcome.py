"""Runs as output: a table, JSON, and a run's end with its exit code. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from heartbit_site.base.amounts import duration
from heartbit_site.base.queues import without_worker
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.terminal import errors
from heartbit_site.cli.terminal.output import as_json, note, write, write_json
from heartbit_site.cli.terminal.table import Table
from heartbit_site.cli.views.render import STYLES
from heartbit_site.contract.runs import RunDetailOut, RunOut, RunSummaryOut, RunTreeOut

LIVE: Final = frozenset({"queued", "running", "waiting"})


def conclude(run: RunDetailOut, *, watched: bool = False) -> int:
    """Print how a run ended and return the exit code.

    Args:
        run: A run that has ended.
        watched: Mark the object as the last line of a stream of JSON.
    """
    if as_json():
        mark = {"type": "result"} if watched else {}
        result = None if run.result is None else run.result.model_dump(mode="json")
        write_json({**mark, **run_tree(run), "result": result})
        return exit_code(run)
    if run.status != "succeeded":
        errors.say(reason(run))
        return exit_code(run)
    write(answer(run))
    if run.result is not None and run.result.error:
        note(run.result.error)
    if run.structured is None:
        if not run.output:
            note("The model gave an empty answer.")
        elif run.result is not None and run.result.finish_reason == "length":
            note("The answer was cut at max_tokens of its agent.")
    return exit_code(run)


def answer(run: RunOut) -> str:
    """Return what a run that succeeded says: JSON if its agent has a response schema, else text."""
    return readable_json(run.structured) if run.structured is not None else run.output or ""


def exit_code(run: RunSummaryOut) -> int:
    """Return the exit code that a run's end means."""
    match run.status:
        case "succeeded":
            result = run.result if isinstance(run, RunDetailOut) else None
            return errors.FAILED if result and result.status == "failure" else errors.OK
        case "cancelled":
            return errors.CANCELLED
        case _:
            return errors.FAILED


def reason(run: RunSummaryOut) -> str:
    """Return why a run ended without an answer, in one sentence."""
    if run.status == "cancelled":
        return "The run was cancelled."
    message = (run.error or {}).get("message")
    if message:
        return str(message)
    return f"The run {past(run)} without a reason; `heartbit status {run.id}` shows its journal."


def past(run: RunSummaryOut) -> str:
    """Return what became of a run, as words that follow its name."""
    return f"was {run.status}" if run.status in ("cancelled", "quarantined") else run.status


def warn_without_worker(run: RunDetailOut) -> None:
    """Say so when a run waits for workers that are not there."""
    if run.status in LIVE and not run.has_worker:
        note(without_worker(run.queue))


#: What is printed of a run; an answer of the REST API says more.
FIELDS: Final = {
    *("id", "root_id", "parent_id", "kind", "agent", "placement", "model", "status"),
    *("task", "output"),
    *("structured", "error", "usage", "created_at", "started_at", "finished_at"),
}


def run_tree(run: RunTreeOut) -> dict[str, Any]:
    """Return a run with its sub-agents."""
    children = [run_tree(child) for child in run.children]
    return {**run.model_dump(mode="json", include=FIELDS), "children": children}


def run_summary(run: RunSummaryOut) -> dict[str, Any]:
    """Return a run of a list, without its answer."""
    return run.model_dump(mode="json", include={*FIELDS, "task_characters"})


NO_RUNS: Final = 'No runs yet: heartbit "<task>" starts one.'


def print_runs(runs: Sequence[RunSummaryOut], *, none: str = NO_RUNS) -> int:
    """Print a line for each run, or ``none`` if there are no runs; return the exit code."""
    if as_json():
        write_json({"runs": [run_summary(run) for run in runs]})
    elif runs:
        RUNS.print(runs)
    else:
        write(none)
    return errors.OK


def _took(run: RunSummaryOut) -> str:
    if run.started_at is None:
        return ""
    return duration((run.finished_at or datetime.now(UTC)) - run.started_at)


RUNS: Final = Table.of(
    RunSummaryOut,
    # Of an id its milliseconds, which distinguish two runs.
    "RUN=id:.13 STATUS AGE TOOK AGENT=agent:20 TASK=task:200",
    styles=STYLES,
    AGE=lambda run: duration(datetime.now(UTC) - run.created_at),
    TOOK=_took,
)
