"""Decide a tool call that waits for a person: approve, edit, answer, deny, always allow.

Only what was shown can run: a decision names the digest that its decider saw, the database accepts
it only while the call waits with that digest, and the worker runs only the decided digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agents.actions.fleet import wake_run
from agents.approvals.deciders import unasked_reason
from agents.choices import Verdict
from agents.errors import CallClosedError, InvalidEditError
from agents.live.changes import notify_on_commit
from agents.models import Grant, Run, ToolCall, Vote
from agents.querysets import approval_of, calls_waiting, shown_tool
from agents.reads.agents import definition_of
from agents.reads.tools import in_tool_order
from agents.runs.run_audit import record_of_call
from agents.runs.sql_functions import call_function
from agents.runtime.toolset.offer import OfferedTools, offered_tools
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text
from tools.calls import call_parsing, questions
from tools.calls.approval import digest as digest_of
from tools.calls.result import ToolResult
from tools.definitions.catalogue import catalogue

#: Names of the verdicts in requests and in the audit.
VERDICTS: Final[dict[str, Verdict]] = {
    "approve": Verdict.APPROVED,
    "edit": Verdict.EDITED,
    "answer": Verdict.ANSWERED,
    "deny": Verdict.DENIED,
}
_ACTIONS = {verdict: word for word, verdict in VERDICTS.items()}
_QUESTION = "This is a question: answer it, or deny it and say why."


@dataclass(frozen=True, slots=True)
class Always:
    """A standing permission given together with an approval.

    Attributes:
        scope: ``run``: the run and its tree; ``agent``: every run of the agent.
        until: Expiry; None: at the end of the tree, or when the permission is revoked.
    """

    scope: Literal["run", "agent"]
    until: datetime | None = None


def decide_call(
    call: ToolCall,
    verdict: Verdict,
    *,
    digest: str,
    by: Actor,
    always: Always | None = None,
    arguments: str = "",
    answer: Any = None,
    reason: str = "",
) -> None:
    """Apply a verdict to a call.

    Args:
        call: A call that waits for a person.
        verdict: The decision.
        digest: Digest of what the decider saw.
        by: The decider.
        always: For an approval: also allow this tool of this agent from now on, in other waiting
            calls too.
        arguments: For an edit: a JSON object.
        answer: For an answer: a JSON value.
        reason: For a denial: text for the model.

    Raises:
        InvalidEditError: The arguments do not fit the tool, the answer does not fit its schema, or
            the verdict does not apply to such a call; nothing was decided.
        CallClosedError: The call is decided, its run has ended, or it is not what was shown.
    """
    match verdict:
        case Verdict.APPROVED:
            approve_call(call, digest=digest, by=by, always=always)
        case Verdict.EDITED:
            edit_call(call, digest=digest, by=by, arguments=arguments)
        case Verdict.ANSWERED:
            answer_call(call, digest=digest, by=by, answer=answer)
        case Verdict.DENIED:
            deny_call(call, digest=digest, by=by, reason=reason)


def approve_call(call: ToolCall, *, digest: str, by: Actor, always: Always | None = None) -> None:
    """Let the call run as it was shown; for the arguments see ``decide_call``.

    Raises:
        InvalidEditError: The call is a question, which needs an answer.
        CallClosedError: The call is decided, its run has ended, or it is not what was shown.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    approved = Verdict.APPROVED
    offer = _offer(call.run)
    if _answer_parameter(call, offer) is not None:
        raise InvalidEditError(_QUESTION)
    with transaction.atomic():
        grant = _grant(call, offer, by, always) if always is not None else None
        _decide(call, digest, by, verdict=approved, executed_digest=digest, grant=grant)
        # Afterwards: the decision has locked the run, after its parent, as everything does.
        _refuse_second_vote(call, by)
    if grant is None:
        return
    # One transaction each: one lock at a time, and a decision made meanwhile stands.
    word = Actor(by.name, "grant", by.user_id)
    for other in _covered(grant, call):
        shown = other.digest
        with suppress(CallClosedError), transaction.atomic():
            _decide(other, shown, word, verdict=approved, executed_digest=shown, grant=grant)


@transaction.atomic
def edit_call(call: ToolCall, *, digest: str, by: Actor, arguments: str) -> None:
    """Let the call run with other arguments, a JSON object.

    Raises:
        InvalidEditError: The arguments do not fit the tool, or the call is a question; nothing was
            decided.
        CallClosedError: As for ``approve_call``.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    offer = _offer(call.run)
    if _answer_parameter(call, offer) is not None:
        raise InvalidEditError(_QUESTION)
    _decide_with(call, digest, by, offer, verdict=Verdict.EDITED, arguments=arguments)


@transaction.atomic
def answer_call(call: ToolCall, *, digest: str, by: Actor, answer: Any) -> None:
    """Answer a call that is a question; the model reads the answer, a JSON value.

    Raises:
        InvalidEditError: The call is not a question, or the answer does not fit its schema.
        CallClosedError: As for ``approve_call``.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    offer = _offer(call.run)
    name = _answer_parameter(call, offer)
    if name is None:
        raise InvalidEditError("The call asks nothing: approve it, edit it or deny it.")
    asked = (call.approval_view or {}).get("arguments", {})
    problems = validate(questions.form_of(asked), answer)
    if problems:  # shown to the person beside their answer
        raise InvalidEditError(f"The answer does not fit: {'; '.join(problems)}.")
    arguments = json.dumps({**in_tool_order(call, asked), name: answer})
    _decide_with(call, digest, by, offer, verdict=Verdict.ANSWERED, arguments=arguments)


