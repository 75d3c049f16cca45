"""A stage on which one scripted conversation is played: real runs and their follow-ups."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import User

from agents.actions.start_conversation import start_conversation
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.models import MemoryItem
from memory.place import MemoryPlace
from tests.starts import post_message, start_run

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import Conversation
    from agents.runtime.execution.host import LocalHost
    from heartbit_site.base.models import Workspace
    from tests.evals.scripted import Scripted, Session

AGENT: Final = "listener"


@dataclass(frozen=True, slots=True)
class Played:
    """A conversation, and what is known after it.

    Attributes:
        stored: Persons and texts of the live memories, without those that were known before and
            are not contradicted.
        superseded: Pairs of a text and the one that took its place in the same memory.
    """

    script: Scripted
    stored: Counter[tuple[int, str]] = field(default_factory=Counter)
    superseded: frozenset[tuple[str, str]] = frozenset()


class Stage:
    """Plays one conversation, with persons of its own."""

    def __init__(
        self, host: LocalHost, workspace: Workspace, script: Scripted, *, model: str
    ) -> None:
        self._host = host
        self._workspace = workspace
        self._script = script
        self._model = model
        self._persons: list[User] = []
        self._thread: Conversation | None = None

    async def play(self) -> Played:
        """Execute the runs and their follow-ups in order; return what is known then."""
        late: list[UUID] = []
        for session in self._script.sessions:
            run_id = await orm.run_in_thread(lambda one=session: self._start(one))  # type: ignore[misc]
            await self._execute(run_id)
            if session.is_late:
                late.append(run_id)
            else:
                await self._extract(run_id)
        for run_id in late:
            await self._extract(run_id)
        return await orm.run_in_thread(self._look)

    def prepare(self) -> None:
        """Create the persons, and store what is known before."""
        for _ in range(2):
            self._persons.append(User.objects.create(username=f"p-{secrets.token_hex(6)}"))
        place = MemoryPlace(self._workspace.pk, Scope.PERSON, AGENT, self._persons[0].pk)
        for text in self._script.known:
            remember(place, text, by=Author(SYSTEM))
        if self._script.is_thread:
            self._thread = start_conversation(self._workspace, agent=AGENT)

    def _start(self, session: Session) -> UUID:
        who = self._persons[session.person]
        by, home = Actor(who.username, "user", who.pk), Placement.LOCAL
        if self._thread is not None:
            posted = post_message(self._thread, session.text, by=by, model=self._model, home=home)
            return posted.run_id
        return start_run(
            self._workspace, session.text, agent=AGENT, model=self._model, home=home, by=by
        )

    async def _execute(self, run_id: UUID) -> None:
        self._host.execute(run_id)
        run = await wait_for_end(run_id, self._host.window)
        if run.status != RunStatus.SUCCEEDED:
            raise RuntimeError(f"run {run_id} of {self._script.kind!r} ended as {run.status}")

    async def _extract(self, run_id: UUID) -> None:
        def take() -> UUID:
            rows = Run.objects.filter(extraction__source=run_id)
            rows.update(home=Placement.LOCAL)  # no worker serves the queue `memory` here
            return rows.get().pk

        await self._execute(await orm.run_in_thread(take))

    def _look(self) -> Played:
        owners = {one.pk: number for number, one in enumerate(self._persons)}
        rows = MemoryItem.objects.live().filter(workspace=self._workspace, user__in=self._persons)
        stored: Counter[tuple[int, str]] = Counter()
        known = set(self._script.known) - {old for old, _ in self._script.superseded}
        superseded = set()
        for row in rows:
            if row.text not in known:
                stored[owners[row.user_id], row.text] += 1
            texts = [
                change.before["text"]
                for change in row.changes.order_by("pk")
                if change.before is not None
            ]
            superseded |= set(pairwise([*texts, row.text]))
        return Played(self._script, stored, frozenset(superseded))
