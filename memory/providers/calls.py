"""Choice and calls of the installation's memory provider, each with a deadline."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Final, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

from heartbit_site.base.untrusted import clean_text
from memory.errors import MemoryProviderError
from memory.providers.protocol import MemoryContext, MemoryProvider, ProvidedText, Said

IN_PROCESS: Final = "memory.providers.in_process.InProcessMemories"


_attached: dict[UUID, MemoryProvider] = {}


def attach(root_id: UUID, provider: MemoryProvider) -> None:
    """Use a program's own provider for the runs of one tree in this process, until ``detach``."""
    _attached[root_id] = provider


def detach(root_id: UUID) -> None:
    """Stop using a program's own provider for a tree, if there is one."""
    _attached.pop(root_id, None)


def provider_name(root_id: UUID | None = None) -> str:
    """Return the class name of the provider; empty: Heartbit's own memory.

    Args:
        root_id: The tree of the run that asks, which may have a provider of its own.
    """
    if root_id in _attached:
        return type(_attached[root_id]).__name__[:100]
    path: str = settings.HEARTBIT_MEMORY_PROVIDER
    return path.rpartition(".")[2][:100]


def is_in_process() -> bool:
    """Return True if memories exist only in the process that executes the runs."""
    return bool(settings.HEARTBIT_MEMORY_PROVIDER == IN_PROCESS)


def load_provider(root_id: UUID | None = None) -> MemoryProvider:
    """Return the provider of a tree, or the process's, which the first call creates.

    Raises:
        Exception: Any error of its module or its constructor.
    """
    if root_id in _attached:
        return _attached[root_id]
    return _load(settings.HEARTBIT_MEMORY_PROVIDER)


@functools.cache
def _load(path: str) -> MemoryProvider:
    made: MemoryProvider = import_string(path)()
    return made


T = TypeVar("T")

BEFORE_SECONDS: Final = 3.0
AFTER_SECONDS: Final = 30.0
ERASE_SECONDS: Final = 30.0
MOST_CALLS: Final = 16
MOST_TEXTS: Final = 50
_MOST_SOURCE: Final = 100

_places = threading.BoundedSemaphore(MOST_CALLS)


async def call_before(
    run: MemoryContext, task: str, root_id: UUID | None = None
) -> list[ProvidedText]:
    """Return a provider's texts for a run, without empty ones, at most ``MOST_TEXTS``.

    Raises:
        MemoryProviderError: It failed, returned something else, or did not answer in time.
    """
    return await _call(lambda: _checked(load_provider(root_id).before(run, task)), BEFORE_SECONDS)


async def call_after(run: MemoryContext, said: Sequence[Said], root_id: UUID | None = None) -> None:
    """Hand what was said in a run to the provider.

    Raises:
        MemoryProviderError: It failed or did not answer in time; it may have stored the texts.
    """
    await _call(lambda: load_provider(root_id).after(run, said), AFTER_SECONDS)


def call_erase(workspace_id: int, user_id: int, agent: str) -> None:
    """Let the provider delete everything about a person; block until it has.

    Raises:
        MemoryProviderError: It failed or did not answer in time; it may have deleted the texts.
    """
    started = _start(lambda: load_provider().erase(workspace_id, user_id, agent))
    try:
        started.result(ERASE_SECONDS)
    except futures.TimeoutError as error:
        raise _failure(error) from None


async def _call(fn: Callable[[], T], seconds: float) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(_start(fn))
    except TimeoutError as error:
        raise _failure(error) from None


def _start(fn: Callable[[], T]) -> futures.Future[T]:
    if not _places.acquire(blocking=False):
        raise MemoryProviderError(
            f"The memory provider {provider_name()} has {MOST_CALLS} calls in flight and does "
            f"not answer."
        )
    future: futures.Future[T] = futures.Future()
    future.set_running_or_notify_cancel()  # so that a late result does no harm
    # Not from an executor: Python waits for an executor's threads before it exits.
    threading.Thread(target=_work, args=(fn, future), name="memory-provider", daemon=True).start()
    return future


def _work(fn: Callable[[], T], future: futures.Future[T]) -> None:
    try:
        result = fn()
    except BaseException as error:  # noqa: BLE001  whatever it is, also a sys.exit()
        future.set_exception(_failure(error))
    else:
        future.set_result(result)
    finally:
        connections.close_all()  # a provider may use the ORM
        _places.release()


def _failure(error: BaseException) -> MemoryProviderError:
    """Return the type of the error, not its message, which may contain personal text."""
    return MemoryProviderError(
        f"The memory provider {provider_name()} failed with {type(error).__name__}."
    )


def _checked(texts: Sequence[ProvidedText]) -> list[ProvidedText]:
    found = []
    for one in texts[:MOST_TEXTS]:
        if not isinstance(one, ProvidedText):
            raise TypeError("a provider returns a sequence of ProvidedText")
        text = clean_text(one.text).strip()
        source = " ".join(clean_text(one.source).split())[:_MOST_SOURCE]
        if text:
            found.append(
                ProvidedText(text, source, clean_text(one.why), one.from_outsiders is not False)
            )
    return found
