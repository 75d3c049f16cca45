"""One library run: executed on the host's event loop, reported on the caller's.

``RunExecution`` lives on the host's loop, ``execute`` on the caller's; a queue connects them, so
that a slow callback does not delay the run. A run without callbacks is not followed: its journal is
read once, after its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Final, TypeVar
from uuid import UUID

from django.db import Error
from pydantic import BaseModel

from agents.actions.runs import cancel_run, take_follow_up
from agents.live.follow import follow
from agents.live.updates import Update
from agents.models import Run
from agents.querysets import calls_waiting, shown_tool
from heartbit_site.base import orm
from heartbit_site.base.database_faults import is_away
from heartbit_site.library import outcome
from heartbit_site.library.approvals import Callbacks
from heartbit_site.library.callbacks import CallbackDispatcher, warn_of_waiting
from heartbit_site.library.local_decider import LocalDecider
from heartbit_site.library.memories import Memories, said_in
from heartbit_site.library.result import Result
from heartbit_site.library.shared_host import SharedHost
from heartbit_site.library.team_request import STARTER
from memory.errors import MemoryProviderError
from memory.providers.calls import attach, call_after, detach, is_in_process
from memory.providers.protocol import MemoryContext

T = TypeVar("T")

DATABASE_PATIENCE: Final = 30.0  # seconds, enough for a restart of the database
PAUSE_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 1.0  # checks for waiting calls, while nothing follows the run
REMEMBER_SECONDS: Final = 5.0  # usually 20 ms; it is executed even if this passes
STOP_SECONDS: Final = 5.0  # a cancelled run ends within one; longer if the database is unavailable

logger = logging.getLogger(__name__)


class RunExecution:
    """A run on the shared host."""

    def __init__(
        self,
        shared: SharedHost,
        start: Callable[[], UUID],
        tell: Callable[[Update | None], None] | None = None,
        memories: Memories | None = None,
    ) -> None:
        """Start the run in a thread now, before the host's loop reaches ``run``.

        ``tell`` receives every update on the host's thread, and None at the end.
        """
        self._memories = memories
        self._host = shared.host
        self._tell = tell
        self._accepting: Future[UUID] = orm.shared().submit(start)

    async def run(self) -> Result:
        """Execute the run, wait for its end and return its result.

        Without ``tell``, the result contains the events.
        """
        try:
            run_id = await asyncio.wrap_future(self._accepting)
            if self._memories is not None:
                attach(run_id, self._memories.provider)
            self._host.execute(run_id)
            if self._tell is None:
                found = await self._unfollowed(run_id)
            else:
                await self._follow(run_id)
                found = await self._read(lambda: outcome.read(run_id))
            if is_in_process():
                await self._remember(run_id)
            return found
        finally:
            if self._accepting.done() and not self._accepting.exception():
                detach(self._accepting.result())
            if self._tell is not None:
                self._tell(None)

    async def _unfollowed(self, run_id: UUID) -> Result:
        """Wait for the run's end and return its result, once its sub-agents have ended too."""
        asked: set[int] = set()
        ended = asyncio.ensure_future(self._host.window.ends.result(run_id))
        try:
            while not (await asyncio.wait({ended}, timeout=LOOK_SECONDS))[0]:
                try:
                    await orm.read_in_thread(lambda: _say_what_waits(run_id, asked))
                except Error as error:
                    if not is_away(error):
                        raise
            ended.result()
        finally:
            ended.cancel()
        while (found := await self._read(lambda: outcome.read_with_events(run_id))) is None:
            await self._follow(run_id)
        return found

    async def _remember(self, run_id: UUID) -> None:
        """Execute the run's follow-up here, as no worker can reach the memories of this process."""
        follow_up = await orm.run_in_thread(lambda: take_follow_up(run_id))
        if follow_up is not None:
            self._host.execute(follow_up)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REMEMBER_SECONDS):
                    await self._host.window.ends.result(follow_up)

    async def _read(self, read: Callable[[], T]) -> T:
        """Read in a thread; wait for an unavailable database."""
        patience = _Patience()
        while True:
            try:
                return await orm.read_in_thread(read)
            except Error as error:
                await patience.wait(error)

    async def cancel(self) -> None:
        """Cancel the run, if it was started."""
        accepting = asyncio.wrap_future(self._accepting)
        await asyncio.wait({accepting})
        if accepting.cancelled() or accepting.exception() is not None:
            return
        run_id = accepting.result()

        def cancel() -> None:
            run = Run.objects.select_related("workspace").get(pk=run_id)
            cancel_run(run.workspace, run_id, reason="the program stopped waiting", by=STARTER)

        await orm.run_in_thread(cancel)

    async def _follow(self, run_id: UUID) -> None:
        """Report all updates; wait for an unavailable database, then start over."""
        patience = _Patience()
        while True:
            try:
                async for update in follow(run_id, self._host.window):
                    patience = _Patience()
                    if self._tell is not None:
                        self._tell(update)
            except Error as error:
                await patience.wait(error)
            else:
                return


