"""Decisions of a program about calls of runs in its process."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agents.actions.decide_call import Always, decide_call
from agents.approvals.questions import answer_schema
from agents.choices import Verdict
from agents.errors import CallClosedError
from agents.journal.waits import APPROVAL
from agents.models import ToolCall, Wait
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.toolspec import Answer
from heartbit_site.library.approvals import Approval, Approve, Decision, Deny, Edit
from heartbit_site.library.shared_host import SharedHost

PROGRAM = Actor("the program", "inline")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalDecider:
    """``Decider`` on the host of this process."""

    shared: SharedHost

    async def refresh(self, approval: Approval) -> Approval | None:
        """See ``Decider.refresh``."""
        return await self.shared.run_on_host(orm.run_in_thread(partial(_refresh, approval)))

    async def decide(self, approval: Approval, decision: Decision) -> None:
        """See ``Decider.decide``."""
        await self.shared.run_on_host(orm.run_in_thread(partial(_decide, approval, decision)))


def _refresh(approval: Approval) -> Approval | None:
    """Return the approval, a question with its form; None if it is decided or its run has ended."""
    waits = Wait.objects.filter(
        run_id=approval.run_id,
        run__finished_at=None,
        call_id=approval.call_id,
        kind=APPROVAL.name,
        resolved_at=None,
    )
    return replace(approval, form=answer_schema(_call(approval))) if waits.exists() else None


def _decide(approval: Approval, decision: Decision) -> None:
    """Store the decision, unless the call is already decided.

    Raises:
        InvalidEditError: The arguments do not fit the tool, the answer does not fit its form, or a
            question was approved.
    """
    verdict, given = _said(decision)
    try:
        decide_call(_call(approval), verdict, digest=approval.digest, by=PROGRAM, **given)
    except CallClosedError as error:
        logger.info("%s", error)


def _said(decision: Decision) -> tuple[Verdict, dict[str, Any]]:
    match decision:
        case Approve(always):
            return Verdict.APPROVED, {"always": Always(always) if always else None}
        case Edit(arguments):
            return Verdict.EDITED, {"arguments": json.dumps(dict(arguments))}
        case Answer(value):
            return Verdict.ANSWERED, {"answer": value}
        case Deny(reason):
            return Verdict.DENIED, {"reason": reason}


def _call(approval: Approval) -> ToolCall:
    calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    return calls.get(run_id=approval.run_id, call_id=approval.call_id)
