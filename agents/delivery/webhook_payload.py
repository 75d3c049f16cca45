"""Webhook payload of a run's result."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.runs.webhook_events import MOST_CHARACTERS

if TYPE_CHECKING:
    from agents.models import Run

#: No event to subscribe to: it is sent to the endpoint that a target names.
RUN_DELIVERED = "run.delivered"


def data_of(run: Run) -> dict[str, Any]:
    """Return the fields of an ended run; the names are those of ``GET /runs/{id}``.

    Task and output are cut as in other messages; a structured answer that is too long is left out,
    because a cut one is not valid JSON.
    """
    output = run.output
    long = [len(run.task) > MOST_CHARACTERS, len(output or "") > MOST_CHARACTERS]
    structured = run.structured
    if structured is not None and len(json.dumps(structured, ensure_ascii=False)) > MOST_CHARACTERS:
        structured = None
        long.append(True)
    return {
        "run_id": str(run.pk),
        "conversation_id": str(run.conversation_id) if run.conversation_id else None,
        "kind": run.kind,
        "agent": run.agent,
        "model": run.model,
        "status": run.status,
        "task": run.task[:MOST_CHARACTERS],
        "output": None if output is None else output[:MOST_CHARACTERS],
        "structured": structured,
        "cut": any(long),
        "error": run.error,
        "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
    }


def _time(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at is not None else None
