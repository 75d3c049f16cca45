"""Steps of a script: its calls, their results, and its snapshots. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A call that a script makes.

    Attributes:
        tool: The tool's own name.
        arguments: JSON text.
    """

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of a script's call, as ``tools.calls.result.ToolResult`` has it."""

    status: str
    content: str


@dataclass(frozen=True, slots=True)
class Round:
    """Calls that a script made together, with their results in the same order.

    Attributes:
        snapshot: The script as it waits for these results, as text; empty: none was kept.
    """

    calls: tuple[ScriptCall, ...]
    results: tuple[CallResult, ...]
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class PausedScript:
    """A script that waits for the results of its calls.

    Attributes:
        snapshot: As in ``Round``.
        printed: Text printed since the calls before.
        duration_ms: Time in the interpreter since then.
    """

    calls: tuple[ScriptCall, ...]
    snapshot: str = field(repr=False)
    printed: str = ""
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class EndedScript:
    """A script's end.

    Attributes:
        status: ``invalid``: it could not start, because it is not valid; ``error``: it raised.
        text: Value of its last expression, or the error with its line.
        printed: Text printed since its last calls.
        duration_ms: Time in the interpreter since then.
    """

    status: Literal["ok", "invalid", "error"]
    text: str
    printed: str = ""
    duration_ms: int = 0
