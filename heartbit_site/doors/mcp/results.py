"""Results of calls, and the end of a run that a client wants."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mcp_types import CallToolResult, TextContent

from agents.actions.runs import cancel_run
from agents.reads.outcome import Outcome
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.doors.runs import LONGEST_SECONDS, content_of


def result_of(run_id: UUID, outcome: Outcome) -> CallToolResult:
    """Return the result of a call from what became of its run."""
    result = outcome.result
    if result is None:
        return refused(f"The run {run_id} takes longer than {LONGEST_SECONDS} s: it goes on.")
    if outcome.status != "succeeded":
        return refused(result.error or f"The run {run_id} was {outcome.status}.")
    structured = result.data if isinstance(result.data, dict) else None
    content: list[Any] = [TextContent(type="text", text=content_of(result))]
    return CallToolResult(content=content, structured_content=structured)


def refused(sentence: str) -> CallToolResult:
    """Return the result of a call that has failed."""
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


def cancel(access: Access, run_id: UUID) -> None:
    """Cancel a run, whose end takes up to a second; an ended one is unchanged."""
    by = actor_of(access)
    cancel_run(access.workspace, run_id, reason=f"cancelled by {by.name}", by=by)
