"""A request's synchronous code runs in a thread, whose connection later requests go on to use."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from heartbit_site.web_server.threads import LentThreads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

IDLE = 2


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """Be an application: the request says what it does."""
    await scope["view"]()


async def ask(served: LentThreads, view: Callable[[], Awaitable[None]]) -> None:
    await served({"view": view}, None, None)


class Asked:
    """What synchronous work returned, each time that it was a request's."""

    def __init__(self, served: LentThreads, work: Callable[[], Any]) -> None:
        self._served = served
        self._work = work
        self.answers: list[Any] = []

    async def times(self, count: int) -> list[Any]:
        for _ in range(count):
            await ask(self._served, self._view)
            while not self._served._idle:
                await asyncio.sleep(0)
        return self.answers

    async def at_once(self, count: int) -> list[Any]:
        await asyncio.gather(*(ask(self._served, self._view) for _ in range(count)))
        return self.answers

    async def _view(self) -> None:
        self.answers.append(await sync_to_async(self._work)())


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


@pytest.mark.usefixtures("database")
async def test_given_requests_one_after_another_then_one_connection_serves_them() -> None:
    served = LentThreads(serve)
    backends = await Asked(served, backend).times(5)
    await Asked(served, connections.close_all).times(1)
    assert len(set(backends)) == 1


async def test_given_requests_at_once_then_each_has_its_own_thread_and_few_are_kept() -> None:
    served = LentThreads(serve, idle=IDLE)
    together = threading.Barrier(IDLE + 3)

    def meet() -> threading.Thread:
        together.wait(20)
        return threading.current_thread()

    threads = set(await Asked(served, meet).at_once(together.parties))
    assert len(threads) == together.parties
    while sum(thread.is_alive() for thread in threads) > IDLE:
        await asyncio.sleep(0.01)
    assert set(await Asked(served, threading.current_thread).times(5)) < threads


async def test_given_a_request_is_aborted_then_its_thread_is_not_lent_while_it_works() -> None:
    served = LentThreads(serve)
    begun, go_on = threading.Event(), threading.Event()
    busy: list[threading.Thread] = []

    def work() -> None:
        busy.append(threading.current_thread())
        begun.set()
        go_on.wait(20)

    async def leave() -> None:
        working = asyncio.ensure_future(sync_to_async(work)())
        await asyncio.to_thread(begun.wait, 20)
        working.cancel()

    await ask(served, leave)
    lent = await asyncio.wait_for(Asked(served, threading.current_thread).times(1), 20)
    assert lent[0] is not busy[0]
    go_on.set()
