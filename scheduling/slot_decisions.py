"""Decision of a schedule's test about one firing, and the run that the test may be.

A test that takes long is a run of its own, so the clock's transaction never waits: the firing is
deferred with that run, and a later check decides it. The test's run is started under a key of the
firing in the transaction that stores it, so each firing is tested once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final, Literal

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest, call_of
from agents.choices import RunStatus
from agents.errors import AgentNotFoundError, ConversationBusyError, HaltedError, NotNowError
from agents.models import Agent, Run
from agents.runs.idempotency_keys import InternalKey
from agents.workflows.expressions.errors import EvaluationError
from heartbit_site.base.audit import BY_SCHEDULE, Actor
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import (
    MalformedJSONError,
    UntrustedJSONError,
    parse_untrusted_json,
)
from scheduling.choices import FiringStatus, Trigger
from scheduling.models import Firing, Schedule
from scheduling.querysets import has_running_test
from scheduling.slot_test import SlotTest, read_test

_TESTING: Final = "Its test has not ended: it runs, or waits for a person."
_FAILED: Final = "Its test failed"
_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class SlotDecision:
    """Decision about a firing.

    Attributes:
        verdict: Start its run, skip it, or wait for the test's run.
        note: Reason as a sentence; empty for a test that held, and without one.
    """

    verdict: Literal["start", "skip", "wait"]
    note: str = ""


_START: Final = SlotDecision("start")


def is_transient(error: HeartbitError, schedule: Schedule) -> bool:
    """Return True if an obstacle may pass without a change by the schedule's owner."""
    if isinstance(error, AgentNotFoundError):
        # An existing agent is stopped, or was published just now.
        return Agent.objects.filter(pk=schedule.agent_id, current_version__isnull=False).exists()
    return isinstance(error, HaltedError | NotNowError | ConversationBusyError)


def waits_for_test(firing: Firing) -> bool:
    """Return True if a deferred firing waits for the run of its test."""
    return firing.test_run_id is not None and (
        Firing.objects.filter(
            has_running_test(), pk=firing.pk, status=FiringStatus.DEFERRED
        ).exists()
    )


def decide(schedule: Schedule, firing: Firing) -> SlotDecision:
    """Return what a firing does, in the caller's transaction; the schedule's row is locked.

    Only firings at the schedule's own times are tested: a person who asks for a run gets one.
    A test that is a run is started and noted in the firing, which the caller saves.

    Raises:
        HeartbitError: An obstacle that may pass keeps the test from starting.
    """
    test = read_test(schedule.test)
    if test is None or firing.cause != Trigger.SCHEDULE:
        return _START
    result: Any = None
    try:
        if test.starts_run:
            if firing.test_run_id is None:
                firing.test_run_id = admit(_request(schedule, firing, test)).run_id
                return SlotDecision("wait", _TESTING)
            run = Run.objects.filter(pk=firing.test_run_id).first()
            if run is not None and run.finished_at is None:
                return SlotDecision("wait", _TESTING)
            if run is None or run.status != RunStatus.SUCCEEDED:
                return _failed(test, _end_of(run))
            result = _value(run)
        if test.holds(result=result, last=_last_result(schedule)):
            return _START
    except EvaluationError as error:
        return _failed(test, str(error))
    except HeartbitError as error:
        if is_transient(error, schedule):
            raise
        return _failed(test, str(error))
    return SlotDecision("skip", _denied(test))


def _request(schedule: Schedule, firing: Firing, test: SlotTest) -> RunRequest:
    slot = firing.scheduled_for.astimezone(UTC).isoformat()
    return RunRequest(
        schedule.workspace,
        "" if test.tool else json.dumps(test.input, ensure_ascii=False),
        agent=test.workflow or schedule.agent.name,
        call=call_of(test.tool, test.arguments) if test.tool else None,
        approve=schedule.require_approval,
        hops=schedule.hops,
        idempotency_key=InternalKey(f"schedule:{schedule.pk}:{slot}:test"),
        by=Actor(f"{BY_SCHEDULE}{schedule.name}", "system"),
    )


def _failed(test: SlotTest, why: str) -> SlotDecision:
    if test.on_error == "skip":
        return SlotDecision("skip", f"{_FAILED}, and on_error is skip: {why}")
    return SlotDecision("start", f"{_FAILED}, and on_error is run: {why}")


def _denied(test: SlotTest) -> str:
    named = f"the tool {test.tool}" if test.tool else f"the workflow {test.workflow}"
    if not test.when:
        return f"Its test said no: {named} returned nothing, or false."
    of = f" for the result of {named}" if test.starts_run else ""
    text = test.when if len(test.when) <= _SHOWN else f"{test.when[:_SHOWN]}…"
    return f"Its test said no: `{text}` is false{of}."


def _end_of(run: Run | None) -> str:
    if run is None:
        return "its run was deleted before it was read."
    error = run.error if isinstance(run.error, dict) else {}
    return str(error.get("message") or f"its run ended as {run.status}.")


def _value(run: Run) -> Any:
    """Return the result of a run as data: its JSON, or its text.

    Raises:
        UntrustedJSONError: It is JSON beyond the limits for texts of models and tools.
    """
    if run.structured is not None:
        return run.structured
    text = run.output or ""
    try:
        return parse_untrusted_json(text)
    except MalformedJSONError:
        return text


def _last_result(schedule: Schedule) -> dict[str, Any] | None:
    """Return the last ended run of the schedule; None: there is none."""
    firings = Firing.objects.filter(schedule=schedule, run_id__isnull=False)
    latest = firings.exclude(cause=Trigger.TEST).order_by("-scheduled_for").values("run_id")[:20]
    ended = Run.objects.filter(pk__in=latest, finished_at__isnull=False).order_by("-finished_at")
    run = ended.first()
    if run is None:
        return None
    output = run.output or ""
    try:
        data = _value(run)
    except UntrustedJSONError:
        data = output  # else each later firing would fail its test by this result
    return {"status": run.status, "output": output, "data": data}
