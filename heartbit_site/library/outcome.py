"""Read the outcome of a run and its sub-agents."""

from __future__ import annotations

import json
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel, ValidationError

from agents.choices import TERMINAL, RunStatus
from agents.live.readable import readable
from agents.reads.outcome import OUTCOME, outcome_in
from heartbit_site.base.query import fetch_together
from heartbit_site.library.result import AnswerError, Event, Result, Usage

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from agents.reads.outcome import Outcome
    from heartbit_site.library.result import Status

_BLACKBOARD: Final = """
    SELECT key, value::text FROM agents_blackboardentry WHERE root_id = %s ORDER BY key
"""
_JOURNALS: Final = """
    SELECT r.id, r.agent, r.status, e.seq, e.type, e.payload::text, e.at
    FROM agents_run r JOIN agents_runevent e ON e.run_id = r.id
    WHERE r.root_id = %s ORDER BY r.created_at, r.id, e.seq
"""


def read(run_id: UUID) -> Result:
    """Return the result of an ended run, without its events.

    Raises:
        ValueError: The run has not ended.
    """
    return _result(run_id, *fetch_together((OUTCOME, [run_id]), (_BLACKBOARD, [run_id])))


def read_with_events(run_id: UUID) -> Result | None:
    """Return the result of an ended run; None if a sub-agent's run has not ended."""
    journals, *ended = fetch_together(
        (_JOURNALS, [run_id]), (OUTCOME, [run_id]), (_BLACKBOARD, [run_id])
    )
    if any(status not in TERMINAL for _, _, status, *_ in journals):
        return None
    return _result(run_id, *ended, events=_events(journals))


def _result(
    run_id: UUID, found: list[Any], entries: list[Any], *, events: tuple[Event, ...] = ()
) -> Result:
    outcome = outcome_in(found, run_id)
    result, metrics = outcome.result, outcome.metrics
    if result is None:
        raise ValueError(f"run {run_id} is {outcome.status}")
    return Result(
        text=result.text,
        structured=result.data,
        status=cast("Status", outcome.status),
        error=_reason(run_id, outcome),
        run_id=run_id,
        usage=Usage(metrics.input_tokens, metrics.output_tokens),
        cost=None if metrics.cost_usd is None else Decimal(metrics.cost_usd),
        blackboard={key: json.loads(value) for key, value in entries},
        events=events,
    )


def _events(journals: list[Any]) -> tuple[Event, ...]:
    """Return all events of a tree, in the order of their times; each journal keeps its own."""
    found: list[tuple[datetime, Event]] = []
    latest: dict[UUID, datetime] = {}
    for run_id, agent, _, seq, kind, payload, at in journals:
        fact = readable(kind, json.loads(payload))
        latest[run_id] = max(at, latest.get(run_id, at))
        event = Event(run_id=run_id, agent=agent, seq=seq, type=fact.type, data=fact, at=at)
        found.append((latest[run_id], event))
    return tuple(event for _, event in sorted(found, key=itemgetter(0)))


def typed(structured: Any, answer_type: type[BaseModel] | None) -> Any:
    """Return a structured answer as an instance of the program's class, if it gave one.

    Raises:
        AnswerError: The answer does not validate as ``answer_type``.
    """
    if answer_type is None or structured is None:
        return structured
    try:
        return answer_type.model_validate(structured)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise AnswerError(
            f"The answer fits the schema of {answer_type.__name__}, but not the class: "
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}."
        ) from error


def _reason(run_id: UUID, outcome: Outcome) -> str:
    if outcome.status == RunStatus.SUCCEEDED:
        return ""
    if outcome.status == RunStatus.CANCELLED:
        return "The run was cancelled."
    message = outcome.error.get("message") if isinstance(outcome.error, dict) else None
    return str(
        message or f"The run is {outcome.status}; `heartbit status {run_id}` shows its journal."
    )
