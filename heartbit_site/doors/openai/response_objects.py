"""Responses of the Responses API as JSON."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from agents.models import Run
from agents.output.results import ResultOut
from agents.querysets import readable
from agents.reads.outcome import Outcome, read_outcome
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError
from heartbit_site.doors.client_tools import ClientCall, calls_of
from heartbit_site.doors.openai.completions import usage_of
from heartbit_site.doors.runs import content_of, created_at

_PREFIX: Final = "resp_"
_STATUSES: Final = {
    "queued": "queued",
    "running": "in_progress",
    "waiting": "in_progress",
    "succeeded": "completed",
    "cancelled": "cancelled",
}
#: Settings that an agent's definition has, not a request; clients expect them all the same.
_SETTINGS: Final[dict[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "truncation": "disabled",
    "temperature": 1.0,
    "top_p": 1.0,
    "top_logprobs": 0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "reasoning": None,
    "service_tier": "default",
    "safety_identifier": None,
    "prompt_cache_key": None,
}


class ResponseNotFoundError(NotFoundError):
    """There is no response with that id in the workspace."""


def response_id(run_id: UUID) -> str:
    """Return the id of a run's response."""
    return f"{_PREFIX}{run_id.hex}"


def find_response(access: Access, text: str) -> Run:
    """Return the run of a response.

    Raises:
        ResponseNotFoundError: The workspace has none with this id.
    """
    try:
        run_id = UUID(text.removeprefix(_PREFIX))
    except ValueError:
        run_id = None
    rows = Run.objects.filter(readable(access), workspace=access.workspace)
    found = None if run_id is None else rows.filter(pk=run_id).first()
    if found is None:
        raise ResponseNotFoundError(f"There is no response {text[:80]!r}.")
    return found


def read_response(run_id: UUID, model: str, kept: dict[str, Any]) -> dict[str, Any]:
    """Return the response of a run as it is now. Blocks."""
    found = response_of(run_id, model, kept, read_outcome(run_id))
    calls = calls_of(Run(pk=run_id))
    if not calls:
        return found
    return {**found, "status": "completed", "output": [*map(call_item, calls)]}


def call_item(call: ClientCall) -> dict[str, Any]:
    """Return a call that the client is to make as an item of an output."""
    return {
        "type": "function_call",
        "id": f"fc_{call.id.removeprefix('call_')}",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def response_of(
    run_id: UUID, model: str, kept: dict[str, Any], outcome: Outcome | None
) -> dict[str, Any]:
    """Return a response.

    Args:
        run_id: Its run.
        model: Name of the agent.
        kept: What its request has said (``kept_with``).
        outcome: Outcome of the run; None: it has only been accepted.
    """
    result = None if outcome is None else outcome.result
    status = _status(outcome)
    form = kept.get("format") or {"type": "text"}
    created = created_at(run_id)
    took = 0 if result is None else result.metrics.duration_ms // 1_000
    return {
        **_SETTINGS,
        "id": response_id(run_id),
        "object": "response",
        "created_at": created,
        "completed_at": created + took if status == "completed" else None,
        "status": status,
        "background": kept.get("background", False),
        "store": kept.get("store", True),
        "metadata": kept.get("metadata", {}),
        "previous_response_id": kept.get("previous_response_id"),
        "model": model,
        "text": {"format": form, "verbosity": "medium"},
        "error": _error(status, outcome),
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": [message(run_id, content_of(result))] if result and _has_text(result) else [],
        "usage": None if result is None else _usage(result),
    }


def message(run_id: UUID, text: str, *, status: str = "completed") -> dict[str, Any]:
    """Return the message of a response as an item of its output."""
    content = [] if status == "in_progress" else [text_part(text)]
    return {
        "type": "message",
        "id": message_id(run_id),
        "role": "assistant",
        "status": status,
        "content": content,
    }


def message_id(run_id: UUID) -> str:
    """Return the id of the message of a run's response."""
    return f"msg_{run_id.hex}"


def text_part(text: str) -> dict[str, Any]:
    """Return text as a part of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _has_text(result: ResultOut) -> bool:
    return bool(result.text) or result.structured is not None


def _status(outcome: Outcome | None) -> str:
    if outcome is None:
        return "in_progress"
    if outcome.result is not None and outcome.result.finish_reason == "length":
        return "incomplete"
    return _STATUSES.get(outcome.status, "failed")


def _error(status: str, outcome: Outcome | None) -> dict[str, Any] | None:
    if status != "failed" or outcome is None or outcome.result is None:
        return None
    return {"code": "server_error", "message": str(outcome.result.error)}


def _usage(result: ResultOut) -> dict[str, Any]:
    used = usage_of(result)
    return {
        "input_tokens": used["prompt_tokens"],
        "output_tokens": used["completion_tokens"],
        "total_tokens": used["total_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
