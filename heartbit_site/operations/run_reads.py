"""Reads of runs: list, get, and wait for a result. Imports nothing that changes runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import Field

from agents.choices import TERMINAL
from agents.querysets import find_run, find_run_status
from agents.reads.outcome import read_outcome
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.contract.model import Cursor, Limit, Moment, Name, Word
from heartbit_site.contract.operation import Answered, PendingAnswer
from heartbit_site.contract.runs import (
    MAX_WAIT_SECONDS,
    RunPageOut,
    RunResultOut,
    RunViewOut,
    Sort,
    Status,
)
from heartbit_site.operations.run_search import RunFilter, sorted_page
from heartbit_site.operations.run_views import costs_of, seen, summary

T = TypeVar("T")

Wait = Annotated[
    float,
    Field(ge=0, le=MAX_WAIT_SECONDS, description="Maximum number of seconds to wait for its end."),
]


_SORT = (
    "The order; a minus: the highest first. Sorted by duration, cost or tokens are the newest "
    "10,000 runs that match; of words that many runs have, those among the newest 1,000 or 10,000."
)
#: What a list is narrowed by.
Text = Annotated[
    Word | None,
    Field(
        description="Words of the agent's name, task, answer or error, the last of which may be "
        "unfinished; or the beginning of the id."
    ),
]
Since = Annotated[Moment | None, Field(description="List only runs accepted then or later.")]
Until = Annotated[Moment | None, Field(description="List only runs accepted before.")]


def list_runs(
    access: Access,
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    agent: Name | None = None,
    status: Status | None = None,
    text: Text = None,
    since: Since = None,
    until: Until = None,
    children: Annotated[bool, Field(description="List runs of sub-agents as well.")] = False,
    mine: Annotated[bool, Field(description="List only runs that the caller started.")] = False,
    held: Annotated[
        bool, Field(description="List only live runs that are held since a restore.")
    ] = False,
    sort: Annotated[Sort, Field(description=_SORT)] = "-started",
) -> RunPageOut:
    """Return runs, the newest first; those of sub-agents on request.

    A row has the beginning of its task and no answer: `GET /runs/{id}` returns both whole.
    """
    wanted = RunFilter(agent, status, text, since, until, children=children, mine=mine, held=held)
    found, following = sorted_page(access, wanted, sort, cursor, limit)
    costs = costs_of(found)
    return RunPageOut(runs=[summary(run, costs) for run in found], next_cursor=following)


def show_run(access: Access, run_id: Word) -> RunViewOut:
    """Return a run with its sub-agents and its result, by its id or the beginning of it."""
    return seen(find_run(access, run_id))


def wait_for_result(
    access: Access, run_id: Word, *, wait: Wait = 0
) -> RunResultOut | Answered[RunResultOut] | PendingAnswer[RunResultOut]:
    """Return the result of a run; 202 without a result until the run has ended."""
    pk, status = find_run_status(access, run_id)
    if status in TERMINAL:
        return _result_of(pk)
    if wait:
        return PendingAnswer(lambda: read_at_end(pk, wait, lambda: _answered(_result_of(pk))))
    return _answered(RunResultOut(id=str(pk), status=status, result=None))


def _answered(view: RunResultOut) -> Answered[RunResultOut]:
    return Answered(202 if view.result is None else 200, view)


def _result_of(pk: UUID) -> RunResultOut:
    outcome = read_outcome(pk)
    return RunResultOut.of({}, pk=pk, status=outcome.status, result=outcome.result)


async def read_at_end(run_id: UUID, seconds: float, read: Callable[[], T]) -> T:
    """Wait until a run has ended or a timeout; return what ``read`` then returns.

    Raises:
        RunNotFoundError: The run was deleted while waiting.
    """
    # Slow to import, for the only operations that wait.
    from agents.live import valkey_ends  # noqa: PLC0415

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await valkey_ends.shared().result(run_id)
    return await orm.read_in_thread(read)
