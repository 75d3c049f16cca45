"""The calls that wait for a person, here or at a server, as a terminal shows them.

No Django by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from heartbit_site.base.effect_text import UNCERTAIN_CALL
from heartbit_site.cli.kinds import APPROVAL, OUTCOME, QUESTION
from heartbit_site.cli.question import WaitingCall
from heartbit_site.contract.approvals import LIST_APPROVALS, LIST_UNCERTAIN_CALLS

if TYPE_CHECKING:
    from heartbit_site.cli.backend import Backend
    from heartbit_site.cli.kinds import Kind
    from heartbit_site.contract.approvals import ApprovalOut, PendingCallOut, UncertainCallOut


def waiting_calls(backend: Backend, kind: Kind, run: str | None = None) -> list[WaitingCall]:
    """Return what waits, the oldest first.

    Args:
        backend: Where.
        kind: ``OUTCOME``: the calls of unknown outcome; else the others.
        run: Only of this run and its sub-agents: its id, or how it begins.
    """
    if kind is OUTCOME:
        return [uncertain_call(view) for view in backend.every(LIST_UNCERTAIN_CALLS, run=run).calls]
    return [approval_call(view) for view in backend.every(LIST_APPROVALS, run=run).calls]


def approval_call(view: ApprovalOut) -> WaitingCall:
    """Return a call that waits for a decision or an answer, as a terminal shows it."""
    return WaitingCall(
        **_common(view),
        reason=view.reason,
        digest=view.digest,
        kind=APPROVAL if view.answer_schema is None else QUESTION,
        question=view.wait_key,
        form=view.answer_schema,
    )


def uncertain_call(view: UncertainCallOut) -> WaitingCall:
    """Return a call of unknown outcome as a terminal shows it."""
    return WaitingCall(
        **_common(view),
        reason=UNCERTAIN_CALL,
        digest="",
        kind=OUTCOME,
        question=view.question,
    )


def _common(view: PendingCallOut) -> dict[str, Any]:
    return {
        "run_id": UUID(view.run_id),
        "root_id": UUID(view.root_id),
        "call_id": view.call_id,
        "agent": view.agent,
        "tool": view.tool,
        "effect": view.effect,
        "arguments": view.arguments,
        "since": view.waiting_since,
    }
