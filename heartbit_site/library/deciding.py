"""Write a program's decision about a tool call."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from agents.actions.decide_call import Always, Decider, approve_call, deny_call, edit_call
from agents.choices import CallStatus
from agents.errors import NoLongerOpenError
from agents.models import Decision as Decided
from agents.models import ToolCall
from heartbit_site.library.approvals import Approve, Deny, Edit

if TYPE_CHECKING:
    from heartbit_site.library.approvals import Approval, Decision

PROGRAM = Decider("the program", "inline")

logger = logging.getLogger(__name__)


def is_open(approval: Approval) -> bool:
    """Whether the call still waits and nobody has decided."""
    key = {"run_id": approval.run_id, "call_id": approval.call_id}
    waits = ToolCall.objects.filter(**key, status=CallStatus.WAITING, run__finished_at=None)
    return waits.exists() and not Decided.objects.filter(**key).exists()


def decide(approval: Approval, decision: Decision) -> None:
    """Decide; somebody who was quicker wins.

    Raises:
        InvalidEditError: The edited arguments do not fit the tool.
    """
    call = ToolCall.objects.select_related("run__workspace", "run__version__agent").get(
        run_id=approval.run_id, call_id=approval.call_id
    )
    try:
        match decision:
            case Approve(always):
                standing = Always(always) if always else None
                approve_call(call, digest=approval.digest, by=PROGRAM, always=standing)
            case Edit(arguments):
                text = json.dumps(dict(arguments))
                edit_call(call, digest=approval.digest, by=PROGRAM, arguments=text)
            case Deny(reason):
                deny_call(call, digest=approval.digest, by=PROGRAM, reason=reason)
    except NoLongerOpenError as error:
        logger.info("%s", error)
