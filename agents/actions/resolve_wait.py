"""Resolve a wait that is no approval: an uncertain call, or a question."""

from __future__ import annotations

import json
from typing import Any

from django.db import transaction

from agents.actions.wake_run import wake_run
from agents.choices import CallResolution
from agents.errors import CallClosedError, InvalidEditError
from agents.journal.waits import kind_of
from agents.live.changes import notify_on_commit
from agents.models import ToolCall, Wait
from agents.reads.tools import question_of
from agents.runs.run_audit import record_of_call
from agents.runs.sql_functions import call_function
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.jsonschema import validate
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


@transaction.atomic
def answer_wait(wait: Wait, answer: Any, *, by: Actor) -> None:
    """Resolve a wait with a JSON answer, and queue its run if that was its last open wait.

    Raises:
        InvalidEditError: The answer does not fit the schema; nothing was resolved.
        CallClosedError: The wait is resolved, or its run has ended.
    """
    require(by, "approvals:decide", workspace_id=wait.run.workspace_id)
    kind = kind_of(wait.kind)
    if kind.answer is None:
        raise CallClosedError(f"A wait of the kind {kind.name!r} is not answered like this.")
    declines = answer is None and kind.is_declinable
    problems = [] if declines else validate(question_of(wait).form, answer)
    if problems:
        raise InvalidEditError(f"The answer does not fit: {'; '.join(problems)}.")
    query = "SELECT heartbit_answer(%s, %s, %s, %s, %s)"
    parameters = (wait.run_id, wait.key, json.dumps(answer), by.name, by.user_id)
    ring = call_function(query, parameters)
    audit.record(
        by,
        "wait.answer",
        workspace=wait.run.workspace,
        target=f"run:{wait.run_id}",
        label=kind.label,
        details={"wait": wait.key, "call": wait.call_id},
    )
    wake_run(ring)
    notify_on_commit(wait.run.workspace_id, "runs", "calls")
