"""Start a run that consists of one tool call, without a model."""

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
    """Start a run that calls a tool with an agent's bindings, approvals and limits.

    The worker validates the call when it runs. See ``start_run`` for the other arguments.

    Returns:
        The run's id.

    Raises:
        AgentNotFoundError: No published agent has that name.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
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
    """Return the task text that lists show for such a run."""
    return f"{tool} {arguments}"
