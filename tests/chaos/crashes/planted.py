"""Bugs that the product does not have: the checker has to find each of them."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from agents.events import Event, ToolStarted
from agents.loop.journaled import JournaledState
from agents.runtime.sweeper import Sweeper
from tests.chaos.crashes.wrapping import wrap, wrap_plain

if TYPE_CHECKING:
    from collections.abc import Sequence


class Bug(enum.StrEnum):
    """What is wrong.

    Attributes:
        NO_INTENT: Tools act before it is written down that they will.
        NO_SWEEPER: A message is all there is: whoever took it and dies takes the run along.
    """

    NO_INTENT = "no_intent"
    NO_SWEEPER = "no_sweeper"


def install(bug: str) -> None:
    """Plant it in this process."""
    match Bug(bug):
        case Bug.NO_INTENT:
            wrap(JournaledState, "record", _without_intent)
        case Bug.NO_SWEEPER:
            wrap_plain(Sweeper, "sweep", _nothing)


async def _without_intent(inner: Any, state: JournaledState, *events: Event) -> None:
    kept: Sequence[Event] = [event for event in events if not isinstance(event, ToolStarted)]
    if kept:
        await inner(state, *kept)


def _nothing(inner: Any, *args: Any) -> None:
    """Do not."""
