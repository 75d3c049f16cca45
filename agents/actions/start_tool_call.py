"""Accept a run that is one call of a tool: no model is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.actions.start_run import start_run
from agents.choices import Placement
from agents.llm.messages import ToolCall
from heartbit_site.base.audit import NOBODY, Actor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from agents.runs.idempotency_keys import InternalKey
    from heartbit_site.base.models import Workspace


def start_tool_call(
    workspace: Workspace,
    tool: str,
    arguments: Mapping[str, object],
    *,
    agent: str,
    home: Placement = Placement.FLEET,
    idempotency_key: str | InternalKey | None = None,
    approve: bool = False,
    by: Actor = NOBODY,
    hops: int = 0,
) -> UUID:
    """Accept a run that calls a tool as an agent has it: with its bindings, approvals and limits.

    The call is validated when it is made, by a worker. See ``start_run`` for the other arguments.

    Returns:
        The run's id.

    Raises:
        AgentNotFoundError: No published agent has that name.
        HaltedError: The workspace, or everything, is stopped.
        QuotaExceededError: The workspace, or the agent, has been given as many runs as it may.
    """
    text = json.dumps(arguments, ensure_ascii=False)
    return start_run(
        workspace,
        describe_call(tool, text),
        agent=agent,
        home=home,
        idempotency_key=idempotency_key,
        approve=approve,
        by=by,
        hops=hops,
        call=ToolCall("call_0", tool, text),
    )


def describe_call(tool: str, arguments: str) -> str:
    """Return the task of such a run, which people read in lists; the call itself is data."""
    return f"{tool} {arguments}"
