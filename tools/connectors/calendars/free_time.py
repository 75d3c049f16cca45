"""Free time between busy events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.connectors.calendars.events import Span


def free_times(
    events: Iterable[dict[str, Any]],
    span: Span,
    zone: tzinfo,
    *,
    minutes: int,
    day_start: time,
    day_end: time,
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the gaps between busy events, of a least length in minutes, within each day's hours."""
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
    if event["all_day"]:  # from midnight to midnight where the person is
        return start.replace(tzinfo=zone), end.replace(tzinfo=zone)
    return start, end
