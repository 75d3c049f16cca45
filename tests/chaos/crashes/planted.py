"""Bugs that the product does not have: the checker has to find each of them."""

from __future__ import annotations

import enum
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import connection

from agents.journal.events import Event, ToolStarted
from agents.loop.journaled import JournaledState
from agents.runs import install as functions
from agents.runtime.recovery.sweeper import Sweeper
from tests.chaos.crashes.wrapping import wrap, wrap_plain

if TYPE_CHECKING:
    from collections.abc import Iterator


class Bug(enum.StrEnum):
    """What is wrong in a worker.

    Attributes:
        NO_INTENT: Tools act before it is written down that they will.
        NO_SWEEPER: A message is all there is: whoever took it and dies takes its run along.
    """

    NO_INTENT = "no_intent"
    NO_SWEEPER = "no_sweeper"


def install(bug: str) -> None:
    """Plant it in this process."""
    match Bug(bug):
        case Bug.NO_INTENT:
            wrap(JournaledState, "record", _without_intent)
            wrap_plain(JournaledState, "record_here", _without_intent_here)
        case Bug.NO_SWEEPER:
            wrap_plain(Sweeper, "sweep", _nothing)


async def _without_intent(inner: Any, state: JournaledState[Any], *events: Event) -> None:
    kept = [event for event in events if not isinstance(event, ToolStarted)]
    if kept:
        await inner(state, *kept)


def _without_intent_here(inner: Any, state: JournaledState[Any], *events: Event) -> bool:
    return isinstance(events[0], ToolStarted) or inner(state, *events)


def _nothing(inner: Any, *args: Any) -> None:
    """Do not."""


@contextmanager
def unfenced() -> Iterator[None]:
    """The database takes every write of a run that is being worked on, whatever its token.

    Raises:
        AssertionError: The functions are not as they were when this was written.
    """
    sound = functions.statements()
    ill = sound
    for check, nothing in _CHECKS:
        assert check in ill, check
        ill = ill.replace(check, nothing)
    _run(ill)
    try:
        yield
    finally:
        _run(sound)


#: Where the functions compare tokens, and what does not.
_CHECKS = (
    ("t.lease_token = p_token", "true"),
    ("r.lease_token <> p_token", "false"),
)


def _run(statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)
