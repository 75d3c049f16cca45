"""Resolve an uncertain call, whose worker crashed while it ran: retry, confirm or skip it."""

from __future__ import annotations

from django.db import transaction

from agents.actions.wake_run import wake_run
from agents.choices import CallResolution
from agents.live.changes import notify_on_commit
from agents.models import ToolCall
from agents.runs.run_audit import record_of_call
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text


@transaction.atomic
def resolve_call(call: ToolCall, outcome: CallResolution, *, by: Actor, result: str = "") -> None:
    """Store the outcome of an uncertain call, and let its run continue.

    Args:
        call: A call of unknown outcome, whose run waits for a person.
        outcome: ``retried``: run the call again under the same idempotency key; ``done``: it took
            effect; ``skipped``: leave it unknown.
        by: The person who resolves the call.
        result: For ``done``: the call's result for the model.

    Raises:
        CallClosedError: The call is resolved, or the run has ended.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    text = clean_text(result).strip() if outcome is CallResolution.CONFIRMED else ""
    parameters = (
        *(call.run_id, call.call_id, outcome.value, text or None),
        *(by.user_id, by.name, by.via),
    )
    ring = call_function("SELECT heartbit_settle(%s, %s, %s, %s, %s, %s, %s)", parameters)
    record_of_call(by, "approval.settle", call, outcome=outcome.value)
    wake_run(ring)
    notify_on_commit(call.run.workspace_id, "runs", "calls")
