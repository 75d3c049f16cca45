"""One library run: executed on the host's event loop, reported on the caller's.

``RunExecution`` lives on the host's loop, ``execute`` on the caller's; a queue is between them, so
that a slow callback delays nothing but itself.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from django.db import InterfaceError, OperationalError

from agents.actions.cancel_run import cancel_run
from agents.live.follow import follow
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.library import outcome
from heartbit_site.library.callbacks import CallbackDispatcher
from heartbit_site.library.run_request import STARTER, RunRequest, create_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from pydantic import BaseModel

    from agents.live.follow import Update
    from heartbit_site.library.callback_set import Callbacks
    from heartbit_site.library.result import Result
    from heartbit_site.library.shared_host import SharedHost

DATABASE_PATIENCE: Final = 30.0  # seconds; a database that restarts is back by then
PAUSE_SECONDS: Final = 1.0
STOP_SECONDS: Final = 5.0  # a cancelled run ends within one; more, if the database is away

logger = logging.getLogger(__name__)


class RunExecution:
    """A run on the shared host."""

    def __init__(
        self, shared: SharedHost, request: RunRequest, tell: Callable[[Update | None], None]
    ) -> None:
        """Report every update to ``tell``, on the host's thread; None is the end."""
        self._host = shared.host
        self._request = request
        self._tell = tell
        self._accepting: asyncio.Task[UUID] | None = None

    async def run(self) -> Result:
        """Start the run, follow it to its end and return its result."""
        try:
            request = self._request
            self._accepting = asyncio.ensure_future(orm.run_in_thread(lambda: create_run(request)))
            run_id = await self._accepting
            self._host.execute(run_id)
            await self._follow(run_id)
            return await orm.run_in_thread(lambda: outcome.read(run_id))
        finally:
            self._tell(None)

    async def cancel(self) -> None:
        """Cancel the run, if it was started."""
        if self._accepting is None:
            return
        await asyncio.wait({self._accepting})
        if self._accepting.cancelled() or self._accepting.exception() is not None:
            return
        run_id = self._accepting.result()

        def cancel() -> None:
            run = Run.objects.select_related("workspace").get(pk=run_id)
            cancel_run(run.workspace, run_id, reason="the program stopped waiting", by=STARTER)

        await orm.run_in_thread(cancel)

    async def _follow(self, run_id: UUID) -> None:
        """Report all updates; wait for an unavailable database, then start over."""
        clock = asyncio.get_running_loop().time
        lost_at: float | None = None
        while True:
            try:
                async for update in follow(run_id, self._host.window):
                    lost_at = None
                    self._tell(update)
            except (OperationalError, InterfaceError):
                lost_at = clock() if lost_at is None else lost_at
                if clock() - lost_at > DATABASE_PATIENCE:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                return


async def execute(
    shared: SharedHost,
    request: RunRequest,
    callbacks: Callbacks,
    answer_type: type[BaseModel] | None,
) -> Result:
    """Execute a request and call its callbacks.

    The run is cancelled if this is cancelled or a callback fails.
    """
    loop = asyncio.get_running_loop()
    updates: asyncio.Queue[Update | None] = asyncio.Queue()

    def tell(update: Update | None) -> None:
        try:
            loop.call_soon_threadsafe(updates.put_nowait, update)
        except RuntimeError:  # the program has closed its loop, so nobody listens any more
            logger.debug("the program has closed its loop: an update of its run is dropped")

    execution = RunExecution(shared, request, tell)
    playing = asyncio.wrap_future(shared.submit(execution.run()))
    playing.add_done_callback(lambda future: future.cancelled() or future.exception())
    dispatcher = CallbackDispatcher(callbacks, shared)
    listening = asyncio.create_task(dispatcher.dispatch(updates), name="heartbit-listen")
    deciding_task = asyncio.create_task(dispatcher.decide(), name="heartbit-decide")
    both = {listening, deciding_task}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            if task.done():
                task.result()  # raises what a callback raised
        found = await asyncio.shield(playing)
        structured = outcome.typed(found.structured, answer_type)
        return replace(found, structured=structured, events=tuple(dispatcher.events))
    except BaseException:
        await shared.run_on_host(execution.cancel())
        await asyncio.wait({playing}, timeout=STOP_SECONDS)
        raise
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
