"""Questions that people are asked about tool calls, and calls with an uncertain outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from agents.choices import ALLOWING_VERDICTS, CallStatus, Placement, RunStatus, UncertainCalls
from agents.journal.waits import APPROVAL, OUTCOME
from agents.models import Decision, Run, ToolCall, Wait
from agents.querysets import uncertain_calls
from agents.reads.agents import definition_of
from agents.reads.tools import pinned_tool
from agents.runtime.execution.executor import executor_of
from agents.runtime.toolset.offer import offered_tools
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.base.question_states import QuestionStateName
from heartbit_site.base.toolspec import Effect
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from tools.calls import questions
from tools.definitions.catalogue import catalogue


def answer_schema(call: ToolCall) -> dict[str, Any] | None:
    """Return the JSON Schema of the answer to a waiting call; None: it is not a question.

    Args:
        call: A call that waits for a person; its run's version and agent are read.
    """
    known = pinned_tool(call)
    if known is None or known.answer_parameter is None:
        return None  # the usual case, decided without another query
    run = call.run
    try:
        definition = definition_of(run.version)
    except ConfigurationError:
        return None  # written by a newer Heartbit, which can decide it
    # A tool that has changed since publication is not offered, so no answer would be valid.
    offer = offered_tools(
        definition,
        catalogue(run.workspace_id),
        is_child=run.is_sub_agent,
        has_parent=run.parent_id is not None,
    )
    if known.name not in offer.specs:
        return None
    return questions.form_of((call.approval_view or {}).get("arguments", {}))


EXPIRY = "expiry"  # the ``via`` of a refusal at the deadline


@dataclass(frozen=True, slots=True)
class QuestionState:
    """State of one question.

    Attributes:
        state: ``open``: it waits; a verdict or an outcome: a person decided; ``expired``: the
            deadline passed; ``cancelled``: its run was cancelled; ``closed``: it is obsolete.
        by: The person who decided or cancelled; empty: unknown, or no person did.
        at: Time of that; None: open, or the time is unknown.
        reason: Text that the decider wrote for the model.
        via: Interface used by that person; empty: no person.
    """

    state: QuestionStateName
    by: str = ""
    at: datetime | None = None
    reason: str = ""
    via: str = ""


def describe_question_state(state: QuestionState) -> str:
    """Return why a question is not open, as a sentence that names who decided, and when."""
    when = f" on {state.at:%Y-%m-%d at %H:%M} UTC" if state.at is not None else ""
    by = f" by {state.by}" if state.by else ""
    match state.state:
        case "expired":
            return f"No one decided the call in time: its deadline passed{when}."
        case "cancelled":
            return f"The run was cancelled{by}{when}: the call is not decided any more."
        case "open" | "closed":
            return "The call does not wait for a decision."
    return f"The call was already {state.state}{by}{when}."


def load_question_state(call: ToolCall, *, digest: str = "", question: str = "") -> QuestionState:
    """Return the state of a question about a call.

    Args:
        call: The tool call, with its run.
        digest: Digest of a call that was shown for approval.
        question: Wait key of an uncertain call; empty: the question was one for approval.
    """
    run = call.run
    kind = OUTCOME if question else APPROVAL
    waits = Wait.objects.filter(
        run=run, call_id=call.call_id, kind=kind.name, resolved_at__isnull=True
    )
    waiting = waits.filter(key=question).first() if question else waits.first()
    is_shown = bool(question) or call.digest == digest
    if waiting is not None and run.finished_at is None and is_shown:
        if waiting.expires_at is not None and waiting.expires_at <= timezone.now():
            return QuestionState("expired", at=waiting.expires_at)  # not swept yet
        if call.status in {CallStatus.WAITING, CallStatus.UNCERTAIN}:
            return QuestionState("open")
    decisions = Decision.objects.filter(run=run, call_id=call.call_id)
    decisions = decisions.filter(wait_key=question) if question else decisions.filter(digest=digest)
    decided = decisions.order_by("-id").first()
    if decided is not None:
        if decided.via == EXPIRY:
            return QuestionState("expired", at=decided.at)
        state = cast("QuestionStateName", str(decided.verdict))
        by = decided.decided_by
        return QuestionState(state, by, decided.at, decided.reason, decided.via)
    if run.status == RunStatus.CANCELLED or run.cancel_requested:
        return _cancelled(call)
    return QuestionState("closed", at=run.finished_at)


def _cancelled(call: ToolCall) -> QuestionState:
    """Return the state with the person who cancelled the run or one above it, from the audit."""
    run = call.run
    above = {run.pk, run.parent_id, run.root_id} - {None}
    entries = AuditEntry.objects.filter(target__in=[f"run:{one}" for one in above])
    stop = entries.filter(workspace=run.workspace_id, action="run.cancel").first()
    if stop is None:
        return QuestionState("cancelled", at=run.finished_at)
    if stop.via == "system":
        return QuestionState("cancelled", at=stop.at)
    return QuestionState("cancelled", stop.actor, stop.at, via=stop.via)


@dataclass(frozen=True, slots=True)
class UncertainCall:
    """An uncertain call.

    Attributes:
        question: Key of its wait; another one when the call becomes uncertain again. Empty: no
            person is asked yet.
        since: Time since which it waits.
        arguments: Arguments that it was called with.
    """

    call: ToolCall
    question: str
    since: datetime
    arguments: dict[str, Any]


def unasked(workspace: Workspace, run: Run | None = None) -> list[UncertainCall]:
    """Return calls of local runs whose process crashed during the call, oldest first.

    No person is asked about these calls until the run is resumed: they have no question, and count
    as waiting since they started.
    """
    rows = (
        ToolCall.objects.filter(
            Q() if run is None else Q(run=run) | Q(run__root=run),
            run__workspace=workspace,
            run__home=Placement.LOCAL,
            run__status__in=[RunStatus.RUNNING, RunStatus.QUEUED],
            status=CallStatus.STARTED,
            effect=Effect.AT_MOST_ONCE,
        )
        .annotate(edited=written_arguments())
        .select_related("run", "run__version__agent")
        .order_by("id")
    )
    ask = UncertainCalls.ASK_HUMAN
    found = [row for row in rows if row.run.version.snapshot.get("uncertain_calls", ask) == ask]
    dead = {root for root in {row.run.root_id for row in found} if executor_of(root) is None}
    return [
        UncertainCall(row, "", row.started_at, executed_arguments(row, row.edited))
        for row in found
        if row.run.root_id in dead and row.started_at is not None
    ]


def asked_about(workspace: Workspace) -> QuerySet[Any]:
    """Query the uncertain calls, with the columns for ``to_uncertain_call``."""
    asked = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        kind=OUTCOME.name,
        resolved_at__isnull=True,
    )
    return uncertain_calls(workspace).annotate(
        question=Subquery(asked.values("key")[:1]),
        asked_at=Subquery(asked.values("created_at")[:1]),
        edited=written_arguments(),
    )


def to_uncertain_call(row: Any) -> UncertainCall:
    """Convert a row of ``asked_about``."""
    return UncertainCall(row, row.question, row.asked_at, executed_arguments(row, row.edited))


def written_arguments() -> Subquery:
    """Select the arguments that a person wrote for a tool call, as JSON, or null."""
    allowed = Decision.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        verdict__in=ALLOWING_VERDICTS,
    ).order_by("-id")  # an earlier one may have lapsed
    return Subquery(allowed.values("arguments")[:1])


def executed_arguments(call: ToolCall, edited: str | None) -> dict[str, Any]:
    """Return the arguments that a call ran with: as a person approved them, else the model's."""
    if edited is None and call.approval_view is not None:
        shown: dict[str, Any] = call.approval_view.get("arguments", {})
        return shown
    text = edited or call.arguments or "{}"
    try:
        read = parse_untrusted_json(text)
    except UntrustedJSONError:
        read = text
    return read if isinstance(read, dict) else {"": read}
