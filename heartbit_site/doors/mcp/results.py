"""Results of calls, and the end of a run that a client wants."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from mcp_types import CallToolResult, TextContent

from agents.actions.runs import cancel_run
from agents.reads.outcome import Outcome
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.doors.runs import LONGEST_SECONDS, content_of

RUN: Final = "heartbit/run"  # member of ``_meta``: the run's id


def result_of(run_id: UUID, outcome: Outcome) -> CallToolResult:
    """Return the result of a call from what became of its run."""
    result, structured = outcome.result, None
    if result is None:
        text = f"The run {run_id} takes longer than {LONGEST_SECONDS} s: it goes on."
    elif outcome.status != "succeeded":
        text = result.error or f"The run was {outcome.status}."
    else:
        text = content_of(result)
        structured = result.structured if isinstance(result.structured, dict) else None
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=structured,
        is_error=outcome.status != "succeeded",
        _meta={RUN: str(run_id)},
    )


def refused(sentence: str) -> CallToolResult:
    """Return the result of a call that has failed."""
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


def cancel(access: Access, run_id: UUID) -> None:
    """Cancel a run, whose end takes up to a second; an ended one is unchanged."""
    by = actor_of(access)
    cancel_run(access.workspace, run_id, reason=f"cancelled by {by.name}", by=by)
