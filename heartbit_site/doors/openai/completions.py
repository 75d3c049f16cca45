"""Chat completions as JSON: whole, and in chunks."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agents.output.results import ResultOut
from heartbit_site.doors.runs import content_of


def completion_id(run_id: UUID) -> str:
    """Return the id of the completion that a run gives."""
    return f"chatcmpl-{run_id}"


def usage_of(result: ResultOut) -> dict[str, int]:
    """Return the tokens of a run and of those that it has started."""
    sent, got = result.metrics.input_tokens, result.metrics.output_tokens
    return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}


def finish_reason(result: ResultOut) -> str:
    """Return the reason for the end of the answer."""
    return "length" if result.finish_reason == "length" else "stop"


def completion(run_id: UUID, model: str, created: int, result: ResultOut) -> dict[str, Any]:
    """Return a whole completion."""
    message = {"role": "assistant", "content": content_of(result), "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": finish_reason(result),
    }
    return {
        "id": completion_id(run_id),
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
        "usage": usage_of(result),
    }


def chunk(
    run_id: UUID, model: str, created: int, delta: dict[str, Any], reason: str | None = None
) -> dict[str, Any]:
    """Return a chunk of a completion with a delta of its message."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {
        "id": completion_id(run_id),
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [choice],
    }
