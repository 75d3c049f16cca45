"""Form of the tools that serve nodes: each takes nothing but its context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from heartbit_site.base.suspensions import WaitOutcome
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec

#: Begin of the names of these tools, which no other tool's name has.
NODE: Final = "node:"
#: Time after which an unfinished child or an unanswered question ends, if its node sets none.
LONGEST_SECONDS: Final = 366 * 86_400.0


def node_tool(
    name: str,
    function: Callable[[ToolContext], Any],
    *,
    effect: Effect = Effect.PURE,
    resume: Callable[[tuple[WaitOutcome, ...]], Any] | None = None,
    timeout_seconds: float = LONGEST_SECONDS,
) -> ToolSpec:
    """Return a tool that serves nodes.

    Args:
        name: Its name.
        function: Returns fields of ``NodeFinished``, or a suspension; its one parameter is named
            ``context``.
        effect: Consequence of repeating a call.
        resume: Builds the result of a suspended call from the outcomes of its waits.
        timeout_seconds: Time limit of one execution.
    """
    return ToolSpec(
        name=name,
        description="",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
        function=function,
        effect=effect,
        timeout_seconds=timeout_seconds,
        resume=resume,
        context_parameter="context",
        labels=frozenset(),
    )
