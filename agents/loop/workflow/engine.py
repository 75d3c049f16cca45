"""Engine of a workflow's run: serve the nodes of a superstep, route their results, commit.

Everything that a later slice needs is in the journal: results of nodes, and commits with what the
conditions decided. So a slice begins wherever an earlier one crashed, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agents.journal.events import RunFailed, RunPaused, RunSucceeded
from agents.journal.events.event import Event
from agents.loop import review
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.limits import OVERDUE, seconds_until_overdue
from agents.loop.protocol import Outcome
from agents.loop.tool_calls import Held, ToolCallRunner
from agents.loop.workflow.nodes import TOOL_OF_WORK, WAITING
from agents.loop.workflow.state import WorkflowState, pause_key
from agents.loop.workflow.toolbox import HOLD_SECONDS, NodeToolbox
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.records import Activation
from agents.workflows.routing.outcome import GraphFailed, GraphSucceeded, TooLongError
from agents.workflows.routing.route import is_due, output_so_far, route
from agents.workflows.spec.node import NodeSpec
from agents.workflows.state import GraphState

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

#: Time that the loop may be held.
SHORT_SECONDS: Final = 0.005


class WorkflowEngine:
    """Implementation of ``Engine`` for the kind ``workflow``."""

    def __init__(
        self,
        journaled: JournaledState[WorkflowState],
        definition: AgentDefinition,
        toolbox: NodeToolbox,
        gate: EffectGate,
    ) -> None:
        self._journaled = journaled
        self._state = journaled.state
        self._toolbox = toolbox
        self._graph, self._data = toolbox.graph, toolbox.data
        self._gate = gate
        self._began = time.monotonic()
        journaled.translate = toolbox.translated
        self._calls = ToolCallRunner(
            journaled, definition, toolbox, gate, most_calls=sys.maxsize, defers=True
        )

    async def run(self) -> Outcome:
        """Run until the slice is over (see ``Engine``)."""
        while True:
            outcome = await self.step()
            if outcome is not None:
                return outcome

    async def record_interrupted(self) -> None:
        """Do nothing: ``ToolCallRunner`` journals an interrupted call."""

    async def step(self) -> Outcome | None:
        """Route what has ended, or serve the open calls; return None if the slice continues."""
        if (outcome := await review.end_by_people(self._journaled)) is not None:
            return outcome
        limit = self._limit()
        if limit is not None:
            return await self._end(limit)
        if is_due(self._graph, self._state.graph):
            return await self._commit(self._state.graph)
        await self._write_ahead()
        if self._gate.yield_reason:
            return "yielded"
        pauses = dict(self._pauses())
        held_back = self._beyond_parallel()
        self._state.delayed = held_back | pauses.keys()
        before = self._state.folded_seq
        if self._delay_inline():
            await self._begin_waits()
            return None
        written, unwritten = self._write_state()
        held = await self._calls.take()
        results = [*written, *self._results()]
        finished = [one for one in results if isinstance(one, NodeFinished)]
        preview = self._state.graph.preview(finished)
        if self._state.cancel_reason is None and is_due(self._graph, preview):
            await self._calls.begin_waits(held)
            return await self._commit(preview, results)
        if results:
            await self._journaled.record(*results)
        if self._journaled.state.cancel_reason is not None:
            return None
        if self._state.folded_seq > before and (held_back or unwritten):
            # A result has made room, or there was no time for all of them.
            await self._calls.begin_waits(held)
            return None
        return await self._suspend(held, pauses, held_back)

    async def _commit(self, state: GraphState, results: Sequence[Event] = ()) -> Outcome | None:
        """Journal results with what follows from them: a commit, and the run's end.

        Args:
            state: State after the results.
            results: Results that are not journaled yet.
        """
        try:
            routed = route(self._graph, state, self._data, seconds=SHORT_SECONDS)
        except TooLongError:  # once more, beside the loop
            routed = await asyncio.to_thread(route, self._graph, state, self._data)
        if routed is None:
            raise ValueError("a workflow that is due has nothing to commit")
        events = results if routed.commit is None else (*results, routed.commit)
        match routed.ending:
            case GraphSucceeded(output=output, left_out=left_out):
                structured = None if isinstance(output, str) else output
                ending = RunSucceeded(_as_text(output), structured=structured, left_out=left_out)
                return await self._end(ending, *events)
            case GraphFailed(message=message, limit=limit):
                kind = "limit" if limit else "workflow"
                return await self._end(RunFailed(kind, message, limit=limit), *events)
        if routed.commit is not None and self._may_follow(routed.commit):
            self._journaled.fold_ahead(*events)
        else:
            await self._journaled.record(*events)
        return None

    def _may_follow(self, commit: GraphCommitted) -> bool:
        """Return True if a commit may be written with what follows from it: nothing acts before.

        It is the first commit, which has no results; or it only begins to wait for runs and
        people; or it only writes to the state what runs and people have said.
        """
        nodes, ended = self._graph.nodes, [self._state.graph.visits[one] for one in commit.finished]
        begins = [_waits(nodes[one.node].spec, one) for one in commit.next]
        if begins and all(begins):
            return True
        said = all(_waits(nodes[one.activation.node].spec, one.activation) for one in ended)
        copies = all(nodes[one.node].spec.work == "set" for one in commit.next)
        return not self._journaled.is_ahead and said and copies

    async def _write_ahead(self) -> None:
        """Write the commit that waits for the next write, if something may act before it."""
        if self._journaled.is_ahead and (self._gate.yield_reason or self._acts_next()):
            await self._journaled.record()

    def _acts_next(self) -> bool:
        """Return True if a call is to be served that neither waits nor only writes the state."""
        calls = [one.call_id for one in self._state.open_calls() if self._state.may_run(one)]
        toolbox = self._toolbox
        return not all(toolbox.waits(one) or toolbox.only_writes(one) for one in calls)

    async def _end(self, ending: RunSucceeded | RunFailed, *events: Event) -> Outcome | None:
        """End the run or let it be reviewed; None after a conflict: the engine decides again."""
        if isinstance(ending, RunFailed):
            partial = _as_text(output_so_far(self._state.graph, self._data))
            ending = replace(ending, partial=partial)
        return await review.end_run(self._journaled, ending, *events)

    def _delay_inline(self) -> bool:
        """Delay the calls that run here, if others can begin to wait before; return True then."""
        ready = [one for one in self._state.open_calls() if self._state.may_run(one)]
        inline = {
            one.call_id for one in ready if one.wait_keys or not self._toolbox.waits(one.call_id)
        }
        if not inline or len(inline) == len(ready):
            return False
        self._state.delayed |= inline
        return True

    def _write_state(self) -> tuple[list[NodeFinished], int]:
        """Return the results of calls that only write the state, and how many were left.

        It does so for no longer than the loop may be held; all these calls are delayed.
        """
        ready = [one.call_id for one in self._state.open_calls() if self._state.may_run(one)]
        found = [call_id for call_id in ready if self._toolbox.only_writes(call_id)]
        self._state.delayed |= set(found)
        written: list[NodeFinished] = []
        until = time.monotonic() + SHORT_SECONDS
        for call_id in found:
            if written and time.monotonic() > until:
                break
            written.append(self._toolbox.written(call_id))
        return written, len(found) - len(written)

    async def _begin_waits(self) -> None:
        """Start runs and ask people; what runs here is served meanwhile."""
        begun = await self._calls.take()
        if results := self._results():
            await self._journaled.record(*results)
        await self._calls.begin_waits(begun)

    def _results(self) -> list[Event]:
        """Return the results of calls that are not journaled yet."""
        return [self._toolbox.translated(one) for one in self._calls.take_deferred()]

    async def _suspend(
        self, held: Sequence[Held], pauses: Mapping[str, RunPaused], held_back: set[str]
    ) -> Outcome | None:
        """Wait for calls, until routing, or a call that is held back, may have something to do."""
        calls = self._state.open_calls()
        waits = {one.call_id: self._state.open_waits(one) for one in calls}
        waits |= dict.fromkeys([*(one.call_id for one in held), *pauses], 1)
        if not all(waits[call_id] for call_id in waits.keys() - held_back):
            await self._calls.begin_waits(held)
            return None  # a wait ended meanwhile: its call can be served
        wake_at = sum(waits.values()) - 1 if held_back else self._wake_at(waits)
        is_suspended = await self._calls.suspend(held, *pauses.values(), wake_at=wake_at)
        return "suspended" if is_suspended else None

    def _beyond_parallel(self) -> set[str]:
        """Return the calls that would exceed the number of calls at the same time."""
        state, limits = self._state, self._graph.spec.limits
        # Questions and pauses of the graph take no place, since they may last for days.
        node_of = {
            one.call_id: one.activation.node
            for one in state.graph.open_calls()
            if one.activation.holds_barrier
        }
        begun = {one for one in node_of if state.open_waits(state.calls[one])}
        running = Counter(node_of[call_id] for call_id in begun)
        found = set()
        for call_id in [one for one in node_of if one not in begun]:
            node = node_of[call_id]
            spec = self._graph.nodes[node].spec
            most = spec.max_parallel or sys.maxsize
            is_full = running.total() >= (limits.max_parallel or sys.maxsize)
            if is_full or running[node] >= most:
                found.add(call_id)
            else:
                running[node] += 1
        return found

    def _wake_at(self, waits: Mapping[str, int]) -> int:
        """Return the number of open waits at which an activation, or the superstep, is complete.

        Args:
            waits: Number of open waits of each call, by call id.

        Raises:
            ValueError: No call waits, so nothing would wake the run.
        """
        state, total = self._state, sum(waits.values())
        if not total:
            raise ValueError("a workflow without an ending waits for nothing")
        holding = sum(n for call_id, n in waits.items() if state.holds_barrier(call_id))
        if holding and self._graph.spec.order == "barrier":
            return total - holding
        by_activation: Counter[str] = Counter()
        for call_id, number in waits.items():
            by_activation[state.graph.calls[call_id][0]] += number
        return total - min(by_activation.values())

    def _pauses(self) -> list[tuple[str, RunPaused]]:
        """Return the pauses before attempts with a long backoff, each with its call."""
        found = []
        for call in self._state.graph.open_calls():
            seconds = self._toolbox.delay_before(call)
            is_paused = self._state.paused.get(call.call_id) == call.attempt
            if seconds > HOLD_SECONDS and not is_paused:
                reason = call.previous_errors[-1].message
                key = pause_key(call.call_id, call.attempt)
                found.append((call.call_id, RunPaused(key, reason, seconds)))
        return found

    def _limit(self) -> RunFailed | None:
        """Return the limit of the run that is reached, or None."""
        limits, state = self._graph.spec.limits, self._state
        used = state.worked_seconds + time.monotonic() - self._began
        most_wall = limits.max_wall_seconds
        if seconds_until_overdue(most_wall, state.accepted_at) <= 0:
            return RunFailed("limit", OVERDUE.format(most_wall), limit="max_wall_seconds")
        spendings: tuple[tuple[str, float | Decimal, Any, str], ...] = (
            ("timeout_seconds", used, limits.timeout_seconds, "seconds of work"),
            ("tokens", state.used_tokens, limits.tokens, "tokens"),
            ("cost_usd", state.cost_usd, limits.cost_usd, "US dollars"),
        )
        for name, spent, most, unit in spendings:
            if most is not None and spent >= most:
                message = (
                    f"The run has reached its limit of {most:,} {unit} after "
                    f"{state.step:,} supersteps: raise limits.{name}, or give it less to do."
                )
                return RunFailed("limit", message, limit=name)
        return None


def _waits(node: NodeSpec, activation: Activation) -> bool:
    """Return True if an activation begins a run, or waits for a person or a time."""
    return activation.role == "question" or TOOL_OF_WORK.get(node.work) in WAITING


def _as_text(output: Any) -> str:
    """Return an output as text: data as JSON, and nothing as an empty text."""
    if output is None:
        return ""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
