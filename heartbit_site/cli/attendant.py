"""Stands beside a run that is watched: what waits for a person is asked, or at least said."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from agents.choices import RunStatus, WaitKind
from agents.events import ApprovalRequested, OutcomeAsked, WaitResolved
from agents.live.follow import Happened, Update
from agents.models import Run, Wait
from heartbit_site.base import orm
from heartbit_site.cli.asking import Asking
from heartbit_site.cli.deciding import OwnDesk, this_person
from heartbit_site.cli.errors import database_is_away
from heartbit_site.cli.escape import visible
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.kinds import APPROVAL, OUTCOME
from heartbit_site.cli.output import note
from heartbit_site.cli.waiting import short_id, waiting_calls

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.cli.display import Display
    from heartbit_site.cli.question import WaitingCall

PATIENCE_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.5


class Attendant:
    """Looks at what waits whenever a call begins to wait; each call is put to the person once.

    Args:
        display: Paused while the person is asked.
        leaves: Without a terminal, end `attend` once the tree can only wait for a person.

    Attributes:
        waits: True after `attend` has ended for that reason.
    """

    def __init__(self, display: Display, *, leaves: bool = False) -> None:
        self.waits = False
        self._display = display
        self._leaves = leaves
        self._asking = Asking(OwnDesk(this_person("inline"))) if is_interactive() else None
        self._news = asyncio.Event()
        self._known: set[tuple[int, str]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_deaf(self) -> bool:
        """Whether Ctrl-C belongs to the person's editor."""
        return self._asking is not None and self._asking.in_editor

    def hear(self, update: Update) -> None:
        """Take in what happens in the tree."""
        event = update.recorded.event if isinstance(update, Happened) else None
        if isinstance(event, ApprovalRequested | OutcomeAsked):
            self._news.set()
        elif isinstance(event, WaitResolved) and self._asking is not None:
            self._asking.look.set()

    async def finish(self) -> None:
        """The tree has ended: let the person know what became of the question they see."""
        if self._asking is not None:
            self._asking.look.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._idle.wait()

    async def attend(self, root_id: UUID) -> None:
        """Ask, or say, until cancelled; see ``leaves``."""
        while True:
            await self._next_look()
            self._news.clear()
            try:
                calls = await orm.in_thread(lambda: _waiting(root_id))
                await self._attend([call for call in calls if _asked(call) not in self._known])
                if calls and self._leaves and self._asking is None:
                    self.waits = await orm.in_thread(lambda: _only_people(root_id))
                if self.waits:
                    return
            except Exception as error:
                if not database_is_away(error):
                    raise
                await asyncio.sleep(1.0)
                self._news.set()

    async def _next_look(self) -> None:
        """Wait for news; whoever leaves also looks at what else of the tree has come to rest."""
        seconds = LOOK_SECONDS if self._leaves and self._known else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _attend(self, calls: list[WaitingCall]) -> None:
        if self._asking is None:
            for call in calls:
                name = await orm.in_thread(lambda call=call: short_id(call.root_id))  # type: ignore[misc]
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


def _waiting(root_id: UUID) -> list[WaitingCall]:
    run = Run.objects.select_related("workspace").get(pk=root_id)
    kinds = (APPROVAL, OUTCOME)
    return [call for kind in kinds for call in waiting_calls(run.workspace, run, kind)]


def _only_people(root_id: UUID) -> bool:
    """Return True if nothing but a person's word makes a run of the tree go on."""
    live = Run.objects.filter(root_id=root_id, finished_at__isnull=True)
    timers = Wait.objects.filter(run__in=live, resolved_at__isnull=True, kind=WaitKind.TIMER)
    return not live.exclude(status=RunStatus.WAITING).exists() and not timers.exists()


def _asked(call: WaitingCall) -> tuple[int, str]:
    """A call may be asked about more than once: whether it may run, and what became of it."""
    return call.id, call.question
