"""Tool calls that people decide: approvals, uncertain calls, dry runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from agents.actions.decide_call import VERDICTS, Always, decide_call
from agents.actions.dry_run_call import dry_run_call
from agents.actions.waits import resolve_call as resolve
from agents.approvals.call_display import display_call
from agents.approvals.call_summary import summarize_call
from agents.approvals.questions import (
    UncertainCall,
    answer_schema,
    asked_about,
    load_question_state,
    to_uncertain_call,
)
from agents.choices import CallResolution
from agents.dry_runs.changes_view import DryRunOut
from agents.dry_runs.rollback_run import in_time
from agents.models import Decision, ToolCall, Vote, Wait
from agents.querysets import (
    approval_of,
    asked_of,
    calls_waiting,
    find_run,
    readable,
    shown_tool,
)
from agents.reads.agents import definition_of
from agents.reads.tools import in_tool_order
from agents.runtime.toolset.offer import offered_tools
from heartbit_site.base.access import Access
from heartbit_site.base.audit import Actor
from heartbit_site.base.effect_text import UNCERTAIN_CALL
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.os_user import os_username
from heartbit_site.base.preview import preview
from heartbit_site.base.toolspec import ToolSpec
from heartbit_site.contract import approvals as contract
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.operation import PendingAnswer
from heartbit_site.operations.calls import find_asked_call
from heartbit_site.operations.paging import list_page, page
from tools.definitions.catalogue import catalogue

#: What is stored and answered, by what a request says.
RESOLUTIONS = {
    "retry": CallResolution.RETRIED,
    "confirm": CallResolution.CONFIRMED,
    "skip": CallResolution.SKIPPED,
}


def list_approvals(
    access: Access, *, run: contract.OfRun = None, cursor: Cursor = None, limit: Limit = USUAL
) -> contract.ApprovalsOut:
    """Return the tool calls that wait for a person, the oldest first."""
    rows = calls_waiting(access.workspace).filter(of_run(access, run))
    calls, following = page(rows, "pk", cursor, limit)
    runs = {call.run_id for call in calls}
    waits = Wait.objects.filter(run__in=runs, resolved_at__isnull=True)
    open_waits = {(wait.run_id, wait.key): wait for wait in waits}
    votes: defaultdict[tuple[UUID, str], list[str]] = defaultdict(list)
    for vote in Vote.objects.filter(run__in=runs):
        votes[vote.run_id, vote.wait_key].append(vote.by)
    known = catalogue(access.workspace.pk) if calls else {}
    offered = _offered(known, calls)
    keys = [(call.run_id, approval_of(call)) for call in calls]
    shown = [
        _approval(call, open_waits.get(key), known, offered[_version(call)], votes.get(key, []))
        for call, key in zip(calls, keys, strict=True)
    ]
    return contract.ApprovalsOut(calls=shown, next_cursor=following)


def list_uncertain_calls(
    access: Access, *, run: contract.OfRun = None, cursor: Cursor = None, limit: Limit = USUAL
) -> contract.UncertainCallsOut:
    """Return the uncertain tool calls, the oldest first."""
    rows = asked_about(access.workspace).filter(of_run(access, run))
    known = catalogue(access.workspace.pk)
    return list_page(
        contract.UncertainCallsOut,
        rows,
        "pk",
        cursor,
        limit,
        lambda row: doubt_view(to_uncertain_call(row), known),
    )


def list_decisions(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> contract.DecisionsOut:
    """Return the decisions about calls of a run and its sub-agents, the newest first."""
    rows = Decision.objects.filter(of_run(access, run_id, asked=False))
    return list_page(contract.DecisionsOut, rows, "-pk", cursor, limit)


def get_question(
    access: Access,
    run_id: Word,
    call_id: Word,
    *,
    digest: contract.Digest = None,
    question: contract.Question = None,
) -> contract.QuestionStateOut:
    """Return whether a call still waits for a person, or who decided it and how."""
    call = find_asked_call(access, run_id, call_id)
    state = load_question_state(call, digest=digest or "", question=question or "")
    return contract.QuestionStateOut.of(state, run_id=call.run_id, call_id=call.call_id)


def decide(
    access: Access, run_id: Word, call_id: Word, body: contract.DecisionIn
) -> contract.DecidedOut:
    """Approve, edit, answer or deny a call; 409 if it is already decided."""
    call = find_asked_call(access, run_id, call_id)
    by = decider(access)
    verdict = VERDICTS[body.verdict]
    always = body.always
    decide_call(
        call,
        verdict,
        digest=body.digest,
        by=by,
        always=Always(always.scope, always.until) if always is not None else None,
        arguments=json.dumps(body.arguments),
        answer=body.answer,
        reason=body.reason,
    )
    return contract.DecidedOut.of(
        call, verdict=verdict.value, decided_by=by.name, remaining_approvals=_missing(call)
    )


def resolve_call(
    access: Access, run_id: Word, call_id: Word, body: contract.OutcomeIn
) -> contract.ResolvedOut:
    """Resolve an uncertain call; 409 if it is already resolved."""
    call = find_asked_call(access, run_id, call_id)
    by = decider(access)
    outcome = RESOLUTIONS[body.outcome]
    resolve(call, outcome, by=by, result=body.result)
    return contract.ResolvedOut.of(call, outcome=outcome.value, resolved_by=by.name)


def dry_run(
    access: Access, run_id: Word, call_id: Word, body: contract.DryRunIn
) -> PendingAnswer[DryRunOut]:
    """Return the rows that a call of a transactional tool would change: it is run and rolled back.

    409 if the call no longer waits, took too long, or conflicted with other writes.
    """
    arguments = None if body.arguments is None else json.dumps(body.arguments)

    def attempt() -> DryRunOut:
        call = find_asked_call(access, run_id, call_id)
        return dry_run_call(call, digest=body.digest, by=decider(access), arguments=arguments)

    return PendingAnswer(lambda: in_time(attempt))


def doubt_view(
    found: UncertainCall, known: Mapping[str, ToolSpec] | None = None
) -> contract.UncertainCallOut:
    """Return the view of an uncertain call; ``known``: the workspace's catalogue, if it is read."""
    call = found.call
    arguments = in_tool_order(call, found.arguments)
    return contract.UncertainCallOut.of(
        call,
        **_asked(call, found.since),
        arguments=arguments,
        summary=summarize_call(call, arguments, known),
        question=found.question,
        view=display_call(call, arguments, UNCERTAIN_CALL),
    )


