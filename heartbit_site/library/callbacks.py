"""The program's side of a run: delivery of updates to callbacks, in order."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol
from uuid import UUID

from agents.journal.events import ApprovalRequested, ModelAnswered
from agents.live.tree_view import TreeView
from agents.live.updates import DeltaUpdate, EventUpdate, Update
from agents.live.view_parts import Parts
from heartbit_site.library.approvals import Approval, Callbacks, Decision, decision_of, invoke
from heartbit_site.library.result import Event

logger = logging.getLogger(__name__)


def warn_of_waiting(tool: str, agent: str) -> None:
    """Log that a call waits, and that the program could decide it."""
    logger.warning(
        "%s of %s waits for a decision in the admin; .on_approval(...) lets the program decide",
        tool,
        agent,
    )


class Decider(Protocol):
    """Place where the calls of a run are decided: this process, or a server."""

    async def refresh(self, approval: Approval) -> Approval | None:
        """Return the approval with its form; None if it is decided or its run has ended."""
        ...

    async def decide(self, approval: Approval, decision: Decision) -> None:
        """Store the decision, unless the call is already decided.

        Raises:
            InvalidEditError: The arguments do not fit the tool, the answer does not fit its form,
                or a question was approved.
        """
        ...


class CallbackDispatcher:
    """Delivers the updates of one run tree to the callbacks.

    Attributes:
        events: Journaled events so far.
    """

    def __init__(self, callbacks: Callbacks, decider: Decider) -> None:
        self.events: list[Event] = []
        self._callbacks = callbacks
        self._decider = decider
        self._tree = TreeView()
        self._text = TextAssembler(callbacks)
        self._waiting: asyncio.Queue[Approval] = asyncio.Queue()

    async def dispatch(self, updates: asyncio.Queue[Update | None]) -> None:
        """Deliver all updates until the end; skip repeated ones."""
        while (update := await updates.get()) is not None:
            changed = self._tree.apply(update)
            match update:
                case EventUpdate() if changed is not None:
                    await self._happened(update)
                case DeltaUpdate(run_id, delta) if changed is not None and self._is_root(run_id):
                    await self._text.add(delta.turn, changed)

    async def _happened(self, update: EventUpdate) -> None:
        run_id, recorded = update.run_id, update.recorded
        fact = recorded.event
        event = event_of(self._tree, update)
        self.events.append(event)
        match fact:
            case ApprovalRequested():
                self._asked(event, fact)
            case ModelAnswered(turn, message) if self._is_root(run_id):
                await self._text.answered(turn, message.text)
        await invoke(self._callbacks.event, event)

    def _is_root(self, run_id: UUID) -> bool:
        return run_id == next(iter(self._tree.runs), None)  # a tree's oldest run comes first

    def _asked(self, event: Event, fact: ApprovalRequested) -> None:
        if self._callbacks.ask is None:
            warn_of_waiting(fact.tool, event.agent)
            return
        self._waiting.put_nowait(
            Approval(
                agent=event.agent,
                tool=fact.tool,
                arguments=fact.arguments,
                effect=fact.effect,
                reason=fact.reason,
                run_id=event.run_id,
                call_id=fact.call_id,
                digest=fact.digest,
            )
        )

    async def decide(self) -> None:
        """Ask the program about one call after the other, until cancelled."""
        while True:
            heard = await self._waiting.get()
            approval = await self._decider.refresh(heard)
            if approval is None:
                continue
            decision = decision_of(await invoke(self._callbacks.ask, approval))
            await self._decider.decide(approval, decision)


def event_of(tree: TreeView, update: EventUpdate) -> Event:
    """Return an update that a tree has applied as an event for a program."""
    recorded = update.recorded
    return Event(
        run_id=update.run_id,
        agent=tree.runs[update.run_id].agent,
        seq=recorded.seq,
        type=recorded.event.type,
        data=recorded.event,
        at=recorded.at,
    )


class TextAssembler:
    """The text of one run: its stream, completed from the journal.

    A repeated model call voids the text of its turn so far. The journal is authoritative: once it
    has the whole answer, a reader that missed pieces gets the rest.
    """

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._turn = 0
        self._sent = ""  # of that turn

    async def add(self, turn: int, piece: Parts) -> None:
        """Deliver a piece that the view of the run has applied."""
        if piece["fresh"]:
            await self._begin(turn)
        if piece["kind"] == "text":
            await self._send(piece["text"])

    async def answered(self, turn: int, text: str) -> None:
        """Deliver the missing rest of a whole answer."""
        if turn != self._turn:
            await self._begin(turn)
        if text.strip() == self._sent.strip():
            return
        if not text.startswith(self._sent):
            await self._begin(turn)
        await self._send(text[len(self._sent) :])

    async def _begin(self, turn: int) -> None:
        if self._sent and turn == self._turn:
            await invoke(self._callbacks.restart)
        self._turn, self._sent = turn, ""

    async def _send(self, text: str) -> None:
        self._sent += text
        await invoke(self._callbacks.text, text)
