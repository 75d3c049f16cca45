"""Tools for calendars: list, create, update and delete events, and find free time."""

from __future__ import annotations

from datetime import time
from typing import Annotated, Any

from pydantic import Field

from heartbit_site.base.credentials import CalDavCredential
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.builtin.clock import zone_of
from tools.connectors.calendars import events
from tools.connectors.calendars.google import GoogleCalendar, GoogleCalendarCredential

Start = Annotated[
    str, Field(max_length=40, description="2026-05-31T14:30, or 2026-05-31 for whole days.")
]
End = Annotated[
    str, Field(max_length=40, description="Like start; a date is the last day, included.")
]
Until = Annotated[str, Field(max_length=40, description="Like start; not included.")]
Zone = Annotated[
    str, Field(max_length=60, description="IANA time zone of the times, e.g. Europe/Berlin.")
]
Name = Annotated[str, Field(max_length=300, description="Calendar's name; empty: the only one.")]
Names = Annotated[str, Field(max_length=300, description="Calendar's name; empty: all.")]
EventId = Annotated[str, Field(max_length=300, description="Id of the event in list_events.")]
Etag = Annotated[
    str,
    Field(max_length=200, description="Etag of the event in list_events: refuse a later state."),
]
Title = Annotated[str, Field(min_length=1, max_length=300)]
Place = Annotated[str, Field(max_length=300)]
Text = Annotated[str, Field(max_length=8_000)]
Hour = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]

_READ = (Label.PRIVATE, Label.UNTRUSTED)  # anyone who knows the address can invite
_WRITE = (Label.OUTBOUND,)
_MOST_SLOTS = 50


@tool(effect=Effect.PURE, timeout_seconds=60, tags=("calendar",), labels=_READ)
async def list_events(
    context: ToolContext,
    account: CalDavCredential | GoogleCalendarCredential,
    start: Start,
    end: Until,
    time_zone: Zone = "UTC",
    calendar: Names = "",
) -> dict[str, Any]:
    """List the events of a calendar between two times, every occurrence of recurring ones."""
    span = events.span_of(start, end, zone_of(time_zone), time_zone)
    found = await _calendar(context, account).events(span, calendar)
    return {"events": found.events, "left_out": found.left_out, **found.problem}


@tool(effect=Effect.PURE, timeout_seconds=60, tags=("calendar",), labels=_READ)
async def find_free_time(
    context: ToolContext,
    account: CalDavCredential | GoogleCalendarCredential,
    start: Start,
    end: Until,
    minutes: Annotated[int, Field(ge=1, le=1_440, description="Minimum length of a free slot.")],
    time_zone: Zone = "UTC",
    day_start: Hour = "09:00",
    day_end: Hour = "17:00",
    calendar: Names = "",
) -> dict[str, Any]:
    """Find times without events, within the hours of each day.

    Events that cannot be read are not considered; left_out counts them.
    """
    zone = zone_of(time_zone)
    span = events.span_of(start, end, zone, time_zone)
    found = await _calendar(context, account).events(span, calendar)
    hours = time.fromisoformat(day_start), time.fromisoformat(day_end)
    gaps = events.free_times(
        found.events, span, zone, minutes=minutes, day_start=hours[0], day_end=hours[1]
    )
    slots = [
        {"start": first.isoformat(timespec="minutes"), "end": last.isoformat(timespec="minutes")}
        for first, last in gaps
    ]
    more = len(slots) > _MOST_SLOTS
    answer = {"free": slots[:_MOST_SLOTS], "more": more, "left_out": found.left_out}
    return answer | found.problem


@tool(
    effect=Effect.IDEMPOTENT,
    timeout_seconds=60,
    tags=("calendar",),
    labels=_WRITE,
    summary="Create the event {title}, {start} to {end} ({time_zone})",
)
async def create_event(
    context: ToolContext,
    account: CalDavCredential | GoogleCalendarCredential,
    title: Title,
    start: Start,
    end: End,
    time_zone: Zone = "UTC",
    location: Place = "",
    description: Text = "",
    repeat: Annotated[
        str, Field(max_length=300, description="RRULE, e.g. FREQ=WEEKLY;BYDAY=MO;COUNT=10.")
    ] = "",
    calendar: Name = "",
) -> str:
    """Create an event in a calendar."""
    first, last = events.event_times(start, end, zone_of(time_zone))
    fields = {"title": title, "start": first, "end": last, "zone": time_zone}
    fields |= {"location": location, "description": description, "repeat": repeat}
    event = await _calendar(context, account).create(context.idempotency_key, fields, calendar)
    return f"Created the event {event}."


@tool(
    effect=Effect.IDEMPOTENT,
    timeout_seconds=60,
    tags=("calendar",),
    labels=_WRITE,
    summary="Change the event {event}",
)
async def update_event(
    context: ToolContext,
    account: CalDavCredential | GoogleCalendarCredential,
    event: EventId,
    etag: Etag = "",
    title: Title | None = None,
    start: Start | None = None,
    end: End | None = None,
    time_zone: Zone = "UTC",
    location: Place | None = None,
    description: Text | None = None,
    calendar: Name = "",
) -> str:
    """Change an event: only what is given. A recurring event of CalDAV is changed as a whole."""
    given = {"title": title, "location": location, "description": description}
    changes: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
    if (start is None) != (end is None):
        raise events.CalendarError("Give start and end together.")
    if start is not None and end is not None:
        first, last = events.event_times(start, end, zone_of(time_zone))
        changes |= {"start": first, "end": last, "zone": time_zone}
    if not changes:
        raise events.CalendarError("No change is given: give at least one new value.")
    await _calendar(context, account).update(event, changes, etag, calendar)
    return f"Changed the event {event}."


@tool(
    effect=Effect.IDEMPOTENT,
    timeout_seconds=60,
    tags=("calendar",),
    labels=_WRITE,
    summary="Delete the event {event}",
)
async def delete_event(
    context: ToolContext,
    account: CalDavCredential | GoogleCalendarCredential,
    event: EventId,
    etag: Etag = "",
    calendar: Name = "",
) -> str:
    """Delete an event. A recurring event of CalDAV is deleted as a whole."""
    await _calendar(context, account).delete(event, etag, calendar)
    return f"Deleted the event {event}."


def _calendar(
    context: ToolContext, account: CalDavCredential | GoogleCalendarCredential
) -> events.Calendar:
    if isinstance(account, GoogleCalendarCredential):
        return GoogleCalendar(context.http, account)
    # Imported here: every command imports this module for its tools' definitions.
    from tools.connectors.calendars.caldav import CalDavCalendar  # noqa: PLC0415

    return CalDavCalendar(context.http, account)
