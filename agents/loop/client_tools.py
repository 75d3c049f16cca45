"""Tools that the client of a run has: its model calls them, and the client returns the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agents.journal.waits import EXTERNAL
from heartbit_site.base.suspensions import Suspension, WaitOutcome
from heartbit_site.base.toolspec import Effect, Label, ToolContext, ToolSpec

#: Time after which a call that the client does not answer ends.
LONGEST_SECONDS: Final = 7 * 86_400.0


def client_tools(given: Iterable[Mapping[str, Any]]) -> dict[str, ToolSpec]:
    """Return the tools of a client by name; whatever they do, they do at the client.

    Args:
        given: Each {name, description, parameters}.
    """
    return {one["name"]: _tool(one) for one in given}


def _tool(given: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=given["name"],
        description=given["description"],
        parameters=given["parameters"],
        function=_wait,
        effect=Effect.PURE,
        resume=_result,
        bind=lambda _: {},
        context_parameter="context",
        labels=frozenset({Label.UNTRUSTED, Label.OUTBOUND}),
    )


async def _wait(context: ToolContext) -> Suspension:
    """Wait for the client."""
    return Suspension((), LONGEST_SECONDS, EXTERNAL.name)


def _result(outcomes: tuple[WaitOutcome, ...]) -> str:
    """Return what the client has returned."""
    value = outcomes[0].value
    if value["status"] != "answered":
        return "The client has returned nothing in time."
    return str(value["result"])
