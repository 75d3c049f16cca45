"""What a fork is to differ in, from JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents.actions.fork_run import Edits

if TYPE_CHECKING:
    from collections.abc import Mapping


def edits(wanted: Mapping[str, Any]) -> Edits:
    """What a fork is to differ in, from the body of a request."""
    arguments = wanted.get("arguments")
    return Edits(
        message=wanted.get("message", ""),
        task=wanted.get("task", ""),
        call=wanted.get("call", ""),
        arguments=None if arguments is None else json.dumps(arguments),
        result=wanted.get("result"),
        version=wanted.get("version"),
    )
