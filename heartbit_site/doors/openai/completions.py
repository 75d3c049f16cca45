"""Chat completions as JSON: whole, and in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from agents.output.results import ResultOut
from agents.output.text import as_text
from heartbit_site.doors.openai.client_tools import ClientCall


def completion_id(run_id: UUID) -> str:
    """Return the id of the completion that a run gives."""
    return f"chatcmpl-{run_id}"


def content_of(result: ResultOut) -> str:
    """Return what the assistant says: data as JSON, else the text."""
    return as_text(result.data) if result.data is not None else result.text


def usage_of(result: ResultOut) -> dict[str, int]:
    """Return the tokens of a run and of those that it has started."""
    sent, got = result.metrics.input_tokens, result.metrics.output_tokens
    return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}


def finish_reason(result: ResultOut) -> str:
    """Return the reason for the end of the answer."""
    return "length" if result.finish_reason == "length" else "stop"


def tool_calls(calls: Sequence[ClientCall]) -> list[dict[str, Any]]:
    """Return calls that the client is to make."""
    return [
        {
            "index": number,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(calls)
    ]


def completion(
    run_id: UUID,
    model: str,
    created: int,
    result: ResultOut | None,
    calls: Sequence[ClientCall] = (),
    text: str = "",
) -> dict[str, Any]:
    """Return a whole completion.

    Args:
        run_id: The run.
        model: Name of the agent.
        created: Seconds of the Unix epoch.
        result: Result of the run; None: it waits for its client.
        calls: Calls that the client is to make.
        text: What the run has said before them.
    """
    content = (text or None) if result is None else content_of(result)
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = tool_calls(calls)
    reason = "tool_calls" if result is None else finish_reason(result)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    usage = {} if result is None else {"usage": usage_of(result)}
    return {
        **usage,
        "id": completion_id(run_id),
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
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
