"""Turns of runs: request, answer and calls of the model; and forks from a turn."""

from __future__ import annotations

import json
from typing import Annotated

from django.db import transaction
from pydantic import Field

from agents.actions import fork_run as forking
from agents.actions.admit import Admitted
from agents.choices import Placement
from agents.querysets import find_past_run, find_run
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.operation import Answered
from heartbit_site.contract.runs import RunDetailOut
from heartbit_site.contract.turns import ForkIn, TurnOut, TurnsOut
from heartbit_site.operations import paging, turn_views
from heartbit_site.operations.run_views import detail

Number = Annotated[int, Field(ge=1, le=100_000, description="From 1.")]


def list_turns(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> TurnsOut:
    """Return summaries of the answered turns of a run, the oldest first.

    Long texts are cut: `GET /runs/{run_id}/turns/{number}` returns the whole turn.
    """
    run = find_run(access, run_id)
    answered = {turn.number: turn for turn in turn_views.list_turns(run, access)}
    found, following = paging.page_of(answered, paging.number, cursor, limit)
    return TurnsOut(run_id=str(run.pk), turns=found, next_cursor=following)


def show_turn(access: Access, run_id: Word, number: Number) -> TurnOut:
    """Return one turn: the model's request, its answer, and the results of its calls."""
    return turn_views.describe_turn(find_past_run(access, run_id), number, access)


@transaction.atomic
def fork_run(
    access: Access, run_id: Word, body: ForkIn, idempotency_key: Word | None = None
) -> RunDetailOut | Answered[RunDetailOut]:
    """Fork a run: start a new run with the source's journal up to a turn, and edits.

    Nothing before that turn is repeated. With `arguments` the calls of that turn run again, with
    their effects. 200 instead of 201 if the idempotency key was used before.
    """
    key = idempotency_key or None
    made = fork(access, run_id, body, key)
    run = detail(find_run(access, made.run_id))
    return run if made.is_new else Answered(200, run)


def fork(
    access: Access,
    run_id: str,
    body: ForkIn,
    key: str | None = None,
    *,
    home: Placement = Placement.FLEET,
) -> Admitted:
    """Fork a run.

    Args:
        access: The caller.
        run_id: The run's id, or the beginning of it.
        body: The turn, and the edits.
        key: The idempotency key.
        home: Who may execute the new run.
    """
    edits = body.model_dump(exclude={"turn", "call_id", "arguments"})
    edits["call"] = body.call_id
    if body.arguments is not None:
        edits["arguments"] = json.dumps(body.arguments)
    return forking.fork_run(
        find_past_run(access, run_id),
        body.turn,
        edits=forking.Edits(**edits),
        by=starter_of(access),
        home=home,
        idempotency_key=key,
    )
