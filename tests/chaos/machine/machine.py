"""R20: a run's states as a model, and the real database has to agree after every step.

Rules are what can happen to a run, in any order: it is delivered (once, twice), its worker answers,
calls tools, waits for children, people and timers, dies, comes back from the dead and still writes;
people decide, steer and cancel; time passes. The invariants are the promises.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, transaction
from django.db.models.functions import Now
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agents.choices import TERMINAL, Placement, RunStatus
from agents.journal.events import (
    ApprovalRequested,
    CallWaiting,
    ModelDelayed,
    OutcomeRequested,
    RunCancelled,
    RunFailed,
    RunSucceeded,
    ToolFinished,
    ToolStarted,
)
from agents.llm.messages import ToolCall
from agents.loop.agent_state import AgentState
from agents.models import Run, RunEvent, Wait
from agents.models import ToolCall as ToolCallRow
from heartbit_site.base.ids import new_id
from tests.chaos.machine import workers
from tests.runs.holding import answer
from tests.starts import start_run

if TYPE_CHECKING:
    from agents.journal.events import Ending
    from agents.loop.call_state import CallState
    from heartbit_site.base.models import Workspace
    from tests.chaos.machine.workers import Grip

MAX_ATTEMPTS = 3
SELDOM = 7  # what ends a run is tried once in so many times: else none would live long
CLOSED = {"ok", "error", "timeout", "invalid", "refused", "uncertain", "cancelled"}


class RunMachine(RuleBasedStateMachine):
    """One root run, its sub-agents, and any number of workers, most of them dead."""

    workspace: Workspace  # set by the scenario

    @initialize()
    def start(self) -> None:
        """A run is accepted."""
        self.run = start_run(self.workspace, "Do it.", agent="orchestrator", home=Placement.LOCAL)
        self.grip: Grip | None = None
        self.dead: list[Grip] = []
        self.cancelled_at: int | None = None
        self.ended = ""
        self.waiting_for: set[str] = set()

    # ------------------------------------------------------------------------------- workers

    @precondition(lambda self: self.grip is None and not self.waiting_for)
    @rule(twice=st.booleans())
    def deliver(self, *, twice: bool) -> None:
        """A nudge, or two: a queued run is claimed, once."""
        row = self._row()
        claimable = row.status == RunStatus.QUEUED
        grip = workers.claim(self.run)
        assert (grip is not None) == claimable
        if grip is not None:
            self.grip = grip
        if twice:
            assert workers.claim(self.run) is None

    @precondition(lambda self: self._can_ask())
    @rule(calls=st.integers(0, 3))
    def model_replies(self, calls: int) -> None:
        """An answer with so many tool calls."""
        grip = self._held()
        asked = [ToolCall(f"c{n}", "calculate", "{}") for n in range(calls)]
        assert workers.record(grip, answer(grip.state.turn + 1, *asked, text="So."))

    @precondition(lambda self: self._open() is not None)
    @rule(
        effect=st.sampled_from(["pure", "idempotent", "at_most_once"]),
        status=st.sampled_from(["ok", "error"]),
    )
    def tool_replies(self, effect: str, status: str) -> None:
        """A call is executed."""
        grip, call = self._held(), self._serve()
        if call is None:
            return
        if effect != "pure":
            assert workers.record(grip, ToolStarted(call.call_id, effect))
            if grip.state.cancel_reason is not None:
                return  # the loop runs nothing after that
        assert workers.record(grip, ToolFinished(call.call_id, status, "42", effect))  # type: ignore[arg-type]

    @precondition(lambda self: self._open() is not None)
    @rule()
    def tool_begins(self) -> None:
        """An intent is committed, and then nothing is heard."""
        call = self._serve()
        if call is not None:
            assert workers.record(self._held(), ToolStarted(call.call_id, "at_most_once"))

    @precondition(lambda self: self._open() is not None)
    @rule(kind=st.sampled_from(["approval", "children", "outcome"]))
    def call_waits(self, kind: str) -> None:
        """A call waits for a person, for sub-agents, or for a word on its outcome."""
        grip, call = self._held(), self._open()
        assert call is not None
        if (
            (kind == "outcome") != (call.started == "at_most_once")
            or call.approval_request
            or call.wait_keys
        ):
            return
        waits: list[dict[str, Any]]
        event: ApprovalRequested | OutcomeRequested | CallWaiting
        if kind == "approval":
            event = ApprovalRequested(call.call_id, "calculate", {}, "pure", "d" * 64, "why")
            waits = [event.wait]
        elif kind == "outcome":
            event = OutcomeRequested(call.call_id, "calculate", call.outcome_requests + 1)
            waits = [event.wait]
        else:
            children = [str(new_id()), str(new_id())]
            event = CallWaiting(call.call_id, tuple(f"child:{child}" for child in children))
            waits = [
                {
                    "kind": "child",
                    "id": child,
                    "agent": "writer",
                    "task": "Part.",
                    "call_id": call.call_id,
                    "timeout_seconds": 3600,
                }
                for child in children
            ]
        self._suspend(grip, (event,), waits)

    @precondition(lambda self: self._can_ask())
    @rule()
    def model_is_delayed(self) -> None:
        """The provider wants a pause."""
        grip = self._held()
        delayed = ModelDelayed(
            grip.state.turn + 1, f"timer:{grip.state.delays}", "busy", 0.0, attempts=1
        )
        wait = {"kind": "timer", "key": delayed.key, "call_id": "", "timeout_seconds": 3600}
        self._suspend(grip, (delayed,), [wait])

    @precondition(lambda self: self.grip is not None and self._open() is None)
    @rule(how=st.sampled_from(["succeeded", "failed"]), dice=st.integers(0, SELDOM))
    def finish(self, how: str, dice: int) -> None:
        """The worker ends the run, or is told that it was cancelled and ends it so."""
        if dice < SELDOM // 2:
            return
        grip = self._held()
        ending: Ending = RunSucceeded("text") if how == "succeeded" else RunFailed("model", "no")
        if grip.state.cancel_reason is not None:
            how, ending = "cancelled", RunCancelled("stop")
        finished = workers.finish(grip, how, ending)
        assert finished is not False
        if finished:
            self.grip, self.ended = None, how
            self.dead.append(grip)

    @precondition(lambda self: self.grip is not None)
    @rule()
    def obey_cancel(self) -> None:
        """A cancelled run is ended wherever it is."""
        grip = self._held()
        if grip.state.cancel_reason is None:
            return
        if workers.finish(grip, "cancelled", RunCancelled("stop")):
            self.grip, self.ended = None, "cancelled"

    @precondition(lambda self: self.grip is not None)
    @rule()
    def drain(self) -> None:
        """The worker hands the run back."""
        grip = self._held()
        [(released,)] = workers.rows(
            "SELECT heartbit_release(%s, %s, 'drain', 0)", (grip.run_id, grip.token)
        )
        assert released
        self.grip = None
        self.dead.append(grip)

    @precondition(lambda self: self.grip is not None)
    @rule()
    def crash(self) -> None:
        """The worker dies, and a sweeper finds it; in truth it was only frozen."""
        grip = self._held()
        workers.rows("SELECT * FROM heartbit_recover(%s, %s)", (grip.worker_id, MAX_ATTEMPTS))
        self.grip = None
        self.dead.append(grip)
        if self._row().status == RunStatus.QUARANTINED:
            self.ended = "quarantined"

    @precondition(lambda self: bool(self.dead))
    @rule(write=st.sampled_from(["record", "finish", "suspend", "release"]), data=st.data())
    def zombie_writes(self, write: str, data: st.DataObject) -> None:
        """A worker that lost its lease wakes up: nothing it writes is taken."""
        grip = data.draw(st.sampled_from(self.dead))
        before = self._row().last_seq
        match write:
            case "record":
                assert not workers.record(grip, RunFailed("internal", "zombie"))
            case "finish":
                assert workers.finish(grip, "failed", RunFailed("internal", "zombie")) is False
            case "suspend":
                assert (
                    workers.suspend(grip, (), [{"kind": "timer", "key": "z", "call_id": ""}])
                    is False
                )
            case _:
                query = "SELECT heartbit_release(%s, %s, 'zombie', 0)"
                assert workers.rows(query, (grip.run_id, grip.token)) == [(False,)]
        assert self._row().last_seq == before
        assert not Wait.objects.filter(run=self.run, key="z").exists()

    # -------------------------------------------------------------------------------- others

    @precondition(lambda self: "approval" in self.waiting_for)
    @rule(key_of=st.data(), verdict=st.sampled_from(["approved", "denied"]))
    def decide(self, key_of: st.DataObject, verdict: str) -> None:
        """A person decides; a second one is turned away."""
        wait = self._wait(key_of, "approval")
        if wait is None:
            return
        decide = partial(
            workers.rows,
            "SELECT heartbit_decide(%s, %s, %s, %s, NULL, '', '', NULL, 'anna', 'api', NULL)",
            (self.run, wait.call_id, "d" * 64, verdict),
        )
        decide()
        self._refused(decide)

    @precondition(lambda self: "outcome" in self.waiting_for)
    @rule(key_of=st.data(), outcome=st.sampled_from(["retried", "confirmed", "skipped"]))
    def settle(self, key_of: st.DataObject, outcome: str) -> None:
        """A person says what became of a call."""
        wait = self._wait(key_of, "outcome")
        if wait is None:
            return
        settle = partial(
            workers.rows,
            "SELECT heartbit_settle(%s, %s, %s, NULL, NULL, 'anna', 'api')",
            (self.run, wait.call_id, outcome),
        )
        settle()
        self._refused(settle)

    @precondition(lambda self: "child" in self.waiting_for)
    @rule(data=st.data(), how=st.sampled_from(["succeeded", "failed", "cancelled"]))
    def child_ends(self, data: st.DataObject, how: str) -> None:
        """A sub-agent is done, by itself or because somebody cancels it."""
        children = list(Run.objects.filter(parent=self.run, finished_at=None).order_by("id"))
        if not children:
            return
        child = data.draw(st.sampled_from(children))
        if how == "cancelled":
            workers.rows("SELECT heartbit_cancel(%s, 'no')", (child.pk,))
            return
        grip = workers.claim(child.pk)
        assert grip is not None
        ending: Ending = RunSucceeded("text") if how == "succeeded" else RunFailed("model", "no")
        assert workers.finish(grip, how, ending)

    @precondition(lambda self: "timer" in self.waiting_for)
    @rule()
    def time_passes(self) -> None:
        """Waits whose time is up are resolved."""
        # In one transaction: the sweepers of real workers never see them due.
        with transaction.atomic():
            timers = Wait.objects.filter(run=self.run, kind="timer", resolved_at=None)
            timers.update(expires_at=Now())
            workers.rows("SELECT * FROM heartbit_expire_waits(100)", ())

    @rule()
    def steer(self) -> None:
        """Somebody says something."""
        over = self._row().finished_at is not None or self._row().cancel_requested
        say = partial(workers.rows, "SELECT heartbit_steer(%s, 'Hurry.', 'anna')", (self.run,))
        self._refused(say) if over else say()

    @rule(dice=st.integers(0, SELDOM))
    def cancel(self, dice: int) -> None:
        """Somebody cancels it."""
        if dice != SELDOM:
            return
        before = self._row()
        workers.rows("SELECT heartbit_cancel(%s, 'stop')", (self.run,))
        row = self._row()
        if before.finished_at is not None:
            assert row.last_seq == before.last_seq
        elif before.status == RunStatus.RUNNING:
            assert row.cancel_requested
        else:
            assert row.status == RunStatus.CANCELLED
            self.ended = "cancelled"

    # ----------------------------------------------------------------------------- invariants

    @invariant()
    def the_row_and_the_journal_agree(self) -> None:
        """One ending, gapless numbers, a fold without contradictions, calls as folded."""
        if not hasattr(self, "run"):
            return
        row = self._row()
        events = list(RunEvent.objects.filter(run=self.run).order_by("seq"))
        assert [event.seq for event in events] == list(range(1, row.last_seq + 1))
        endings = [event.type for event in events if event.type.removeprefix("run.") in TERMINAL]
        assert len(endings) == (row.finished_at is not None)
        if self.ended:
            assert row.status == self.ended, "an end is the end"
            assert endings == [f"run.{self.ended}"]
        state = AgentState()
        workers.fold(
            state, workers.rows("SELECT heartbit_events(%s, 0, %s)", (self.run, row.last_seq))[0][0]
        )
        answered = [event.payload["turn"] for event in events if event.type == "model.answered"]
        assert answered == list(range(1, len(answered) + 1)), "each turn is answered once"
        self._calls_agree(row, state)

    def _calls_agree(self, row: Run, state: AgentState) -> None:
        calls = {call.call_id: call for call in ToolCallRow.objects.filter(run=self.run)}
        for call in state.open_calls():
            if row.finished_at is None:
                assert calls[call.call_id].finished_at is None
        for call_row in calls.values():
            if row.finished_at is not None:
                assert call_row.status in CLOSED, "no call outlives its run"

    @invariant()
    def the_waits_are_counted(self) -> None:
        """A run waits if, and only if, something is open that it waits for."""
        if not hasattr(self, "run"):
            return
        row = self._row()
        waits = Wait.objects.filter(run=self.run, resolved_at=None)
        kinds = list(waits.values_list("kind", flat=True))
        self.waiting_for = set(kinds)
        unresolved = len(kinds)
        assert row.open_waits == unresolved
        assert (row.status == RunStatus.WAITING) == bool(unresolved)
        if row.finished_at is not None:
            orphans = Run.objects.filter(parent=self.run, finished_at=None, status="waiting")
            assert row.status != RunStatus.CANCELLED or not orphans.exists()

    @invariant()
    def it_is_held_by_whom_the_model_thinks(self) -> None:
        """A running run has the one worker of the last claim; no other status has any."""
        if not hasattr(self, "run"):
            return
        row = self._row()
        held = self.grip.worker_id if self.grip is not None else None
        assert row.worker_id == held
        assert (row.status == RunStatus.RUNNING) == (self.grip is not None)

    # --------------------------------------------------------------------------------- helpers

    def _row(self) -> Run:
        return Run.objects.get(pk=self.run)

    def _held(self) -> Grip:
        assert self.grip is not None
        return self.grip

    def _can_ask(self) -> bool:
        return (
            self.grip is not None
            and not self.grip.state.open_calls()
            and self.grip.state.cancel_reason is None
        )

    def _open(self) -> CallState | None:
        if self.grip is None or self.grip.state.cancel_reason is not None:
            return None
        return next(iter(self.grip.state.open_calls()), None)

    def _serve(self) -> CallState | None:
        """The open call, if it may act: not when its outcome is in doubt."""
        call = self._open()
        if call is None or (call.started == "at_most_once" and call.outcome_request is None):
            return None
        return call

    def _suspend(self, grip: Grip, events: tuple[Any, ...], waits: list[dict[str, Any]]) -> None:
        suspended = workers.suspend(grip, events, waits)
        assert suspended is not False
        if suspended:
            self.grip = None
            self.dead.append(grip)

    def _wait(self, data: st.DataObject, kind: str) -> Wait | None:
        open_waits = list(
            Wait.objects.filter(run=self.run, kind=kind, resolved_at=None).order_by("id")
        )
        return data.draw(st.sampled_from(open_waits)) if open_waits else None

    @staticmethod
    def _refused(act: partial[Any]) -> None:
        try:
            act()
        except DatabaseError as error:
            assert workers.refused(error) == workers.REFUSED
        else:
            raise AssertionError("the database took it")
