"""Tools of one run: those of its version, behind the one pipeline."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction

from agents.definitions.definition import BoundTool
from agents.journal.events import ApprovalLapsed, ApprovalRequested, ToolFinished
from agents.llm.messages import Message, ToolCall, ToolDefinition
from agents.loop import delegation, skills
from agents.loop.ports import ApprovedCall, ReadyCall
from agents.runtime.big_results import read_stored, store_file
from agents.runtime.skill_files import read_skill
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.jsonschema import fits
from heartbit_site.base.toolspec import Effect, QuestionReply, ToolContext, ToolSpec, WaitOutcome
from tools import pipeline
from tools.approval import digest
from tools.permissions import refusal
from tools.pipeline import PendingApprovalCall, Policy, PreparedCall, RequireApproval, SuspendedCall
from tools.registry import definition_hash, resolve
from tools.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from uuid import UUID

    import httpx

    from agents.definitions.definition import AgentDefinition
    from agents.runtime.big_results import BigResults
    from agents.runtime.stopped_tools import WorkspaceStoppedTools
    from heartbit_site.base.orm import OrmExecutor
    from tools.credentials.choice import ChosenCredential
    from tools.pipeline import CallJournal

logger = logging.getLogger(__name__)

_UNBOUND = BoundTool(name="", pinned="")  # for delegating, which has no binding

# Returns the standing permission for a tool by its name and pinned hash, if there is one.
GrantLookup = Callable[[str, str], Awaitable[int | None]]
# Chooses the credentials of a call by the names that its binding gives; raises HeartbitError.
CredentialLookup = Callable[
    [ToolSpec, "Mapping[str, str]"], Awaitable["Mapping[str, ChosenCredential]"]
]
# Returns those of some permissions that the person behind the run has.
PermissionLookup = Callable[[frozenset[str]], Awaitable[frozenset[str]]]
# Returns why a tool's call needs an approval for what the run tree has read; None: it does not.
MixedDataRule = Callable[[ToolSpec], Awaitable[str | None]]
# Returns the approver who decided the wait of that key and has lost the right to decide.
RevokedRightLookup = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Tools of one run by name, in a stable order, with their published hashes."""

    specs: dict[str, ToolSpec]
    hashes: dict[str, str]


def offered_tools(
    definition: AgentDefinition,
    tools: Mapping[str, ToolSpec],
    *,
    is_child: bool,
    permissions: frozenset[str] | None = None,
) -> OfferedTools:
    """Return the tools that a run of this version is offered.

    A tool whose definition changed since the version was published is left out: the model is
    offered exactly what was published. A sub-agent cannot delegate (the hierarchy is flat).

    Args:
        definition: Definition of the version.
        tools: Tools by name. A process that calls them passes its registry; one that only shows or
            reads calls ``tools.catalogue.catalogue``.
        is_child: True for a sub-agent's run.
        permissions: Those of the ``required_permissions`` that the person behind the run has:
            tools that require another one are left out. None: the tools are only shown or read.
    """
    offer = OfferedTools({}, {})
    if definition.team and not is_child:
        spec = delegation.delegate_task(definition)
        offer.specs[spec.name] = spec
        offer.hashes[spec.name] = definition_hash(spec)
    for spec in _skill_tools(definition, tools):
        offer.specs[spec.name] = spec
        offer.hashes[spec.name] = definition_hash(spec)
    for tool in definition.tools:
        known = tools.get(tool.name)
        if permissions is not None and not _required(tool, known) <= permissions:
            continue
        if known is None or definition_hash(known) != tool.pinned:
            logger.warning(
                "tool %s of agent %s changed since it was published: publish the agent again",
                tool.name,
                definition.name,
            )
            continue
        offer.specs[tool.name] = _with_defaults(known, tool.defaults)
        offer.hashes[tool.name] = tool.pinned
    return offer


def _skill_tools(definition: AgentDefinition, tools: Mapping[str, ToolSpec]) -> Iterator[ToolSpec]:
    """Yield the tools that read skills, if the version has any, with the skills' names."""
    names = [skill.name for skill in definition.pinned_skills]
    for spec in (tools[name] for name in skills.TOOLS if names and name in tools):
        properties = spec.parameters["properties"]
        named = properties | {"name": properties["name"] | {"enum": names}}
        yield replace(spec, parameters={**spec.parameters, "properties": named})


