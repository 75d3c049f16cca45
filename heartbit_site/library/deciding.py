"""Write a program's decision about a tool call."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.actions.decide_call import (
    Always,
    Decider,
    answer_call,
    approve_call,
    deny_call,
    edit_call,
)
from agents.choices import WaitKind
from agents.errors import NoLongerOpenError
from agents.models import ToolCall, Wait
from agents.questions import asked_form
from heartbit_site.base.toolspec import Answer
from heartbit_site.library.approvals import Approve, Deny, Edit

if TYPE_CHECKING:
    from heartbit_site.library.approvals import Approval, Decision

PROGRAM = Decider("the program", "inline")

logger = logging.getLogger(__name__)


def as_it_waits(approval: Approval) -> Approval | None:
    """The approval, a question with its form; None: somebody has decided, or its run has ended."""
    waits = Wait.objects.filter(
        run_id=approval.run_id,
        run__finished_at=None,
        call_id=approval.call_id,
        kind=WaitKind.APPROVAL,
        resolved_at=None,
    )
    return replace(approval, form=asked_form(_call(approval))) if waits.exists() else None


def decide(approval: Approval, decision: Decision) -> None:
    """Decide; somebody who was quicker wins.

    Raises:
        InvalidEditError: The arguments do not fit the tool, the answer does not fit its form, or a
            question was approved.
    """
    call = _call(approval)
    try:
        match decision:
            case Approve(always):
                standing = Always(always) if always else None
                approve_call(call, digest=approval.digest, by=PROGRAM, always=standing)
            case Edit(arguments):
                text = json.dumps(dict(arguments))
                edit_call(call, digest=approval.digest, by=PROGRAM, arguments=text)
            case Answer(value):
                answer_call(call, digest=approval.digest, by=PROGRAM, answer=value)
            case Deny(reason):
                deny_call(call, digest=approval.digest, by=PROGRAM, reason=reason)
    except NoLongerOpenError as error:
        logger.info("%s", error)


def _call(approval: Approval) -> ToolCall:
    calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    return calls.get(run_id=approval.run_id, call_id=approval.call_id)