class _Patience:
    """Waits for an unavailable database, from its first error on."""

    def __init__(self) -> None:
        self._lost_at: float | None = None

    async def wait(self, error: Exception) -> None:
        """Wait briefly after an error; raise it if it lasts too long."""
        if not is_away(error):
            raise error
        now = asyncio.get_running_loop().time()
        self._lost_at = now if self._lost_at is None else self._lost_at
        if now - self._lost_at > DATABASE_PATIENCE:
            raise error
        await asyncio.sleep(PAUSE_SECONDS)


def _say_what_waits(run_id: UUID, said: set[int]) -> None:
    """Log each waiting call of a tree once, as no callback decides them."""
    for call in calls_waiting().filter(run__root_id=run_id).exclude(pk__in=said):
        said.add(call.pk)
        warn_of_waiting(shown_tool(call), call.run.agent)


async def execute(
    shared: SharedHost,
    start: Callable[[], UUID],
    callbacks: Callbacks,
    answer_type: type[BaseModel] | None,
    *,
    memories: Memories | None = None,
) -> Result:
    """Execute the run that ``start`` creates or finds, and call its callbacks.

    The run is cancelled if this is cancelled or a callback fails.
    """
    updates: asyncio.Queue[Update | None] = asyncio.Queue()
    execution = RunExecution(shared, start, _teller(updates) if callbacks else None, memories)
    playing = asyncio.wrap_future(shared.submit(execution.run()))
    playing.add_done_callback(lambda future: future.cancelled() or future.exception())
    dispatcher = CallbackDispatcher(callbacks, LocalDecider(shared))
    work = (dispatcher.dispatch(updates), dispatcher.decide()) if callbacks else ()
    tasks = [asyncio.create_task(one) for one in work]
    try:
        if tasks:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises what a callback raised
        found = await asyncio.shield(playing)
    except BaseException:
        await shared.run_on_host(execution.cancel())
        await asyncio.wait({playing}, timeout=STOP_SECONDS)
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    events = tuple(dispatcher.events) if callbacks else found.events
    found = replace(found, events=events)
    if memories is not None and memories.extract and found.succeeded:
        await shared.run_on_host(_hand_over(memories, found))
    return replace(found, structured=outcome.typed(found.structured, answer_type))


async def _hand_over(memories: Memories, found: Result) -> None:
    """Tell a program's memory what was said; its failure is logged, and does not fail the run."""
    run = await orm.read_in_thread(lambda: Run.objects.get(pk=found.run_id))
    context = MemoryContext(run.pk, run.workspace_id, run.agent, None, run.conversation_id)
    attach(run.pk, memories.provider)
    try:
        await call_after(context, said_in(run.task, found), run.pk)
    except MemoryProviderError as error:
        logger.warning("run %s is not remembered: %s", run.pk, error)
    finally:
        detach(run.pk)


def _teller(updates: asyncio.Queue[Update | None]) -> Callable[[Update | None], None]:
    """Return a function that puts an update into a queue of this loop from the host's thread."""
    loop = asyncio.get_running_loop()

    def tell(update: Update | None) -> None:
        try:
            loop.call_soon_threadsafe(updates.put_nowait, update)
        except RuntimeError:  # the program has closed its loop: no callback is left
            logger.debug("the program has closed its loop: dropped an update of its run")

    return tell
