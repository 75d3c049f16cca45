"""Reader of a workspace's system events: each once, in the order of their transactions.

Usage::

    place = now()
    page = read_events(access, place, wanted)
    page.events; page.place                 # what came since, and where to go on
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Self

from agents.system_events.sources import HAPPENED
from agents.system_events.types import EVENTS, EventOut, matching
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.query import fetch_all, fetch_one

MOST_EVENTS: Final = 500
LOOK_SECONDS: Final = 1.0
#: The longest transaction whose events no reader misses.
OVERLAP: Final = timedelta(minutes=10)
_MOST_CHARACTERS: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the stream: after an event, or after all transactions before one.

    Attributes:
        xid: Number of a transaction; 0: all since ``at``.
        at: Time of the event, or before which no unread row was written.
        key: Key of the last event of that transaction that was read; empty: none.
    """

    xid: int
    at: datetime
    key: str = ""

    def __str__(self) -> str:
        """Return the id of the event."""
        return f"{self.xid}-{(self.at - _EPOCH) // _MICROSECOND}-{self.key}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the place that an id stands for.

        Raises:
            ConfigurationError: It is not the id of an event.
        """
        xid, _, rest = text[:_MOST_CHARACTERS].partition("-")
        at, dash, key = rest.partition("-")
        try:
            ok = dash and xid.isdecimal() and at.isdecimal() and key.isprintable()
            if not ok or int(xid) >= 2**62:
                raise ValueError(text)
            return cls(int(xid), _EPOCH + int(at) * _MICROSECOND, key)
        except (ValueError, OverflowError):
            raise ConfigurationError(
                f"{text[:60]!r} is not the id of an event: use the `id` of one, or leave it out."
            ) from None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Selection of events.

    Attributes:
        types: The types.
        agent: Name of the agent that they concern; empty: any.
    """

    types: tuple[str, ...] = tuple(EVENTS)
    agent: str = ""

    @classmethod
    def of(cls, patterns: Iterable[str], agent: str = "") -> Self:
        """Return the selection by patterns; without one, of all events.

        Raises:
            ConfigurationError: The agent's name has a character that no name has.
        """
        if not agent.isprintable():
            raise ConfigurationError("An agent's name has no such characters.")
        return cls(tuple(matching(patterns)) or tuple(EVENTS), agent)


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, the place after them, and whether more are there already."""

    events: list[EventOut]
    place: Position
    has_more: bool


# Sessions of other programs may be older than a transaction of Heartbit should be.
_FLOOR: Final = """
SELECT greatest(min(xact_start), clock_timestamp() - %s) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
"""
_READ: Final = f"""
WITH {HAPPENED}
SELECT c.horizon, h.xid, h.at, h.key, h.type, h.subject, h.data
FROM c LEFT JOIN LATERAL (
    SELECT * FROM happened h
    WHERE h.xid < c.horizon AND (h.xid, h.key COLLATE "C") > (
              -- A restored backup numbers its transactions from the start: then the time counts.
              CASE WHEN %(xid)s <= c.horizon THEN %(xid)s ELSE 0 END, %(key)s)
      AND h.type = ANY (%(types)s) AND h.at >= %(since)s
      AND (%(agent)s = '' OR %(agent)s IN (h.data ->> 'agent', h.data #>> '{{call,agent}}')
           OR 'agent:' || %(agent)s IN (h.data ->> 'sender', h.data ->> 'recipient'))
    ORDER BY h.xid, h.key COLLATE "C" LIMIT %(limit)s
) h ON true
"""  # noqa: S608  constants


def floor() -> datetime:
    """Return the time before which no transaction that is running now has begun."""
    found: datetime = fetch_one(_FLOOR, [OVERLAP])[0]
    return found


def now() -> Position:
    """Return the place after everything that is committed."""
    at = floor()
    xid = fetch_one("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")[0]
    return Position(xid, at)


def read_events(access: Access, place: Position, wanted: Wanted) -> EventPage:
    """Return the committed events after a place, 500 at most.

    They are read up to the oldest transaction that still runs: none is missed, or read twice.

    Args:
        access: The reader, and the workspace. Of private runs they read their own, and the calls
            that they may decide.
        place: Where the reader is.
        wanted: Which events.
    """
    later = floor()  # before the snapshot of the statement below
    values = {
        "workspace": access.workspace.pk,
        "reader": access.user_id,
        "decides": access.allows("approvals:decide"),
        "floor": place.at - OVERLAP if place.key else place.at,
        "xid": place.xid,
        "key": place.key,
        "types": list(wanted.types),
        "agent": wanted.agent,
        "since": _EPOCH if place.xid else place.at,
        "limit": MOST_EVENTS + 1,
    }
    rows = fetch_all(_READ, values)
    horizon = rows[0][0]
    found = [row[1:] for row in rows if row[1] is not None]
    places = [Position(xid, at, key) for xid, at, key, *_ in found[:MOST_EVENTS]]
    events = [
        EventOut.read(str(one), kind, at, subject, json.loads(data))
        for one, (_, at, _, kind, subject, data) in zip(places, found, strict=False)
    ]
    if len(found) > MOST_EVENTS:
        return EventPage(events, places[-1], has_more=True)
    return EventPage(events, Position(horizon, later), has_more=False)


async def follow_events(
    access: Callable[[], Access], place: Position, wanted: Wanted
) -> AsyncGenerator[EventPage, None]:
    """Yield pages of events as they are committed, also empty ones: one a second at least.

    Args:
        access: Returns the reader's access as it is now.
        place: Where the reader is.
        wanted: Which events.
    """
    while True:
        page = await orm.read_in_thread(partial(read_events, access(), place, wanted))
        yield page
        place = page.place
        if not page.has_more:
            await asyncio.sleep(LOOK_SECONDS)
