"""Checks that each call of a run passes before it runs: credentials, policy, approval, digest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agents.definitions.definition import AgentDefinition
from agents.journal.events import ApprovalLapsed, ApprovalRequested
from agents.llm.messages import ToolCall
from agents.loop.ports import ApprovedCall, ReadyCall
from agents.runtime.rights.lookups import CallLookups
from agents.runtime.toolset.approval_policy import name_credentials, require_always
from agents.runtime.toolset.offer import UNBOUND, OfferedTools, permissions_of
from agents.runtime.toolset.stopped_tools import WorkspaceStoppedTools
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.suspensions import QuestionReply
from heartbit_site.base.toolspec import ToolContext, ToolSpec
from tools.calls import pipeline
from tools.calls.approval import digest
from tools.calls.permissions import refusal
from tools.calls.pipeline import PendingApprovalCall, Policy, PreparedCall
from tools.calls.result import ToolResult
from tools.definitions.registry import resolve

if TYPE_CHECKING:
    from tools.credentials.choice import ChosenCredential


class CallChecks:
    """Checks of one run's calls.

    Args:
        offer: Tools of the run.
        definition: Definition of its version.
        policy: Decides which calls need an approval.
        context: Builds the context of a call from its id.
        lookups: Standing permissions, credentials and rights.
        stopped: Tools that are disabled now, even for approved calls.
        unasked: Names of tools that never need an approval: they show results of the run's own
            calls, or make calls that have their own approvals.
    """

    def __init__(
        self,
        offer: OfferedTools,
        definition: AgentDefinition,
        *,
        policy: Policy,
        context: Callable[[str], ToolContext],
        lookups: CallLookups,
        stopped: WorkspaceStoppedTools,
        unasked: Collection[str],
    ) -> None:
        self._specs = offer.specs
        self._hashes = offer.hashes
        self._withheld = offer.withheld
        self._definition = definition
        self._bound = {tool.name: tool for tool in definition.tools}
        self._policy = policy
        self._context = context
        self._lookups = lookups
        self._stopped = stopped
        self._unasked = unasked

    async def prepare(
        self,
        call_id: str,
        call: ToolCall,
        approved: ApprovedCall | None,
        reply: QuestionReply | None = None,
    ) -> ReadyCall | ToolResult | ApprovalRequested:
        """Check a call before it runs; see ``pipeline.prepare``."""
        spec = resolve(self._specs, call.name)
        given = UNBOUND if spec is None else self._bound.get(spec.name, UNBOUND)
        context = replace(
            await self._with_person(spec, self._context(call_id)),
            reply=reply,
            knowledge_bases=tuple(given.knowledge_bases),
        )
        needs = await self._needs(call)
        if isinstance(needs, ToolResult):
            return needs
        if approved is not None:
            return self._decided(call, context, approved, needs)
        mixed = None if spec is None else await self._lookups.mixed(spec)
        policy: Policy | None = self._policy if mixed is None else require_always(mixed)
        if spec is not None and spec.name in self._unasked:
            policy = None
        found = self._prepare(call, call.arguments, context, policy, needs)
        if not isinstance(found, PendingApprovalCall):
            return ReadyCall(found) if isinstance(found, PreparedCall) else found
        # A standing permission precedes any data read since that could steer the call.
        grant = await self._standing_grant(found.spec) if mixed is None else None
        if grant is not None:
            allowed = self._prepare(call, call.arguments, context, None, needs)
            return (
                ReadyCall(allowed, grant)
                if isinstance(allowed, PreparedCall)
                else _answered(allowed)
            )
        return self._approval_of(found, context, needs, mixed_data=mixed is not None)

    async def _standing_grant(self, spec: ToolSpec) -> int | None:
        """Return the id of the standing permission that replaces one person's approval, if any.

        It cannot replace several approvals or answer a question.
        """
        bound = self._bound.get(spec.name, UNBOUND)
        is_question = spec.answer_parameter is not None
        if bound.required_approvals != 1 or bound.approver_group or is_question:
            return None
        return await self._lookups.granted(spec.name, self._hashes[spec.name])

    def _approval_of(
        self,
        found: PendingApprovalCall,
        context: ToolContext,
        needs: Mapping[str, ChosenCredential],
        *,
        mixed_data: bool,
    ) -> ApprovalRequested:
        """Return the question to people whether a call may run."""
        bound = self._bound.get(found.spec.name, UNBOUND)
        is_question = found.spec.answer_parameter is not None
        minutes = bound.escalate_after_minutes
        return ApprovalRequested(
            call_id=context.call_id,
            tool=found.spec.name,
            arguments=dict(found.arguments),
            effect=found.spec.effect.value,
            digest=self._digest(context, found.spec, found.arguments, needs),
            reason=name_credentials(found.reason, needs),
            timeout_seconds=bound.approval_timeout_seconds
            or self._definition.approval_timeout_seconds,
            needed=1 if is_question else bound.required_approvals,
            group=bound.approver_group,
            escalate_seconds=None if minutes is None else minutes * 60,
            escalate_group=bound.escalation_group,
            mixed_data=mixed_data,
            credentials={parameter: chosen.id for parameter, chosen in needs.items()},
        )

    async def lapsed(self, call_id: str, key: str) -> ApprovalLapsed | None:
        """Return why the decision about a call is no longer valid; None: it is valid."""
        who = await self._lookups.lost(key)
        if who is None:
            return None
        reason = f"{who} let the call run, but lost the right to decide: it needs a new approval."
        return ApprovalLapsed(call_id, key, reason)

    async def _with_person(self, spec: ToolSpec | None, context: ToolContext) -> ToolContext:
        """Return the context of a call for the person that the run acts for now."""
        if spec is None or spec.context_parameter is None or context.user_id is None:
            return context
        person = await self._lookups.person()
        return replace(context, user_id=person, is_shared=person is None)

    async def _needs(self, call: ToolCall) -> Mapping[str, ChosenCredential] | ToolResult:
        """Return the credentials of a call, or a refusal without its person or a credential."""
        spec = resolve(self._specs, call.name)
        bound = UNBOUND if spec is None else self._bound.get(spec.name, UNBOUND)
        if spec is None:
            missing = self._withheld.get(call.name, frozenset())
            return await self._refused(call.name, missing) if missing else {}
        required = permissions_of(bound, spec)
        if not (spec.credentials or required):
            return {}
        missing = required - await self._lookups.permissions(required) if required else required
        if missing:
            return await self._refused(spec.name, missing)
        try:
            return await self._lookups.credentials(spec, bound.credentials)
        except HeartbitError as error:
            return ToolResult(str(error), "refused")

    async def _refused(self, tool: str, missing: frozenset[str]) -> ToolResult:
        person = await self._lookups.person()
        text = await orm.read_in_thread(partial(refusal, tool, missing, person))
        return ToolResult(text, "refused")

    def _decided(
        self,
        call: ToolCall,
        context: ToolContext,
        approved: ApprovedCall,
        needs: Mapping[str, ChosenCredential],
    ) -> ReadyCall | ToolResult:
        arguments = call.arguments if approved.arguments is None else approved.arguments
        found = self._prepare(call, arguments, context, None, needs, answered=True)
        if not isinstance(found, PreparedCall):
            return _answered(found)
        if self._digest(context, found.spec, found.arguments, needs) != approved.digest:
            text = f"{found.spec.name} has changed since it was approved: it was not run."
            return ToolResult(text, "refused")
        return ReadyCall(found)

    def _prepare(
        self,
        call: ToolCall,
        arguments: str,
        context: ToolContext,
        policy: Policy | None,
        needs: Mapping[str, ChosenCredential],
        *,
        answered: bool = False,
    ) -> PreparedCall | PendingApprovalCall | ToolResult:
        spec = resolve(self._specs, call.name)
        refusal = None if spec is None else self._stopped.stop_reason(spec.name)
        if refusal is not None:
            return ToolResult(refusal, "refused")
        bound = None if spec is None else self._bound.get(spec.name)
        return pipeline.prepare(
            self._specs,
            name=call.name,
            arguments=arguments,
            context=context,
            policy=policy,
            max_output_bytes=self._definition.max_tool_output_bytes,
            timeout_seconds=self._definition.call_seconds(bound),
            answered=answered,
            credentials={parameter: chosen.value for parameter, chosen in needs.items()},
        )

    def _digest(
        self,
        context: ToolContext,
        spec: ToolSpec,
        arguments: Mapping[str, object],
        needs: Mapping[str, ChosenCredential],
    ) -> str:
        return digest(
            context.run_id,
            context.call_id,
            definition_hash=self._hashes[spec.name],
            arguments=arguments,
            credentials={parameter: chosen.id for parameter, chosen in needs.items()},
        )


def _answered(found: PendingApprovalCall | ToolResult | PreparedCall) -> ToolResult:
    if not isinstance(found, ToolResult):
        raise TypeError("without a policy a call is prepared or answered")
    return found
