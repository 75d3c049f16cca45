"""Audit entries about runs."""

from __future__ import annotations

from typing import Any

from agents.models import Run, ToolCall
from agents.querysets import shown_tool
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor


def record_of_run(by: Actor, verb: str, run: Run, /, **details: Any) -> None:
    """Write an audit entry in the caller's transaction.

    The audit outlives the run. Texts sent to a run, and changes of a fork, therefore stay in its
    journal, which is deleted with the run, and are not copied to the audit.

    Args:
        by: Actor.
        verb: Verb of the action: ``cancel`` becomes ``run.cancel``.
        run: Target of the action.
        details: JSON without texts written to an agent.
    """
    audit.record(
        by,
        f"run.{verb}",
        workspace=run.workspace,
        target=f"run:{run.pk}",
        label=run.agent,
        details=details,
    )


def record_of_review(by: Actor, verb: str, run: Run, /) -> None:
    """Write an audit entry about the review of a run's result.

    Args:
        by: Actor.
        verb: Verb of the action: ``expire`` becomes ``review.expire``.
        run: The run whose result waits.
    """
    audit.record(
        by,
        f"review.{verb}",
        workspace=run.workspace,
        target=f"run:{run.pk}",
        label=run.agent,
    )


def record_of_call(by: Actor, action: str, call: ToolCall, /, **details: Any) -> None:
    """Write an audit entry about a tool call, under its run and the name of the tool.

    Args:
        by: Actor.
        action: A verb in dotted form, e.g. ``approval.approve``.
        call: Target of the action.
        details: JSON, besides the call's id.
    """
    audit.record(
        by,
        action,
        workspace=call.run.workspace,
        target=f"run:{call.run_id}",
        label=shown_tool(call),
        details={"call": call.call_id, **details},
    )
