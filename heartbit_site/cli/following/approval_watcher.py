"""Stands beside a run that is watched: what waits for a person is asked, or at least said."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from agents.journal.events import ApprovalRequested, CallWaiting, OutcomeRequested, WaitResolved
from heartbit_site.base.database_faults import is_away
from heartbit_site.cli.approvals.kinds import APPROVAL, OUTCOME, WaitingCall, kind_of, waiting_calls
from heartbit_site.cli.approvals.prompter import CallPrompter
from heartbit_site.cli.terminal.errors import CANNOT_START, CommandError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.margin import visible
from heartbit_site.cli.terminal.output import note
from heartbit_site.cli.views.display import Display
from heartbit_site.contract.approvals import UncertainCallOut
from heartbit_site.contract.waits import LIST_WAITS, WaitOut

if TYPE_CHECKING:
    from heartbit_site.cli.backend.protocol import Backend

PATIENCE_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.5


class ApprovalWatcher:
    """Watcher of a followed run: puts each call that needs a person to the person once.

    Args:
        display: Paused while the person is asked.
        backend: Where the run is.
        name: Returns the name of a run for people; may ask the backend's database.
        only_people: Without a terminal, end `attend` once this returns True of a tree: it can
            only wait for a person. None: stay.

    Attributes:
        waits: True after `attend` has ended for that reason.
    """

    def __init__(
        self,
        display: Display,
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
        self._asking = CallPrompter(backend) if is_interactive() else None
        self._news = asyncio.Event()
        self._known: set[tuple[str, str, str]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_deaf(self) -> bool:
        """True while Ctrl-C belongs to the person's editor."""
        return self._asking is not None and self._asking.in_editor

    def hear(self, event_type: str) -> None:
        """Take in an event of the tree."""
        if event_type in (ApprovalRequested.type, OutcomeRequested.type, CallWaiting.type):
            self._news.set()
        elif event_type == WaitResolved.type and self._asking is not None:
            self._asking.look.set()

    async def finish(self) -> None:
        """Tell the person the outcome of the question on their terminal: the tree has ended."""
        if self._asking is not None:
            self._asking.look.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._idle.wait()

    async def attend(self, root_id: UUID) -> None:
        """Ask, or say, until cancelled; see ``only_people``."""
        backend, only_people = self._backend, self._only_people

        def calls_of() -> list[WaitingCall]:
            kinds = (APPROVAL, OUTCOME)
            return [call for kind in kinds for call in waiting_calls(backend, kind, str(root_id))]

        def others_of() -> list[WaitOut]:
            return backend.every(LIST_WAITS, run=str(root_id)).waits

        while True:
            await self._next_look()
            self._news.clear()
            try:
                calls = await backend.in_thread(calls_of)
                await self._attend([call for call in calls if _key(call) not in self._known])
                others = await backend.in_thread(others_of)
                for wait in others:
                    if _key(wait) not in self._known:
                        await self._say(wait, wait.waits_for, wait.command)
                if (calls or others) and only_people is not None and self._asking is None:
                    self.waits = await backend.in_thread(partial(only_people, root_id))
                if self.waits:
                    return
            except Exception as error:
                # A database or a server that cannot be reached is back soon.
                if not (
                    (isinstance(error, CommandError) and error.code == CANNOT_START)
                    or is_away(error)
                ):
                    raise
                await asyncio.sleep(1.0)
                self._news.set()

    async def _next_look(self) -> None:
        """Wait for news; after a run has left, look at all waiting calls of the tree."""
        seconds = LOOK_SECONDS if self._only_people is not None and self._known else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _attend(self, calls: list[WaitingCall]) -> None:
        if self._asking is None:
            for call in calls:
                kind = kind_of(call)
                await self._say(call, f"{kind.about} {visible(call.tool)}", kind.wait.command)
            return
        if not calls:
            return
        self._idle.clear()
        try:
            with self._display.paused():
                for call in calls:
                    await self._asking.settle(call)
                    self._known.add(_key(call))
        finally:
            self._idle.set()

    async def _say(self, one: WaitingCall | WaitOut, waits_for: str, command: str) -> None:
        """Name the command that ends a wait."""
        name = await self._backend.in_thread(partial(self._name, UUID(one.root_id)))
        with self._display.paused() if self._asking else contextlib.nullcontext():
            note(f"{visible(one.agent)} waits for {waits_for}: heartbit {command} {name}")
        self._known.add(_key(one))


def _key(one: WaitingCall | WaitOut) -> tuple[str, str, str]:
    """Return the key of a question: a call may need an approval and later an outcome."""
    match one:
        case WaitOut():
            return one.run_id, one.call_id, one.key
        case UncertainCallOut():
            return one.run_id, one.call_id, one.question
        case _:
            return one.run_id, one.call_id, one.wait_key