def required_permissions(
    definition: AgentDefinition, tools: Mapping[str, ToolSpec]
) -> frozenset[str]:
    """Return the permissions that the tools of a version, or their bindings, require."""
    found = (_required(tool, tools.get(tool.name)) for tool in definition.tools)
    return frozenset[str]().union(*found)


def _required(bound: BoundTool, spec: ToolSpec | None) -> frozenset[str]:
    return frozenset({bound.requires, "" if spec is None else spec.requires} - {""})


def _with_defaults(spec: ToolSpec, defaults: Mapping[str, Any]) -> ToolSpec:
    """Return the tool with the binding's defaults, which the model may omit."""
    if not defaults:
        return spec
    required = [name for name in spec.parameters.get("required", ()) if name not in defaults]
    return replace(spec, defaults=defaults, parameters={**spec.parameters, "required": required})


def approval_policy(definition: AgentDefinition, offer: OfferedTools, *, approve: bool) -> Policy:
    """Return the policy for approvals: the run's, else the tool's, else the agent's."""
    bound = {tool.name: tool for tool in definition.tools}

    def policy(spec: ToolSpec, arguments: Mapping[str, Any]) -> RequireApproval | None:
        tool = bound.get(spec.name)
        rule = definition.approval if tool is None or not tool.approval else tool.approval
        if approve:
            return RequireApproval("Every tool call of this run is asked for.")
        match rule:
            case "always":
                return RequireApproval(f"{definition.name} asks before it uses {spec.name}.")
            case "effects" if spec.effect is not Effect.PURE:
                return RequireApproval(
                    f"{definition.name} asks before it uses tools that have an effect."
                )
            case "when" if tool is not None and tool.approval_when is not None:
                # A rule that cannot be evaluated requires approval.
                if fits(tool.approval_when, dict(arguments)) is not False:
                    return RequireApproval(
                        f"{definition.name} asks before it uses {spec.name} like this."
                    )
        return None

    return policy


def _asking(reason: str) -> Policy:
    """Return the policy that requires approval of every call, for this reason."""
    return lambda _spec, _arguments: RequireApproval(reason)


def _with_credentials(reason: str, needs: Mapping[str, ChosenCredential]) -> str:
    """Return the reason of an approval with the credentials that the call would use."""
    if not needs:
        return reason
    used = ", ".join(f"{chosen.name} ({chosen.value.label})" for chosen in needs.values())
    return f"{reason} It uses the credential {used}."


def _answered(found: PendingApprovalCall | ToolResult | PreparedCall) -> ToolResult:
    if not isinstance(found, ToolResult):
        raise TypeError("without a policy a call is prepared or answered")
    return found