def _approval(
    call: ToolCall,
    wait: Wait | None,
    known: Mapping[str, ToolSpec],
    offered: Mapping[str, ToolSpec],
    votes: list[str],
) -> contract.ApprovalOut:
    shown = call.approval_view or {}
    arguments = in_tool_order(call, shown.get("arguments", {}))
    spec = offered.get(shown_tool(call))  # None: it changed after publication
    reason = shown.get("reason", "")
    since = wait.escalated_at if wait is not None else None
    return contract.ApprovalOut.of(
        call,
        **_asked(call, wait.created_at if wait is not None else None),
        reason=reason,
        arguments=arguments,
        summary=summarize_call(call, arguments, known),
        wait_key=approval_of(call),
        expires_at=wait.expires_at if wait is not None else None,
        required_approvals=shown.get("needed", 1),
        approved_by=votes,
        approver_group=shown.get("group", ""),
        escalated={"group": shown.get("escalated_to", ""), "since": since} if since else None,
        parameters=dict(spec.parameters) if spec is not None else None,
        answer_schema=answer_schema(call),
        view=display_call(call, arguments, reason),
    )


def _version(call: ToolCall) -> tuple[int, bool]:
    return call.run.version_id, call.run.parent_id is not None


def _offered(
    known: Mapping[str, ToolSpec], calls: Iterable[ToolCall]
) -> dict[tuple[int, bool], Mapping[str, ToolSpec]]:
    """Return the tools that the versions of the calls' runs offer."""
    found: dict[tuple[int, bool], Mapping[str, ToolSpec]] = {}
    for version, run in {_version(call): call.run for call in calls}.items():
        try:
            definition = definition_of(run.version)
        except ConfigurationError:
            found[version] = {}  # a newer Heartbit wrote it, and knows what it offers
        else:
            is_child = run.parent_id is not None
            offer = offered_tools(definition, known, is_child=is_child, has_parent=is_child)
            found[version] = offer.specs
    return found


def _asked(call: ToolCall, since: datetime | None) -> dict[str, Any]:
    """Return the fields of a waiting call's view that are not in its row."""
    task = call.run.task
    return {
        "tool": shown_tool(call),
        "waiting_since": since,
        "task": preview(task),
        "task_characters": len(task),
    }


def of_run(access: Access, run_id: str | None, *, asked: bool = True) -> Q:
    """Return the condition for rows of a run or its sub-agents; without a run: for all rows.

    Args:
        access: The caller.
        run_id: The run; None: all that the caller may read.
        asked: True for what waits for people: who may decide sees it of private runs, too.

    Raises:
        RunNotFoundError: There is no such run.
    """
    seen = asked_of(access) if asked else readable(access, "run__")
    if run_id is None:
        return seen
    run = find_run(access, run_id, asking=asked)
    return seen & (Q(run=run) | Q(run__root=run))


def decider(access: Access) -> Actor:
    """Return the caller, as decisions name them.

    At a terminal the caller is the account on its machine, whichever command it runs: a call that
    needs several people counts it once.
    """
    at_terminal = access.via in ("terminal", "inline")
    name = os_username() if at_terminal else access.name
    return Actor(name, access.via, access.user_id, access)


def _missing(call: ToolCall) -> int:
    """Return the number of approvals that a call still requires after a decision."""
    key = approval_of(call)
    if Decision.objects.filter(run=call.run, wait_key=key).exists():
        return 0
    given = Vote.objects.filter(run=call.run, wait_key=key).count()
    return max(0, int((call.approval_view or {}).get("needed", 1)) - given)
