"""Tool calls that wait for a person."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Query, Router

from agents.actions.decide_call import (
    Always,
    Decider,
    answer_call,
    approve_call,
    deny_call,
    edit_call,
)
from agents.choices import Verdict
from agents.models import Decision, ToolCall, Vote, Wait
from agents.querysets import approval_of, calls_waiting
from agents.question_state import load_question_state
from heartbit_site.api import forms
from heartbit_site.api.asked_view import Offers
from heartbit_site.api.auth import DECIDE, READ_WAITING, access_of, workspace_of
from heartbit_site.api.inputs import DecisionIn  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import ApprovalsOut, DecidedOut, QuestionStateOut
from heartbit_site.base import orm
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.calls import find_call
from heartbit_site.operations.paging import page

if TYPE_CHECKING:
    from uuid import UUID


router = Router(tags=["approvals"])

Digest = Annotated[Word | None, Query(description="Of the call, as GET /approvals showed it.")]
Question = Annotated[Word | None, Query(description="Of the call, as GET /doubts showed it.")]

_VERDICTS = {
    "approve": Verdict.APPROVED,
    "edit": Verdict.EDITED,
    "answer": Verdict.ANSWERED,
    "deny": Verdict.DENIED,
}


@router.get("/approvals", auth=READ_WAITING, response=answers(ApprovalsOut), summary="What waits")
async def waiting(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The tool calls that wait for a person, the oldest first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        calls, following = page(calls_waiting(workspace), "pk", cursor, limit)
        return {"calls": _shown(calls), "next": following}

    return await orm.in_thread(read)


def _shown(calls: list[ToolCall]) -> list[dict[str, Any]]:
    waits = Wait.objects.filter(run__in={call.run_id for call in calls}, resolved_at__isnull=True)
    open_waits = {(wait.run_id, wait.key): wait for wait in waits}
    votes: defaultdict[tuple[UUID, str], list[str]] = defaultdict(list)
    for vote in Vote.objects.filter(run__in={call.run_id for call in calls}):
        votes[vote.run_id, vote.wait_key].append(vote.by)
    offers = Offers()
    keys = [(call.run_id, approval_of(call)) for call in calls]
    return [
        forms.approval(call, open_waits.get(key), offers, votes.get(key, []))
        for call, key in zip(calls, keys, strict=True)
    ]


@router.get(
    "/runs/{run_id}/calls/{call_id}/decision",
    auth=READ_WAITING,
    response=answers(QuestionStateOut, 404),
    summary="Get the state of a question",
)
async def decision(
    request: HttpRequest,
    run_id: Word,
    call_id: Word,
    *,
    digest: Digest = None,
    question: Question = None,
) -> Any:
    """Return whether a call still waits for a person, or who decided it and how."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        call = find_call(workspace, run_id, call_id)
        found = load_question_state(call, digest=digest or "", question=question or "")
        return {
            "run": str(call.run_id),
            "call": call.call_id,
            "state": found.state,
            "by": found.by,
            "at": forms.time(found.at),
            "reason": found.reason,
        }

    return await orm.in_thread(read)


@router.post(
    "/runs/{run_id}/calls/{call_id}/decision",
    auth=DECIDE,
    response=answers(DecidedOut, 404, 409, body=True),
    summary="Decide",
)
async def decide(request: HttpRequest, run_id: Word, call_id: Word, body: DecisionIn) -> Any:
    """Approve, edit or deny a call. One decision wins; 409 says who was quicker."""
    workspace = workspace_of(request)
    by = decider_of(request)

    def take() -> dict[str, Any]:
        call = find_call(workspace, run_id, call_id)
        _decide(call, body, by)
        return {
            "run": str(call.run_id),
            "call": call.call_id,
            "verdict": _VERDICTS[body.verdict].value,
            "decided_by": by.name,
            "missing": _missing(call),
        }

    return await orm.in_thread(take)


def _missing(call: ToolCall) -> int:
    """How many people more have to approve a call on which somebody has just said their word."""
    key = approval_of(call)
    if Decision.objects.filter(run=call.run, wait_key=key).exists():
        return 0
    given = Vote.objects.filter(run=call.run, wait_key=key).count()
    return max(0, int((call.shown or {}).get("needed", 1)) - given)


def decider_of(request: HttpRequest) -> Decider:
    """Whoever asks, as decisions name them."""
    access = access_of(request)
    return Decider(access.name, access.via, access.user_id)


def _decide(call: ToolCall, body: DecisionIn, by: Decider) -> None:
    match body.verdict:
        case "approve":
            wish = body.always
            always = Always(wish.scope, wish.until) if wish is not None else None
            approve_call(call, digest=body.digest, by=by, always=always)
        case "edit":
            edit_call(call, digest=body.digest, by=by, arguments=json.dumps(body.arguments))
        case "answer":
            answer_call(call, digest=body.digest, by=by, answer=body.answer)
        case "deny":
            deny_call(call, digest=body.digest, by=by, reason=body.reason)
