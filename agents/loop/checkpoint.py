"""State of a run as JSON, so that a long journal need not be folded from its beginning. Pure.

The journal stays the source of truth: a checkpoint of another format is ignored.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import TypeAdapter

from agents.loop.state import RunState

_ADAPTER = TypeAdapter(RunState)


def format_of(adapter: TypeAdapter[Any]) -> int:
    """Return a number that changes whenever the schema of what is stored changes."""
    schema = json.dumps(_undocumented(adapter.json_schema()), sort_keys=True)
    return int(hashlib.sha256(schema.encode()).hexdigest()[:7], 16)


def _undocumented(schema: Any) -> Any:
    """Return a schema without the docstrings of its classes: their words change no state."""
    if isinstance(schema, list):
        return [_undocumented(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _undocumented(value)
        for name, value in schema.items()
        if not (name == "description" and isinstance(value, str))
    }


FORMAT = format_of(_ADAPTER)


def encode(state: RunState) -> dict[str, Any]:
    """Return the stored form of a state."""
    task = next((n for n, each in enumerate(state.conversation) if each is state.task), None)
    dumped = _ADAPTER.dump_python(state, mode="json")
    dumped["streamed"] = ""  # text of an unfinished model call, which the journal lacks
    return {"state": dumped, "task": task}


def decode(stored: dict[str, Any]) -> RunState:
    """Return the state of a stored checkpoint of this ``FORMAT``.

    Raises:
        pydantic.ValidationError: The data is not such a checkpoint.
    """
    state = _ADAPTER.validate_python(stored["state"])
    if stored["task"] is not None:  # the task is found by identity, not equality
        task = state.conversation[stored["task"]]
        state.task = task if isinstance(task, type(state.task)) else state.task
    return state
