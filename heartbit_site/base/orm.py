"""Django's ORM away from requests: bounded threads whose connections do not grow stale."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")


class OrmExecutor(ThreadPoolExecutor):
    """Threads for short blocking work that may use the ORM; at most ``max_workers`` connections."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` in a thread; its connection is checked before and after."""
        return super().submit(_checked, fn, *args, **kwargs)


def _checked(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return fn(*args, **kwargs)
    finally:
        close_old_connections()
