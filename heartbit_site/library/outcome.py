"""Read the outcome of a run and its sub-agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, cast
from uuid import UUID

from pydantic import BaseModel, ValidationError

from agents.choices import TERMINAL, RunStatus
from agents.live.ends import missing
from agents.live.updates import readable
from agents.reads.outcome import OUTCOME, Outcome, outcome_in
from heartbit_site.base.query import fetch_one
from heartbit_site.library.result import AnswerError, Event, Result, Status, Usage

# All in one statement: a second round trip would take longer than the reading.
_RESULT: Final = f"""
    SELECT (SELECT json_object_agg(b.key, b.value ORDER BY b.key)::text
            FROM agents_blackboardentry b WHERE b.root_id = %s), o.*
    FROM ({OUTCOME}) o
"""  # noqa: S608  constants
_WITH_EVENTS: Final = f"""
    SELECT (SELECT json_agg(
                json_build_array(r.id, r.agent, r.status, e.seq, e.type, e.payload, e.at)
                ORDER BY r.created_at, r.id, e.seq)::text
            FROM agents_run r JOIN agents_runevent e ON e.run_id = r.id
            WHERE r.root_id = %s), o.*
    FROM ({_RESULT}) o
"""  # noqa: S608  constants


def read(run_id: UUID) -> Result:
    """Return the result of an ended run, without its events.

    Raises:
        RunNotFoundError: It was deleted.
        ValueError: The run has not ended.
    """
    return _result(run_id, _fetched(_RESULT, run_id))


def read_with_events(run_id: UUID) -> Result | None:
    """Return the result of an ended run; None if a sub-agent's run has not ended.

    Raises:
        RunNotFoundError: It was deleted.
    """
    found, *row = _fetched(_WITH_EVENTS, run_id)
    journals = json.loads(found)
    if any(status not in TERMINAL for _, _, status, *_ in journals):
        return None
    return _result(run_id, row, events=_events(journals))


def _fetched(query: str, run_id: UUID) -> Sequence[Any]:
    found: Sequence[Any] | None = fetch_one(query, [run_id] * query.count("%s"), prepare=True)
    if found is None:
        raise missing(run_id)
    return found


def _result(run_id: UUID, row: Sequence[Any], *, events: tuple[Event, ...] = ()) -> Result:
    blackboard, *ended = row
    outcome = outcome_in([ended], run_id)
    result, metrics = outcome.result, outcome.metrics
    if result is None:
        raise ValueError(f"run {run_id} is {outcome.status}")
    return Result(
        text=result.text,
        structured=result.structured,
        status=cast("Status", outcome.status),
        error=_reason(run_id, outcome),
        run_id=run_id,
        usage=Usage(metrics.input_tokens, metrics.output_tokens),
        cost=None if metrics.cost_usd is None else Decimal(metrics.cost_usd),
        blackboard=json.loads(blackboard or "{}"),
        events=events,
        outcome=result,
    )


def _events(journals: list[Any]) -> tuple[Event, ...]:
    """Return all events of a tree by time; the order within each journal is kept."""
    found: list[tuple[datetime, Event]] = []
    latest: dict[UUID, datetime] = {}
    for run, agent, _, seq, kind, payload, moment in journals:
        fact, run_id, at = readable(kind, payload), UUID(run), datetime.fromisoformat(moment)
        latest[run_id] = max(at, latest.get(run_id, at))
        event = Event(run_id=run_id, agent=agent, seq=seq, type=fact.type, data=fact, at=at)
        found.append((latest[run_id], event))
    return tuple(event for _, event in sorted(found, key=itemgetter(0)))


def typed(structured: Any, answer_type: type[BaseModel] | None) -> Any:
    """Return a structured answer as an instance of the program's class, if there is one.

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
            f"The answer matches the schema of {answer_type.__name__}, but not the class: "
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
