"""Django's client of tests, whose requests all take the same handler.

A client's own handler loads every middleware at its first request, and that of the static files
looks at each of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django import test
from django.test.client import ClientHandler


class Client(test.Client):
    """A browser without a page; see ``django.test.Client``."""

    def __init__(self, *, enforce_csrf_checks: bool = False, **options: Any) -> None:
        super().__init__(enforce_csrf_checks, **options)
        self.handler = _handler(enforce_csrf_checks)


@cache
def _handler(enforce_csrf_checks: bool) -> ClientHandler:  # noqa: FBT001
    return ClientHandler(enforce_csrf_checks)
