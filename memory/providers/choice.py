"""Choice of the installation's memory provider."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from memory.providers.protocol import MemoryProvider

IN_PROCESS: Final = "memory.providers.in_process.InProcessMemories"


def provider_name() -> str:
    """Return the class name of the provider; empty: Heartbit's own memory."""
    path: str = settings.HEARTBIT_MEMORY_PROVIDER
    return path.rpartition(".")[2][:100]


def is_in_process() -> bool:
    """Return True if memories exist only in the process that executes the runs."""
    return bool(settings.HEARTBIT_MEMORY_PROVIDER == IN_PROCESS)


def load_provider() -> MemoryProvider:
    """Return the process's provider; the first call creates it.

    Raises:
        Exception: Any error of its module or its constructor.
    """
    return _load(settings.HEARTBIT_MEMORY_PROVIDER)


@functools.cache
def _load(path: str) -> MemoryProvider:
    made: MemoryProvider = import_string(path)()
    return made
