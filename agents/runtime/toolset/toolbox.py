"""Tools of one run: those of its version, behind the one pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from django.db import transaction

from agents.definitions.definition import AgentDefinition
from agents.journal.events import ApprovalLapsed, ApprovalRequested, ScriptCalled, ToolFinished
from agents.llm.messages import Message, ToolCall, ToolDefinition
from agents.loop import delegation, script_tools
from agents.loop.ports import ApprovedCall, ReadyCall
from agents.runs.acting_person import lock_and_ask
from agents.runtime.rights.lookups import CallLookups
from agents.runtime.rights.person import SHARED
from agents.runtime.toolset.approval_policy import approval_policy
from agents.runtime.toolset.call_checks import CallChecks
from agents.runtime.toolset.offer import OfferedTools
from agents.runtime.toolset.script_runs import ScriptRuns
from agents.runtime.toolset.stopped_tools import WorkspaceStoppedTools
from agents.runtime.toolset.transactional import execute_transactional
from agents.tracing import runs as traces
from heartbit_site.base import log_context, tracing
from heartbit_site.base.log_context import TRACEPARENT
from heartbit_site.base.orm import OrmExecutor
from heartbit_site.base.suspensions import QuestionReply, WaitOutcome
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec
from tools.calls import pipeline
from tools.calls.pipeline import CallJournal, PreparedCall, SuspendedCall
from tools.calls.result import ToolResult
from tools.definitions.registry import resolve
from tools.scripts.interpreter import ScriptInterpreter
from tools.scripts.steps import EndedScript, PausedScript

if TYPE_CHECKING:
    from agents.runtime.toolset.big_results import BigResults


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
        lookups: CallLookups,
        stopped: WorkspaceStoppedTools,
        results: BigResults | None = None,
        reader: ToolSpec | None = None,
        interpreter: ScriptInterpreter | None = None,
    ) -> None:
        """Take the run's tools and the lookups of permissions.

        Args:
            offer: Tools of the run.
            definition: Definition of its version.
            approve: True if every call needs approval.
            context: Builds the context of a call from its id.
            executor: Executor of tools that are plain functions.
            lookups: Standing permissions, credentials and rights.
            stopped: Tools that are disabled now, even for approved calls.
            results: Stores results that are too long for the model; None: they are cut.
            reader: Tool that reads stored results, offered once there are any.
            interpreter: Runs the scripts of code mode.
        """
        self._offered = offer.definitions
        self._reader = None if reader is None or reader.name in offer.specs else reader
        readers = {} if self._reader is None else {self._reader.name: self._reader}
        self._specs = {**offer.specs, **readers}
        self._definition = definition
        self._executor = executor
        self._stopped = stopped
        self._results = results
        self._for_scripts = script_tools.NAMES if definition.code_mode else frozenset[str]()
        self._scripts = (
            ScriptRuns(offer.specs, context, interpreter) if definition.code_mode else None
        )
        self._checks = CallChecks(
            OfferedTools(self._specs, offer.hashes, offer.withheld),
            definition,
            policy=approval_policy(definition, offer, approve=approve),
            context=context,
            lookups=lookups,
            stopped=stopped,
            unasked=self._for_scripts.union(readers),
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
        """Check a call before it runs; see ``Toolbox``."""
        return await self._checks.prepare(call_id, call, approved, reply)

    async def lapsed(self, call_id: str, key: str) -> ApprovalLapsed | None:
        """Return why the decision about a call is no longer valid; None: it is valid."""
        return await self._checks.lapsed(call_id, key)

    @property
    def free_threads(self) -> int:
        """Number of calls that would have a thread at once."""
        return self._executor.idle

    def acts_in_thread(self, ready: ReadyCall) -> bool:
        """Return True if the call is a plain function with an effect outside."""
        return pipeline.acts_outside(ready.prepared) and not ready.prepared.spec.is_async

    async def connect(self, ready: ReadyCall) -> ReadyCall | ToolResult:
        """Connect to what a call needs, before its intent; see ``pipeline.connect``."""
        with self._stopped.track_call(ready.prepared.spec.name) as stop:
            found = await pipeline.connect(ready.prepared, stop=stop)
        return found if isinstance(found, ToolResult) else replace(ready, prepared=found)

    async def execute(self, ready: ReadyCall, journal: CallJournal) -> ToolResult | SuspendedCall:
        """Run a call; ``journal`` records an external effect."""
        place = _place_in_trace(ready.prepared)
        with self._stopped.track_call(ready.prepared.spec.name) as stop, place:
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
            done = _for_its_person(ready.prepared)
            done = self.store(call_id, ready.prepared.spec.name, done)
            took = round((time.monotonic() - began) * 1000)
            effect = Effect.TRANSACTIONAL
            return ToolFinished(
                call_id,
                done.status,
                done.content,
                effect,
                took,
                ready.grant,
                done.artifact,
                done.images,
            )

        return body

    def store(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a long result from a tool's thread; see ``Toolbox``."""
        if self._results is None or not (done.whole or done.pictures):
            return done
        return self._results.store(call_id, self._tool_name(name), done)

    async def store_from_loop(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a long result from the loop; see ``Toolbox``."""
        if self._results is None or not (done.whole or done.pictures):
            return done
        return await self._results.store_from_loop(call_id, self._tool_name(name), done)

    def _tool_name(self, name: str) -> str:
        """Return the tool's own name, since a model may write any text as a name."""
        spec = resolve(self._specs, name)
        return "result" if spec is None else spec.name

    def is_script(self, ready: ReadyCall) -> bool:
        """Return True if the call runs a script; see ``Toolbox``."""
        return self._scripts is not None and ready.prepared.spec.name == script_tools.RUN

    async def advance_script(
        self, ready: ReadyCall, rounds: Sequence[ScriptCalled], results: Mapping[str, ToolFinished]
    ) -> PausedScript | EndedScript:
        """Advance a script to its next calls, or to its end; see ``Toolbox``."""
        if self._scripts is None:
            raise TypeError("only an agent in code mode has scripts")
        script = str(ready.prepared.keywords["script"])
        return await self._scripts.advance(script, rounds, results)

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> ToolResult:
        """Return the result of a call whose waits are all resolved."""
        spec = resolve(self._specs, call.name)
        if spec is None:
            return ToolResult(f"The tool {call.name} is gone.", "error")
        return pipeline.resume(
            spec, outcomes, max_output_bytes=self._definition.max_tool_output_bytes
        )


def _place_in_trace(prepared: PreparedCall) -> AbstractContextManager[None]:
    """Return the context of a call whose tool may start runs, or trace what it does itself."""
    context = prepared.keywords.get(prepared.spec.context_parameter or "")
    if not isinstance(context, ToolContext) or not TRACEPARENT.get():
        return nullcontext()
    span = tracing.span_id(context.run_id, tracing.call(context.call_id))
    return traces.within(tracing.format_traceparent(log_context.trace_id(), span))


def _for_its_person(prepared: PreparedCall) -> ToolResult:
    """Run a transactional call; roll it back if another person spoke in its run meanwhile."""
    parameter = prepared.spec.context_parameter
    context: ToolContext | None = prepared.keywords[parameter] if parameter is not None else None
    if context is None or context.user_id is None:
        return execute_transactional(prepared, around=transaction.atomic)
    with transaction.atomic():
        done = execute_transactional(prepared, around=transaction.atomic)
        if lock_and_ask(context.root_id, context.run_id) == context.user_id:
            return done
        transaction.set_rollback(True)
    return ToolResult(f"{SHARED} The call was undone: make it again if it is of use so.", "refused")