def _answer_parameter(call: ToolCall, offer: OfferedTools) -> str | None:
    spec = offer.specs.get(shown_tool(call))
    return None if spec is None else spec.answer_parameter


@transaction.atomic
def deny_call(call: ToolCall, *, digest: str, by: Actor, reason: str) -> None:
    """Refuse the call; the model reads the reason.

    Raises:
        CallClosedError: As for ``approve_call``.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    _decide(call, digest, by, verdict=Verdict.DENIED, reason=clean_text(reason).strip())


def _offer(run: Run) -> OfferedTools:
    known = catalogue(run.workspace_id)
    return offered_tools(
        definition_of(run.version),
        known,
        is_child=run.is_sub_agent,
        has_parent=run.parent_id is not None,
    )


def _grant(call: ToolCall, offer: OfferedTools, by: Actor, always: Always) -> Grant:
    tool = shown_tool(call)
    if tool not in offer.hashes:
        raise CallClosedError(
            f"The tool {tool} has changed since the agent was published: nothing was allowed."
        )
    return Grant.objects.create(
        workspace_id=call.run.workspace_id,
        agent=call.run.version.agent,
        root_id=call.run.root_id if always.scope == "run" else None,
        tool=tool,
        definition_hash=offer.hashes[tool],
        expires_at=always.until,
        user_id=by.user_id,
        granted_by=by.name,
    )


def _refuse_second_vote(call: ToolCall, by: Actor) -> None:
    """Count deciders without a user account once among the people that a call needs.

    A person's API keys count as that person. A key without a user was created at a terminal, and
    its owner may create more and approve there as well: all such approvals are one vote.

    Raises:
        CallClosedError: That vote was cast before.
    """
    if by.user_id is not None:
        return
    votes = Vote.objects.filter(
        run=call.run_id, wait_key=approval_of(call), voter__startswith="name:"
    ).exclude(by=by.name)  # the database refuses a second vote of one name
    others = votes if by.via == "api" else votes.filter(via="api")
    if others.exists():
        raise CallClosedError(
            "An approval with an API key that belongs to no user counts already, and together with "
            "those at terminals only once: approve the call as a user, or with a user's key."
        )


def _covered(grant: Grant, decided: ToolCall) -> list[ToolCall]:
    """Return the other waiting calls that the new grant allows."""
    calls = (
        calls_waiting(decided.run.workspace)
        .filter(run__version_id=decided.run.version_id, approval_view__tool=grant.tool)
        .exclude(Q(pk=decided.pk) | Q(approval_view__has_key="mixed_data"))
        .order_by("run_id", "id")
    )
    if grant.root_id is not None:
        return list(calls.filter(run__root_id=grant.root_id))
    return list(calls.filter(run__approve=False))


def _decide_with(
    call: ToolCall,
    digest: str,
    by: Actor,
    offer: OfferedTools,
    *,
    verdict: Verdict,
    arguments: str,
) -> None:
    """Let the call run with arguments that a person wrote, if they fit its tool."""
    name = shown_tool(call)
    found = call_parsing.read(offer.specs, name=name, arguments=arguments, answered=True)
    if isinstance(found, ToolResult):
        raise InvalidEditError(" ".join(found.content.split()))
    executed_digest = digest_of(
        call.run_id,
        call.call_id,
        definition_hash=offer.hashes[found.spec.name],
        arguments=found.arguments,
        credentials=(call.approval_view or {}).get("credentials", {}),
    )
    _decide(call, digest, by, verdict=verdict, executed_digest=executed_digest, arguments=arguments)


def _decide(
    call: ToolCall,
    digest: str,
    by: Actor,
    *,
    verdict: Verdict,
    executed_digest: str = "",
    arguments: str | None = None,
    reason: str = "",
    grant: Grant | None = None,
) -> None:
    if unasked := unasked_reason(call, by.user_id):  # the function below refuses it, too
        raise CallClosedError(unasked)
    parameters = (
        call.run_id,
        call.call_id,
        digest,
        verdict.value,
        arguments,
        executed_digest,
        reason,
        by.user_id,
        by.name,
        by.via,
        grant.pk if grant is not None else None,
    )
    ring = call_function(
        "SELECT heartbit_decide(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", parameters
    )
    details: dict[str, Any] = {
        **({"runs": executed_digest} if arguments is not None else {}),
        **({"reason": reason} if reason else {}),
        **({"grant": grant.pk} if grant is not None else {}),
    }
    record_of_call(by, f"approval.{_ACTIONS[verdict]}", call, digest=digest, **details)
    wake_run(ring)
    notify_on_commit(call.run.workspace_id, "runs", "calls")


@transaction.atomic
def revoke_grants(grants: Iterable[Grant], *, by: Actor) -> int:
    """End the grants that are not revoked yet, from the next call on; return their number.

    Raises:
        ForbiddenError: A grant is another person's, and the author does not manage the workspace.
    """
    grants = list(grants)
    for grant in grants:
        if grant.user_id is None or grant.user_id != by.user_id:
            require(by, "workspace:manage", workspace_id=grant.workspace_id)
    valid = Grant.objects.filter(revoked_at__isnull=True)
    now = timezone.now()
    ended = [one for one in grants if valid.filter(pk=one.pk).update(revoked_at=now)]
    for grant in ended:  # last: the audit's chain is locked from here on
        record_on(by, "grant.revoke", grant)
    return len(ended)
