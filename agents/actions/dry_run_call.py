"""Dry-run a tool call that waits for a person: show its changes without keeping them.

Only transactional tools have dry runs: their whole effect is in the database and is rolled back.
"""

from __future__ import annotations

from typing import NoReturn

import httpx
from django.db import transaction

from agents.approvals.deciders import unasked_reason
from agents.dry_runs.changes_view import DryRunOut
from agents.dry_runs.rollback_run import rehearse
from agents.errors import CallClosedError, DryRunUnavailableError, InvalidEditError
from agents.limits.pauses import stopped_tools
from agents.models import Run, ToolCall
from agents.querysets import calls_waiting, shown_tool
from agents.reads.agents import definition_of
from agents.runs.acting_person import acts_for
from agents.runs.run_audit import record_of_call
from agents.runtime.toolset.call_context import context_factory
from agents.runtime.toolset.offer import OfferedTools, offered_tools
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec
from tools.calls import pipeline
from tools.calls.approval import digest as digest_of
from tools.calls.pipeline import PreparedCall
from tools.calls.result import ToolResult
from tools.credentials.choice import choose
from tools.definitions.registry import registry


def dry_run_call(
    call: ToolCall, *, digest: str, by: Actor, arguments: str | None = None
) -> DryRunOut:
    """Run the call as its run would, roll it back, and write an audit entry.

    Args:
        call: A call that waits for approval.
        digest: Digest of what the person saw.
        by: The person.
        arguments: A JSON object instead of the call's own arguments.

    Raises:
        CallClosedError: The call does not wait, or is not what was shown.
        DryRunUnavailableError: The tool is stopped, not transactional or not installed here, or the
            person may not decide the call.
        InvalidEditError: The arguments do not fit the tool.
        DryRunStoppedError: The call took too long, or waited for locks of other transactions.
    """
    require(by, "approvals:decide", workspace_id=call.run.workspace_id)
    _check_open(call, digest)
    _check_asked(call, by, is_edited=arguments is not None)
    person = acts_for(call.run_id)
    if arguments is not None and person != by.user_id:
        person = None  # as in its run, once another person wrote what it does
    prepared, executed_digest = _prepared(call, arguments, person)
    if arguments is None and executed_digest != digest:
        raise DryRunUnavailableError(
            f"The tool {prepared.spec.name} has changed since the call was shown: it cannot be "
            "tried."
        )
    with transaction.atomic():
        record_of_call(by, "approval.dry_run", call, digest=digest, runs=executed_digest)
    return rehearse(prepared)


def _check_open(call: ToolCall, digest: str) -> None:
    if not calls_waiting(call.run.workspace).filter(pk=call.pk).exists():
        raise CallClosedError("The call does not wait for a decision.")
    if call.digest != digest:
        raise CallClosedError("The call is not the one that was shown: look at it again.")


def _check_asked(call: ToolCall, by: Actor, *, is_edited: bool) -> None:
    """Refuse people who may not decide the call like this: a dry run shows what it does."""
    needed = (call.approval_view or {}).get("needed", 1)
    if reason := unasked_reason(call, by.user_id, "decide this call, or try it"):
        raise DryRunUnavailableError(reason)
    if is_edited and needed > 1:
        raise DryRunUnavailableError(
            f"The call needs {needed} people who approve it as it is: it is tried only as it is."
        )


def _find_spec(tool: str, offer: OfferedTools, workspace: Workspace) -> ToolSpec:
    """Return a tool that can be tried, because its effect can be undone."""
    spec = offer.specs.get(tool)
    if spec is None:
        raise DryRunUnavailableError(
            f"The tool {tool} has changed since the agent was published, or is not known here: it "
            "cannot be tried."
        )
    if spec.effect is not Effect.TRANSACTIONAL:
        raise DryRunUnavailableError(
            f"The tool {tool} is {spec.effect.value}, not transactional: what it does could not "
            "be undone, so it cannot be tried."
        )
    who = stopped_tools(workspace).get(tool)
    if who is not None:
        raise DryRunUnavailableError(f"The tool {tool} was stopped by {who}: it cannot be tried.")
    return spec


def _prepared(
    call: ToolCall, arguments: str | None, person: int | None
) -> tuple[PreparedCall, str]:
    """Return the call that would run for a person, and its digest."""
    run = call.run
    definition = definition_of(run.version)
    offer = offered_tools(
        definition, registry, is_child=run.is_sub_agent, has_parent=run.parent_id is not None
    )
    tool = shown_tool(call)
    spec = _find_spec(tool, offer, run.workspace)
    context = _context(run, call.call_id, person)
    bound = next((one for one in definition.tools if one.name == tool), None)
    names = {} if bound is None else bound.credentials
    needs = choose(spec, workspace_id=run.workspace_id, user_id=context.user_id, names=names)
    found = pipeline.prepare(
        offer.specs,
        name=tool,
        arguments=call.arguments if arguments is None else arguments,
        context=context,
        credentials={parameter: chosen.value for parameter, chosen in needs.items()},
        max_output_bytes=definition.max_tool_output_bytes,
        timeout_seconds=definition.call_seconds(bound),
    )
    if isinstance(found, ToolResult):
        raise InvalidEditError(" ".join(found.content.split()))
    if not isinstance(found, PreparedCall):
        raise TypeError("without a policy a call is prepared or answered")
    digest = digest_of(
        call.run_id,
        call.call_id,
        definition_hash=offer.hashes[tool],
        arguments=found.arguments,
        credentials={parameter: chosen.id for parameter, chosen in needs.items()},
    )
    return found, digest


def _context(run: Run, call_id: str, person: int | None) -> ToolContext:
    """Return the tool's context in its run, but without HTTP, which cannot be rolled back."""
    nowhere = httpx.AsyncClient(transport=httpx.MockTransport(_refused), trust_env=False)
    return context_factory(
        workspace_id=run.workspace_id,
        run_id=run.pk,
        root_id=run.root_id,
        agent=run.agent,
        http=nowhere,
        user_id=person,
        is_shared=person is None and run.root.started_user_id is not None,
        conversation_id=run.conversation_id,
    )(call_id)


def _refused(request: httpx.Request) -> NoReturn:
    raise DryRunUnavailableError("A dry run sends no requests: they could not be undone.")
