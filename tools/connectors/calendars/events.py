"""Events, the times that models write, free time, and the interface of a calendar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Final, Protocol

from heartbit_site.base.errors import HeartbitError

MAX_DAYS: Final = 366  # of one list
MAX_EVENTS: Final = 500  # of one list
MAX_NAMED_ZONES: Final = 10  # of one list


class CalendarError(HeartbitError):
    """A calendar cannot be read or changed."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time span to look at, as time-zone-aware times."""

    start: datetime
    end: datetime
    zone_name: str


@dataclass(frozen=True, slots=True)
class Found:
    """Events of a span.

    Attributes:
        events: One dictionary per occurrence, in order; ``busy`` is False for those that block no
            time.
        left_out: Number of events that could not be read, or exceed ``MAX_EVENTS``.
        unknown_zones: Time zones of events that are left out because nothing defines the zone.
    """

    events: list[dict[str, Any]]
    left_out: int
    unknown_zones: tuple[str, ...] = ()

    @property
    def problem(self) -> dict[str, str]:
        """The field ``problem`` of a tool's result, if zones are unknown."""
        if not self.unknown_zones:
            return {}
        names = ", ".join(map(repr, self.unknown_zones[:MAX_NAMED_ZONES]))
        return {"problem": f"Events were left out, since their time zone is unknown: {names}."}


class Calendar(Protocol):
    """A calendar account. Every method raises ``HeartbitError`` or ``httpx.HTTPError``."""

    async def events(self, span: Span, calendar: str) -> Found:
        """Return the occurrences in a span, of one calendar or of all."""
        ...

    async def create(self, key: str, fields: Mapping[str, Any], calendar: str) -> str:
        """Create an event once per key; return its id."""
        ...

    async def update(
        self, event: str, changes: Mapping[str, Any], etag: str, calendar: str
    ) -> None:
        """Change an event, unless its etag has changed or it already has the new values."""
        ...

    async def delete(self, event: str, etag: str, calendar: str) -> None:
        """Delete an event, unless its etag has changed; a missing event counts as deleted."""
        ...


def span_of(start: str, end: str, zone: tzinfo, zone_name: str) -> Span:
    """Return the span between two times that a model wrote; dates mean midnight.

    Raises:
        CalendarError: A time is not valid, or they are in the wrong order or too far apart.
    """
    first, last = _moment(start, zone), _moment(end, zone)
    if not timedelta(0) < last - first <= timedelta(days=MAX_DAYS):
        raise CalendarError(f"The end must be after the start, by at most {MAX_DAYS} days.")
    return Span(first, last, zone_name)


def event_times(start: str, end: str, zone: tzinfo) -> tuple[str, str]:
    """Return an event's times in their stored form: local times, or dates for whole days.

    Raises:
        CalendarError: A time is not valid, or they are of two kinds or in the wrong order.
    """
    if _is_date(start) != _is_date(end):
        raise CalendarError("Start and end must both be dates (whole days) or both be times.")
    first, last = _moment(start, zone), _moment(end, zone)
    if _is_date(start):
        if last < first:
            raise CalendarError("The event ends before it starts.")
        return first.date().isoformat(), last.date().isoformat()
    if last <= first:
        raise CalendarError("The event ends before it starts.")
    return _local(first), _local(last)


def _local(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


def _is_date(text: str) -> bool:
    return "T" not in text and " " not in text.strip() and ":" not in text


def _moment(text: str, zone: tzinfo) -> datetime:
    try:
        if _is_date(text):
            return datetime.combine(date.fromisoformat(text.strip()), time(), zone)
        moment = datetime.fromisoformat(text.strip())
        found = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
        found.astimezone(zone)
    except (ValueError, OverflowError):
        raise CalendarError(
            f"{text[:40]!r} is not a time: write 2026-05-31T14:30, or 2026-05-31 for a day."
        ) from None
    if not 1900 <= found.year <= 2200:
        raise CalendarError(f"{text[:40]!r} is not between 1900 and 2200.")
    return found


def free_times(
    events: Iterable[dict[str, Any]],
    span: Span,
    zone: tzinfo,
    *,
    minutes: int,
    day_start: time,
    day_end: time,
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the gaps between busy events, of minimum length in minutes, within each day's hours."""
    busy = sorted(_busy(event, zone) for event in events if event["busy"])
    least = timedelta(minutes=minutes)
    day = span.start.astimezone(zone).date()
    while day <= span.end.astimezone(zone).date():
        free = max(datetime.combine(day, day_start, zone), span.start)
        last = min(datetime.combine(day, day_end, zone), span.end)
        for start, end in busy:
            if start >= last:
                break
            if start - free >= least:
                yield free, start
            free = max(free, end)
        if last - free >= least:
            yield free, last
        day += timedelta(days=1)


def _busy(event: dict[str, Any], zone: tzinfo) -> tuple[datetime, datetime]:
    start, end = (datetime.fromisoformat(event[name]) for name in ("start", "end"))
    if event["all_day"]:  # from midnight to midnight in the given time zone
        return start.replace(tzinfo=zone), end.replace(tzinfo=zone)
    return start, end
