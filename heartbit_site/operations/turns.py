"""Turns of runs: what the model was sent, what it answered, what its calls gave."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents import turns
from agents.querysets import find_past_run, find_run
from heartbit_site.base.access import Access
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.turns import TurnOut, TurnRowOut, TurnsOut
from heartbit_site.operations import paging

Number = Annotated[int, Field(ge=1, le=100_000, description="From 1.")]


def list_turns(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> TurnsOut:
    """Return the answered turns of a run, in short, the oldest first.

    A row has the beginning of its text: `GET /runs/{run_id}/turns/{number}` has all of the turn.
    """
    run = find_run(access.workspace, run_id)
    answered = {turn["turn"]: turn for turn in turns.list_turns(run)}
    found, following = paging.page_of(answered, paging.number, cursor, limit)
    rows = [TurnRowOut.of(turn) for turn in found]
    return TurnsOut(run=str(run.pk), turns=rows, next=following)


def show_turn(access: Access, run_id: Word, number: Number) -> TurnOut:
    """Return one turn: what the model was sent, what it answered, what its calls gave."""
    return TurnOut.of(turns.describe_turn(find_past_run(access.workspace, run_id), number))