class RunToolbox:
    """Implementation of the loop's ``Toolbox`` port for one run."""

    def __init__(
        self,
        offer: OfferedTools,
        definition: AgentDefinition,
        *,
        approve: bool,
        context: Callable[[str], ToolContext],
        executor: OrmExecutor,
        granted: GrantLookup,
        lost: RevokedRightLookup,
        stopped: WorkspaceStoppedTools,
        credentials: CredentialLookup,
        permissions: PermissionLookup,
        mixed: MixedDataRule,
        results: BigResults | None = None,
        reader: ToolSpec | None = None,
    ) -> None:
        """Take the run's tools and the lookups of permissions.

        Args:
            offer: Tools of the run.
            definition: Definition of its version.
            approve: True if every call needs approval.
            context: Builds the context of a call from its id.
            executor: Executor of tools that are plain functions.
            granted: Looks up a standing permission.
            lost: Looks up an approver who lost the right to decide.
            stopped: Tools that are disabled now, whatever was approved before.
            credentials: Chooses the credentials of a call.
            permissions: Looks up the permissions of the person behind the run.
            mixed: Asks for an approval of calls that send data out.
            results: Stores results that are too long for the model; None: they are cut.
            reader: Tool that reads these, offered once there is one.
        """
        self._specs = offer.specs
        self._results = results
        self._reader = None if reader is None or reader.name in offer.specs else reader
        if self._reader is not None:
            self._specs = {**offer.specs, self._reader.name: self._reader}
        self._hashes = offer.hashes
        self._definition = definition
        self._bound = {tool.name: tool for tool in definition.tools}
        self._policy = approval_policy(definition, offer, approve=approve)
        self._context = context
        self._executor = executor
        self._granted = granted
        self._lost = lost
        self._stopped = stopped
        self._credentials = credentials
        self._permissions = permissions
        self._mixed = mixed
        self._offered = tuple(
            ToolDefinition(spec.name, spec.description, dict(spec.parameters))
            for spec in offer.specs.values()
        )

    def definitions(self, *, with_artifacts: bool = False) -> tuple[ToolDefinition, ...]:
        """Return the tools that the model is offered; see ``Toolbox``."""
        reader = self._reader
        if reader is None or not with_artifacts:
            return self._offered
        definition = ToolDefinition(reader.name, reader.description, dict(reader.parameters))
        return (*self._offered, definition)

    def examples(self) -> tuple[Message, ...]:
        """Return example calls if the run may delegate."""
        if delegation.NAME not in self._specs:
            return ()
        return delegation.examples([name for name, _ in self._definition.team])

    def effect(self, name: str) -> str:
        """Return the effect class of the tool that ``name`` resolves to, or an empty string."""
        spec = resolve(self._specs, name)
        return spec.effect.value if spec is not None else ""

    async def prepare(
        self,
        call_id: str,
        call: ToolCall,
        approved: ApprovedCall | None,
        reply: QuestionReply | None = None,
    ) -> ReadyCall | ToolResult | ApprovalRequested:
        """Check a call before it runs; see ``pipeline.prepare``."""
        context = replace(self._context(call_id), reply=reply)
        needs = await self._needs(call)
        if isinstance(needs, ToolResult):
            return needs
        if approved is not None:
            return self._decided(call, context, approved, needs)
        spec = resolve(self._specs, call.name)
        mixed = None if spec is None else await self._mixed(spec)
        policy: Policy | None = self._policy if mixed is None else _asking(mixed)
        if spec is not None and spec is self._reader:
            policy = None  # it shows what the run's own calls returned
        found = self._prepare(call, call.arguments, context, policy, needs)
        if not isinstance(found, PendingApprovalCall):
            return ReadyCall(found) if isinstance(found, PreparedCall) else found
        bound = self._bound.get(found.spec.name, _UNBOUND)
        # One person's standing permission cannot replace several approvals, or answer a question,
        # and was given before what was read since could steer the call.
        is_question = found.spec.answer_parameter is not None
        alone = bound.required_approvals == 1 and not bound.approver_group and not is_question
        alone = alone and mixed is None
        pinned = self._hashes[found.spec.name]
        grant = await self._granted(found.spec.name, pinned) if alone else None
        if grant is not None:
            allowed = self._prepare(call, call.arguments, context, None, needs)
            return (
                ReadyCall(allowed, grant)
                if isinstance(allowed, PreparedCall)
                else _answered(allowed)
            )
        escalate_after_minutes = bound.escalate_after_minutes
        return ApprovalRequested(
            call_id=call_id,
            tool=found.spec.name,
            arguments=dict(found.arguments),
            effect=found.spec.effect.value,
            digest=self._digest(context, found.spec, found.arguments, needs),
            reason=_with_credentials(found.reason, needs),
            timeout_seconds=bound.approval_timeout_seconds
            or self._definition.approval_timeout_seconds,
            needed=1 if is_question else bound.required_approvals,
            group=bound.approver_group,
            escalate_seconds=None
            if escalate_after_minutes is None
            else escalate_after_minutes * 60,
            escalate_group=bound.escalation_group,
            mixed_data=mixed is not None,
            credentials={parameter: chosen.id for parameter, chosen in needs.items()},
        )

    async def lapsed(self, call_id: str, key: str) -> ApprovalLapsed | None:
        """Return why the decision about a call is no longer valid; None: it is valid."""
        who = await self._lost(key)
        if who is None:
            return None
        reason = f"{who} let the call run, but lost the right to decide: it is asked about again."
        return ApprovalLapsed(call_id, key, reason)

    async def _needs(self, call: ToolCall) -> Mapping[str, ChosenCredential] | ToolResult:
        """Return the credentials of a call, or the refusal if the person or a credential lacks."""
        spec = resolve(self._specs, call.name)
        bound = _UNBOUND if spec is None else self._bound.get(spec.name, _UNBOUND)
        required = _required(bound, spec)
        if spec is None or not (spec.credentials or required):
            return {}
        missing = required - await self._permissions(required) if required else required
        if missing:
            return ToolResult(refusal(spec.name, missing), "refused")
        try:
            return await self._credentials(spec, bound.credentials)
        except HeartbitError as error:
            return ToolResult(str(error), "refused")

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
        return pipeline.prepare(
            self._specs,
            name=call.name,
            arguments=arguments,
            context=context,
            policy=policy,
            max_output_bytes=self._definition.max_tool_output_bytes,
            timeout_seconds=self._definition.tool_timeout_seconds,
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

    @property
    def free_threads(self) -> int:
        """Number of calls that would have a thread at once."""
        return self._executor.idle

    def acts_in_thread(self, ready: ReadyCall) -> bool:
        """Return True if the call is a plain function with an effect outside."""
        return pipeline.acts_outside(ready.prepared) and not ready.prepared.spec.is_async

    async def execute(self, ready: ReadyCall, journal: CallJournal) -> ToolResult | SuspendedCall:
        """Run a call; ``journal`` records an external effect."""
        with self._stopped.track_call(ready.prepared.spec.name) as stop:
            return await pipeline.execute(
                ready.prepared, executor=self._executor, journal=journal, stop=stop
            )

    def transaction(self, call_id: str, ready: ReadyCall) -> Callable[[], ToolFinished]:
        """Return a transactional call as a function to run in the journal's transaction."""

        def body() -> ToolFinished:
            refusal = self._stopped.stop_reason(ready.prepared.spec.name)
            if refusal is not None:
                return ToolFinished(call_id, "refused", refusal, Effect.TRANSACTIONAL)
            began = time.monotonic()
            done = execute_transactional(ready.prepared, around=transaction.atomic)
            done = self.store(call_id, ready.prepared.spec.name, done)
            took = round((time.monotonic() - began) * 1000)
            effect = Effect.TRANSACTIONAL
            return ToolFinished(
                call_id, done.status, done.content, effect, took, ready.grant, done.artifact
            )

        return body

    def store(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a long result from a tool's thread; see ``Toolbox``."""
        if not done.whole or self._results is None:
            return done
        return self._results.store(call_id, self._tool_name(name), done)

    async def store_from_loop(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a long result from the loop; see ``Toolbox``."""
        if not done.whole or self._results is None:
            return done
        store = partial(self._results.store, call_id, self._tool_name(name), done)
        return await orm.run_in_thread(store)

    def _tool_name(self, name: str) -> str:
        """Return the tool's own name, since the model's may be any text."""
        spec = resolve(self._specs, name)
        return "result" if spec is None else spec.name

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> ToolResult:
        """Return the result of a call whose waits are all resolved."""
        spec = resolve(self._specs, call.name)
        if spec is None:
            return ToolResult(f"The tool {call.name} is gone.", "error")
        return pipeline.resume(
            spec, outcomes, max_output_bytes=self._definition.max_tool_output_bytes
        )


def execute_transactional(
    prepared: PreparedCall, *, around: Callable[[], AbstractContextManager[object]]
) -> ToolResult:
    """Run a transactional call in the caller's transaction.

    Args:
        prepared: Prepared call.
        around: Savepoint that rolls back a failed tool; its result is still returned.
    """
    done = pipeline.execute_here(prepared, around=around)
    if isinstance(done, SuspendedCall):
        return ToolResult(f"{prepared.spec.name} is transactional and cannot wait.", "error")
    return done


def context_factory(
    *,
    workspace_id: int,
    run_id: UUID,
    root_id: UUID,
    agent: str,
    http: httpx.AsyncClient,
    user_id: int | None = None,
    conversation_id: UUID | None = None,
) -> Callable[[str], ToolContext]:
    """Return a function that builds the context of each call of one run."""

    def build(call_id: str) -> ToolContext:
        return ToolContext(
            workspace_id=workspace_id,
            run_id=run_id,
            root_id=root_id,
            agent=agent,
            call_id=call_id,
            idempotency_key=f"{run_id}:{call_id}",
            http=http,
            user_id=user_id,
            conversation_id=conversation_id,
            read_artifact=partial(read_stored, root_id),
            store_artifact=partial(store_file, run_id, root_id, call_id),
            read_skill=partial(read_skill, run_id),
        )

    return build
