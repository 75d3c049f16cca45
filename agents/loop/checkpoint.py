"""A run's state as JSON, so that a long journal need not be folded from its beginning. Pure.

The journal stays the truth: a checkpoint of another form is ignored.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import TypeAdapter

from agents.loop.state import RunState

_ADAPTER = TypeAdapter(RunState)


def _format() -> int:
    """A number that changes with the form of the state, whoever changed it."""
    schema = json.dumps(_ADAPTER.json_schema(), sort_keys=True)
    return int(hashlib.sha256(schema.encode()).hexdigest()[:7], 16)


FORMAT = _format()


def encode(state: RunState) -> dict[str, Any]:
    """The state as it is stored."""
    task = next((n for n, each in enumerate(state.conversation) if each is state.task), None)
    dumped = _ADAPTER.dump_python(state, mode="json")
    dumped["streamed"] = ""  # of a model call that is void now; the journal does not have it
    return {"state": dumped, "task": task}


def decode(stored: dict[str, Any]) -> RunState:
    """The state of a stored checkpoint of this ``FORMAT``.

    Raises:
        pydantic.ValidationError: It is not one.
    """
    state = _ADAPTER.validate_python(stored["state"])
    if stored["task"] is not None:  # the same object, not an equal one: that is how it is found
        task = state.conversation[stored["task"]]
        state.task = task if isinstance(task, type(state.task)) else state.task
    return state
