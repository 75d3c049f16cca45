"""Stands beside a run that is watched: what waits for approval is asked, or at least said."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.events import ApprovalRequested
from agents.live.follow import Happened, Update
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.cli.asking import Asking
from heartbit_site.cli.deciding import this_person
from heartbit_site.cli.errors import database_is_away
from heartbit_site.cli.escape import visible
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.output import note
from heartbit_site.cli.waiting import short_id, waiting_calls

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.cli.display import Display
    from heartbit_site.cli.question import WaitingCall


class Attendant:
    """Looks at what waits whenever a call begins to wait; each call is put to the person once."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._asking = Asking(this_person("inline")) if is_interactive() else None
        self._news = asyncio.Event()
        self._known: set[int] = set()

    @property
    def is_deaf(self) -> bool:
        """Whether Ctrl-C belongs to the person's editor."""
        return self._asking is not None and self._asking.in_editor

    def hear(self, update: Update) -> None:
        """Take in what happens in the tree."""
        if isinstance(update, Happened) and isinstance(update.recorded.event, ApprovalRequested):
            self._news.set()

    async def attend(self, root_id: UUID) -> None:
        """Ask, or say, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                calls = await orm.in_thread(lambda: _waiting(root_id))
                await self._attend([call for call in calls if call.id not in self._known])
            except Exception as error:
                if not database_is_away(error):
                    raise
                await asyncio.sleep(1.0)
                self._news.set()

    async def _attend(self, calls: list[WaitingCall]) -> None:
        if self._asking is None:
            for call in calls:
                name = await orm.in_thread(lambda call=call: short_id(call.root_id))  # type: ignore[misc]
                note(
                    f"{visible(call.agent)} waits for a decision about {visible(call.tool)}: "
                    f"heartbit approve {name}"
                )
                self._known.add(call.id)
            return
        if not calls:
            return
        with self._display.paused():
            for call in calls:
                await self._asking.settle(call)
                self._known.add(call.id)


def _waiting(root_id: UUID) -> list[WaitingCall]:
    run = Run.objects.select_related("workspace").get(pk=root_id)
    return waiting_calls(run.workspace, run)
