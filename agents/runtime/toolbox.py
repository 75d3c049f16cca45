"""The tools of one run: what its version was given, behind the one pipeline."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from django.db import transaction

from agents import delegation
from agents.events import ToolFinished
from agents.llm.messages import Message, ToolCall, ToolDefinition
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec, WaitOutcome
from tools import pipeline
from tools.pipeline import Done, Prepared, Waiting
from tools.registry import Registry, definition_hash, resolve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Executor
    from uuid import UUID

    import httpx

    from agents.loop.definition import AgentDefinition

logger = logging.getLogger(__name__)


def specs_for(
    definition: AgentDefinition, registry: Registry, *, is_child: bool
) -> dict[str, ToolSpec]:
    """The tools a run of this version is offered, by name, in a stable order.

    A tool whose definition changed since the version was published is left out: what the model is
    offered is exactly what was published. A sub-agent cannot delegate (the hierarchy is flat).
    """
    specs: dict[str, ToolSpec] = {}
    if definition.team and not is_child:
        specs[delegation.NAME] = delegation.delegate_task(definition)
    for name, pinned in definition.tools:
        spec = registry.get(name)
        if spec is None or definition_hash(spec) != pinned:
            logger.warning(
                "tool %s of agent %s changed since it was published: publish the agent again",
                name,
                definition.name,
            )
            continue
        specs[name] = spec
    return specs


class RunToolbox:
    """Implements the loop's ``Toolbox`` port for one run."""

    def __init__(
        self,
        specs: dict[str, ToolSpec],
        definition: AgentDefinition,
        *,
        context: Callable[[str], ToolContext],
        executor: Executor,
    ) -> None:
        self._specs = specs
        self._definition = definition
        self._context = context
        self._executor = executor
        self._offered = tuple(
            ToolDefinition(spec.name, spec.description, dict(spec.parameters))
            for spec in specs.values()
        )

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is offered, in a stable order."""
        return self._offered

    def examples(self) -> tuple[Message, ...]:
        """Worked calls, when the run may delegate."""
        if delegation.NAME not in self._specs:
            return ()
        return delegation.examples([name for name, _ in self._definition.team])

    def effect(self, name: str) -> str:
        """The effect class of the tool that ``name`` resolves to; empty when there is none."""
        spec = resolve(self._specs, name)
        return spec.effect.value if spec is not None else ""

    async def invoke(
        self, call_id: str, call: ToolCall, intent: Callable[[], Awaitable[None]]
    ) -> Done | Waiting:
        """Run one call through the pipeline."""
        return await pipeline.invoke(
            self._specs,
            name=call.name,
            arguments=call.arguments,
            context=self._context(call_id),
            executor=self._executor,
            max_output_bytes=self._definition.max_tool_output_bytes,
            timeout_seconds=self._definition.tool_timeout_seconds,
            intent=intent,
        )

    def transaction(self, call_id: str, call: ToolCall) -> Callable[[], ToolFinished]:
        """A transactional call as a plain function: run it inside the journal's transaction."""
        context = self._context(call_id)
        definition = self._definition

        def body() -> ToolFinished:
            began = time.monotonic()
            done: Prepared | Done | Waiting = pipeline.prepare(
                self._specs,
                name=call.name,
                arguments=call.arguments,
                context=context,
                max_output_bytes=definition.max_tool_output_bytes,
            )
            if isinstance(done, Prepared):
                # The savepoint undoes a tool that failed; its answer is journaled all the same.
                done = pipeline.execute_here(done, around=transaction.atomic)
            if isinstance(done, Waiting):
                done = Done(f"{call.name} is transactional and cannot wait.", "error")
            took = round((time.monotonic() - began) * 1000)
            return ToolFinished(call_id, done.status, done.content, Effect.TRANSACTIONAL, took)

        return body

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> Done:
        """The result of a call whose waits are all resolved."""
        spec = resolve(self._specs, call.name)
        if spec is None:
            return Done(f"The tool {call.name} is gone.", "error")
        return pipeline.resume(
            spec, outcomes, max_output_bytes=self._definition.max_tool_output_bytes
        )


def context_factory(
    *, workspace_id: int, run_id: UUID, root_id: UUID, agent: str, http: httpx.AsyncClient
) -> Callable[[str], ToolContext]:
    """Builds the context of each call of one run."""

    def build(call_id: str) -> ToolContext:
        return ToolContext(
            workspace_id=workspace_id,
            run_id=run_id,
            root_id=root_id,
            agent=agent,
            call_id=call_id,
            idempotency_key=f"{run_id}:{call_id}",
            http=http,
        )

    return build
