"""State of a run as JSON, so that a long journal need not be folded from its beginning. Pure.

The journal stays the source of truth: a checkpoint of another format is ignored.
"""

from __future__ import annotations

import functools
import hashlib
import json
from typing import Any

from pydantic import TypeAdapter

from agents.definitions.kinds import KINDS
from agents.loop.state import RunState, state_of


@functools.cache
def _adapter(kind: str) -> TypeAdapter[RunState]:
    return TypeAdapter(state_of(kind))


@functools.cache
def current_format() -> int:
    """Return the format of the checkpoints that this process writes and reads."""
    return format_of(*map(_adapter, KINDS))


def format_of(*adapters: TypeAdapter[Any]) -> int:
    """Return a number that changes whenever the schema of what is stored changes."""
    schemas = [_undocumented(adapter.json_schema()) for adapter in adapters]
    schema = json.dumps(schemas, sort_keys=True)
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


def encode(kind: str, state: RunState) -> dict[str, Any]:
    """Return the stored form of the state of a run of this kind."""
    stored: dict[str, Any] = _adapter(kind).dump_python(state, mode="json")
    return stored


def decode(kind: str, stored: dict[str, Any]) -> RunState:
    """Return the state of a stored checkpoint of the current format.

    Raises:
        pydantic.ValidationError: The data is not such a checkpoint.
    """
    return _adapter(kind).validate_python(stored)
