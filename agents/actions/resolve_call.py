"""Say what became of a call whose worker died while it ran: again, done, or leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from agents.actions.wake_run import wake_run
from agents.choices import CallResolution
from agents.live.changes import notify_on_commit
from agents.querysets import shown_tool
from agents.runs.sql_functions import call_function
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.untrusted import clean_text

if TYPE_CHECKING:
    from agents.actions.decide_call import Decider
    from agents.models import ToolCall


@transaction.atomic
def resolve_call(call: ToolCall, outcome: CallResolution, *, by: Decider, result: str = "") -> None:
    """Let the run go on.

    Args:
        call: Its outcome is unknown, and its run waits for somebody to say it.
        outcome: ``retried``: it is made again, under the same idempotency key; ``done``: it took
            effect; ``skipped``: nobody knows, and it is left.
        by: Who says so, and where.
        result: For ``done``: what the model reads as the call's answer.

    Raises:
        CallClosedError: Somebody was quicker, or the run has ended.
    """
    text = clean_text(result).strip() if outcome is CallResolution.CONFIRMED else ""
    parameters = (
        *(call.run_id, call.call_id, outcome.value, text or None),
        *(by.user_id, by.name, by.via),
    )
    ring = call_function("SELECT heartbit_settle(%s, %s, %s, %s, %s, %s, %s)", parameters)
    audit.record(
        Actor(by.name, by.via, by.user_id),
        "approval.settle",
        workspace=call.run.workspace,
        target=f"run:{call.run_id}",
        label=shown_tool(call),
        details={"call": call.call_id, "outcome": outcome.value},
    )
    wake_run(ring)
    notify_on_commit(call.run.workspace_id, "runs", "calls")
