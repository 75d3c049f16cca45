"""Stands beside a run that is watched: what waits for a person is asked, or at least said."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from agents.journal.events import ApprovalRequested, CallWaiting, OutcomeRequested, WaitResolved
from heartbit_site.cli.asked_calls import waiting_calls
from heartbit_site.cli.decision_backend import DecisionBackend
from heartbit_site.cli.errors import CANNOT_START, CommandError, database_is_away
from heartbit_site.cli.escape import visible
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.kinds import APPROVAL, OUTCOME
from heartbit_site.cli.output import note
from heartbit_site.cli.prompter import CallPrompter
from heartbit_site.contract.waits import LIST_WAITS

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from heartbit_site.cli.backend import Backend
    from heartbit_site.cli.question import WaitingCall
    from heartbit_site.contract.waits import WaitOut

PATIENCE_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.5


class Pausable(Protocol):
    """A display that can leave the terminal to a question."""

    def paused(self) -> AbstractContextManager[None]:
        """Within it the display is off the terminal."""
        ...


class ApprovalWatcher:
    """Looks at what waits whenever a call begins to wait; each call is put to the person once.

    Args:
        display: Paused while the person is asked.
        backend: Where the run is.
        name: Returns the name of a run that a person is told; may ask the backend's database.
        only_people: Without a terminal, end `attend` once this returns True of a tree: it can
            only wait for a person. None: stay.

    Attributes:
        waits: True after `attend` has ended for that reason.
    """

    def __init__(
        self,
        display: Pausable,
        backend: Backend,
        *,
        name: Callable[[UUID], str] = str,
        only_people: Callable[[UUID], bool] | None = None,
    ) -> None:
        self.waits = False
        self._display = display
        self._backend = backend
        self._name = name
        self._only_people = only_people
        self._asking = CallPrompter(DecisionBackend(backend)) if is_interactive() else None
        self._news = asyncio.Event()
        self._known: set[tuple[UUID, str, str]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_deaf(self) -> bool:
        """Whether Ctrl-C belongs to the person's editor."""
        return self._asking is not None and self._asking.in_editor

    def hear(self, event_type: str) -> None:
        """Take in an event of the tree."""
        if event_type in (ApprovalRequested.type, OutcomeRequested.type, CallWaiting.type):
            self._news.set()
        elif event_type == WaitResolved.type and self._asking is not None:
            self._asking.look.set()

    async def finish(self) -> None:
        """The tree has ended: let the person know what became of the question they see."""
        if self._asking is not None:
            self._asking.look.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._idle.wait()

    async def attend(self, root_id: UUID) -> None:
        """Ask, or say, until cancelled; see ``only_people``."""
        backend, only_people = self._backend, self._only_people

        while True:
            await self._next_look()
            self._news.clear()
            try:
                calls = await backend.in_thread(lambda: _waiting(backend, root_id))
                await self._attend([call for call in calls if _asked(call) not in self._known])
                others = await backend.in_thread(lambda: _others(backend, root_id))
                await self._say([one for one in others if _named(one) not in self._known])
                if (calls or others) and only_people is not None and self._asking is None:
                    self.waits = await backend.in_thread(partial(only_people, root_id))
                if self.waits:
                    return
            except Exception as error:
                if not _is_away(error):
                    raise
                await asyncio.sleep(1.0)
                self._news.set()

    async def _next_look(self) -> None:
        """Wait for news; whoever leaves also looks at what else of the tree has come to rest."""
        seconds = LOOK_SECONDS if self._only_people is not None and self._known else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _attend(self, calls: list[WaitingCall]) -> None:
        if self._asking is None:
            for call in calls:
                name = await self._backend.in_thread(partial(self._name, call.root_id))
                note(
                    f"{visible(call.agent)} waits for {call.kind.about} {visible(call.tool)}: "
                    f"heartbit {call.kind.command} {name}"
                )
                self._known.add(_asked(call))
            return
        if not calls:
            return
        self._idle.clear()
        try:
            with self._display.paused():
                for call in calls:
                    await self._asking.settle(call)
                    self._known.add(_asked(call))
        finally:
            self._idle.set()

    async def _say(self, waits: list[WaitOut]) -> None:
        """Name what is answered by a command of its own."""
        for wait in waits:
            name = await self._backend.in_thread(partial(self._name, UUID(wait.root_id)))
            with self._display.paused() if self._asking else contextlib.nullcontext():
                command = f"heartbit {wait.command} {name}"
                note(f"{visible(wait.agent)} waits for {wait.waits_for}: {command}")
            self._known.add(_named(wait))


def _others(backend: Backend, root_id: UUID) -> list[WaitOut]:
    return backend.every(LIST_WAITS, run=str(root_id)).waits


def _named(wait: WaitOut) -> tuple[UUID, str, str]:
    return UUID(wait.run_id), wait.call_id, wait.key


def _waiting(backend: Backend, root_id: UUID) -> list[WaitingCall]:
    kinds = (APPROVAL, OUTCOME)
    return [call for kind in kinds for call in waiting_calls(backend, kind, str(root_id))]


def _is_away(error: Exception) -> bool:
    """Return True if a database or a server that is back soon could not be reached."""
    is_unreachable = isinstance(error, CommandError) and error.code == CANNOT_START
    return is_unreachable or database_is_away(error)


def _asked(call: WaitingCall) -> tuple[UUID, str, str]:
    """A call may be asked about more than once: whether it may run, and what became of it."""
    return call.run_id, call.call_id, call.question
