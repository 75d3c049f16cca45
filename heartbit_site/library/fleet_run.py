"""A run on a fleet: its events, its result, its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, cast
from uuid import UUID

from agents.live.tree_view import TreeView
from agents.live.updates import EventUpdate, Update
from heartbit_site.base import aio
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.contract.artifacts import LIST_BLACKBOARD, SHOW_BLACKBOARD_ENTRY
from heartbit_site.contract.runs import (
    CANCEL_RUN,
    MAX_WAIT_SECONDS,
    SHOW_RUN,
    STEER_RUN,
    WAIT_FOR_RESULT,
    RunResultOut,
    RunViewOut,
    SteerIn,
)
from heartbit_site.library.approvals import Callbacks
from heartbit_site.library.blocking import block_on
from heartbit_site.library.callbacks import CallbackDispatcher, Decider, event_of
from heartbit_site.library.result import Event, Result, Status, Usage
from heartbit_site.remote.errors import StreamLostError
from heartbit_site.remote.server import Server, request

PATIENCE_SECONDS: Final = 30.0  # enough for a restart of the server
PAUSE_SECONDS: Final = 1.0
CUT: Final = 500  # characters of an entry in the list of a blackboard


@dataclass(frozen=True, slots=True)
class FleetRun:
    """A run that workers execute.

    Attributes:
        server: Its server.
        id: Its id.
    """

    server: Server
    id: UUID

    def show(self) -> RunViewOut:
        """Return the run as it is now: ``status``, ``output``, ``children`` and so on."""
        return request(self.server, SHOW_RUN, run_id=str(self.id))

    def cancel(self) -> None:
        """Cancel the run and its sub-agents' runs.

        Raises:
            RunStateError: It has ended.
        """
        request(self.server, CANCEL_RUN, run_id=str(self.id))

    def steer(self, text: str) -> None:
        """Give the run a text, which its next model call reads.

        Raises:
            RunStateError: It has ended.
        """
        request(self.server, STEER_RUN, SteerIn(text=text), run_id=str(self.id))

    def result(self, *, timeout: float | None = None) -> Result:
        """Wait for the run's end and return its result.

        Args:
            timeout: Seconds to wait; None: as long as it takes.

        Raises:
            TimeoutError: It has not ended by then; it continues.
        """
        return block_on("result", "aresult", lambda: self.aresult(timeout=timeout))

    def _ended(self, wait: int) -> RunResultOut:
        return request(self.server, WAIT_FOR_RESULT, run_id=str(self.id), wait=wait)

    async def aresult(self, *, timeout: float | None = None) -> Result:
        """Await the run's end and return its result as ``result`` does."""
        async with asyncio.timeout(timeout):
            while True:
                ended = await asyncio.to_thread(self._ended, _wait(timeout))
                if ended.result is not None:
                    break
        run = await asyncio.to_thread(self.show)
        blackboard = await asyncio.to_thread(self._blackboard)
        tree = TreeView()
        events = [event async for event in self._events(tree, follow=False)]
        metrics = ended.result.metrics
        return Result(
            text=ended.result.text,
            structured=run.structured,
            status=cast("Status", run.status),
            error="" if run.status == "succeeded" else ended.result.error or "",
            run_id=self.id,
            usage=Usage(metrics.input_tokens, metrics.output_tokens),
            cost=None if metrics.cost_usd is None else Decimal(metrics.cost_usd),
            blackboard=blackboard,
            events=tuple(sorted(events, key=lambda event: event.at)),
            outcome=ended.result,
        )

    def events(self) -> Iterator[Event]:
        """Yield the events of the run and its sub-agents, those so far first, until its end."""
        if aio.is_loop_running():
            raise ConfigurationError(
                "events() blocks, and an event loop is running here: write "
                "`async for event in run.aevents()`."
            )
        with asyncio.Runner() as runner:
            events = self.aevents()

            async def following() -> Event | None:
                return await anext(events, None)

            while (event := runner.run(following())) is not None:
                yield event

    def aevents(self) -> AsyncIterator[Event]:
        """Yield the events as ``events`` does."""
        return self._events(TreeView(), follow=True)

    async def follow(self, callbacks: Callbacks, decider: Decider) -> None:
        """Call a program's callbacks until the run has ended."""
        updates: asyncio.Queue[Update | None] = asyncio.Queue()
        dispatcher = CallbackDispatcher(callbacks, decider)

        async def hear() -> None:
            async for update in self._updates(follow=True):
                updates.put_nowait(update)
            updates.put_nowait(None)

        dispatching = asyncio.create_task(dispatcher.dispatch(updates))
        tasks = {
            dispatching,
            asyncio.create_task(hear()),
            asyncio.create_task(dispatcher.decide()),
        }
        try:
            while not dispatching.done():
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # raises what a callback raised
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _events(self, tree: TreeView, *, follow: bool) -> AsyncIterator[Event]:
        async for update in self._updates(follow=follow):
            if tree.apply(update) is not None and isinstance(update, EventUpdate):
                yield event_of(tree, update)

    async def _updates(self, *, follow: bool) -> AsyncIterator[Update]:
        """Yield all updates, some again after the connection broke.

        Raises:
            StreamLostError: The server was unreachable for too long.
        """
        from heartbit_site.remote.stream import (  # noqa: PLC0415  httpx is slow to import
            stream_updates,
        )

        lost_at: float | None = None
        while True:
            try:
                async for update in stream_updates(self.server, str(self.id), follow=follow):
                    lost_at = None
                    yield update
            except StreamLostError:
                now = asyncio.get_running_loop().time()
                lost_at = now if lost_at is None else lost_at
                if now - lost_at > PATIENCE_SECONDS:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                return

    def _blackboard(self) -> dict[str, object]:
        found: dict[str, object] = {}
        cursor: str | None = None
        while True:
            page = request(self.server, LIST_BLACKBOARD, run_id=str(self.id), cursor=cursor)
            for row in page.entries:
                value = row.value
                if row.value_characters > CUT:
                    value = request(
                        self.server, SHOW_BLACKBOARD_ENTRY, run_id=str(self.id), key=row.key
                    ).value
                found[row.key] = value
            cursor = page.next_cursor
            if cursor is None:
                return found


def _wait(timeout: float | None) -> int:
    return MAX_WAIT_SECONDS if timeout is None else max(1, min(MAX_WAIT_SECONDS, int(timeout) + 1))
