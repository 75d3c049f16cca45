"""Program that reads and writes iCalendar, run with limits by ``icalendar_process``.

It reads a JSON object from standard input and writes one to standard output. Events are written by
outsiders: an event that takes too long or cannot be read is left out.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import recurring_ical_events
from icalendar import Calendar, Event, Timezone, vRecur
from icalendar.timezone import tzp
from icalendar.timezone.zoneinfo import ZONEINFO
from tzlocal.windows_tz import win_tz

EVENT_CPU_SECONDS = 1.0  # of one event's occurrences
ALL_CPU_SECONDS = 10.0  # of all
_ZONES = frozenset(available_timezones() - {"localtime", "Factory"})
_TIMES = ("DTSTART", "DTEND", "RECURRENCE-ID", "EXDATE", "RDATE")
_MOST_OF_ZONE = 80
_TEXTS = {"title": "SUMMARY", "location": "LOCATION", "description": "DESCRIPTION"}


class RefusedOperationError(Exception):
    """The operation cannot be carried out; the text is for the model."""


class UnknownZoneError(Exception):
    """An event's time zone is neither known nor defined in its calendar; the text is its name."""


class _Zones(ZONEINFO):  # type: ignore[misc]  # icalendar has no types
    """Time zones by IANA name, Windows name, or an IANA name with a program's prefix."""

    def timezone(self, name: str) -> ZoneInfo | None:
        """Return the zone of a name; None if it is unknown, and the calendar may define it.

        Windows names come from tzlocal: icalendar's table is from 2016.
        """
        known = win_tz.get(name, name)
        if known not in _ZONES:
            # /mozilla.org/20050126_1/Europe/Berlin
            parts = known.split("/")
            tails = ("/".join(parts[start:]) for start in range(1, len(parts) - 1))
            known = next((tail for tail in tails if tail in _ZONES), "")
        return ZoneInfo(known) if known else None


def _parse(ics: str) -> Calendar:
    """Parse a calendar's entry; a time in an unknown zone has none."""
    tzp.use(_Zones())  # another entry's zone definitions do not apply to this entry
    calendar = Calendar.from_ical(ics)
    if calendar.timezones and _unknown_zone(calendar):  # the definitions may follow the events
        calendar = Calendar.from_ical(ics)
    return calendar


def _unknown_zone(calendar: Calendar) -> str:
    """Return the first unknown zone of the events; empty if there is none."""
    for event in calendar.walk("VEVENT"):
        for name in _TIMES:
            given = event.get(name, [])
            for each in given if isinstance(given, list) else [given]:
                zone = str(each.params.get("TZID", ""))
                moments = [one.dt for one in each.dts] if hasattr(each, "dts") else [each.dt]
                if zone and any(isinstance(one, datetime) and not one.tzinfo for one in moments):
                    return zone[:_MOST_OF_ZONE]
    return ""


def expand(objects: list[dict[str, str]], start: str, end: str, zone: str, limit: int) -> Any:
    """Return the occurrences of events between two times."""
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    found: list[dict[str, Any]] = []
    left_out, seconds = 0, ALL_CPU_SECONDS
    unknown_zones: set[str] = set()
    for each in objects:
        allowed = min(EVENT_CPU_SECONDS, seconds)
        if allowed <= 0.01:
            left_out += 1
            continue
        signal.setitimer(signal.ITIMER_VIRTUAL, allowed)
        try:
            calendar = _parse(each["ics"])
            if zone_name := _unknown_zone(calendar):
                raise UnknownZoneError(zone_name)
            repeats = any("RRULE" in one or "RDATE" in one for one in calendar.walk("VEVENT"))
            rows = [
                _row(event, {**each, "recurring": repeats}, ZoneInfo(zone))
                for event in recurring_ical_events.of(calendar).between(first, last)
            ]
        except UnknownZoneError as unknown:
            unknown_zones.add(str(unknown))
            left_out += 1
        except Exception:  # noqa: BLE001  a parser of hostile text may raise anything
            left_out += 1
        else:
            found += rows
        finally:
            left, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            seconds -= allowed - left
    found.sort(key=lambda row: (str(row["start"])[:10], str(row["start"])))
    return {
        "events": found[:limit],
        "left_out": left_out + len(found[limit:]),
        "unknown_zones": sorted(unknown_zones),
    }


def build(uid: str, fields: dict[str, Any]) -> Any:
    """Return a new event as iCalendar text."""
    calendar, event = Calendar(), Event()
    calendar.add("VERSION", "2.0")
    calendar.add("PRODID", "-//Heartbit//Calendar//EN")
    event.add("UID", uid)
    event.add("DTSTAMP", datetime.now(UTC))
    _change(event, fields)
    if fields.get("repeat"):
        event.add("RRULE", _rule(fields["repeat"]))
    calendar.add_component(event)
    _define_zones(calendar)
    return {"ics": calendar.to_ical().decode()}


def edit(ics: str, changes: dict[str, Any]) -> Any:
    """Return an event's iCalendar text with changes, and whether it differs."""
    calendar = _parse(ics)
    events = calendar.walk("VEVENT")
    masters = [event for event in events if "RECURRENCE-ID" not in event]
    if len(masters) != 1:
        raise RefusedOperationError(
            "The calendar entry is not a single event: use a calendar program."
        )
    event = masters[0]
    if "start" in changes and len(events) > 1:
        raise RefusedOperationError(
            "Some occurrences of this recurring event were moved: use a calendar program."
        )
    before = event.to_ical()
    _change(event, changes)
    if event.to_ical() == before:
        return {"ics": ics, "changed": False}
    sequence = int(event.get("SEQUENCE", 0)) + 1
    for name, value in (("SEQUENCE", sequence), ("DTSTAMP", datetime.now(UTC))):
        event.pop(name, None)
        event.add(name, value)
    _define_zones(calendar)
    return {"ics": calendar.to_ical().decode(), "changed": True}


def _define_zones(calendar: Calendar) -> None:
    """Add missing zone definitions; definitions that are no longer used stay."""
    defined = {zone.tz_name for zone in calendar.timezones}
    for name in sorted(calendar.get_used_tzids() - defined):
        if name in _ZONES:
            calendar.add_component(Timezone.from_tzid(name))


def _change(event: Event, fields: dict[str, Any]) -> None:
    for field, name in _TEXTS.items():
        if field in fields:
            event.pop(name, None)
            if fields[field]:
                event.add(name, fields[field])
    if "start" in fields:
        for name in ("DTSTART", "DTEND", "DURATION"):
            event.pop(name, None)
        event.add("DTSTART", _time(fields["start"], fields["zone"]))
        end = _time(fields["end"], fields["zone"])
        # The model's last day is part of the event; RFC 5545 section 3.6.1 excludes DTEND.
        event.add("DTEND", end if isinstance(end, datetime) else end + timedelta(days=1))


def _time(text: str, zone: str) -> date | datetime:
    if "T" not in text:
        return date.fromisoformat(text)
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
    return moment.astimezone(UTC) if zone == "UTC" else moment


def _rule(text: str) -> vRecur:
    try:
        rule = vRecur.from_ical(text.removeprefix("RRULE:"))
        frequency = rule["FREQ"][0]
    except Exception:  # noqa: BLE001  as above
        raise RefusedOperationError(
            "The repetition is not a valid RRULE, such as FREQ=WEEKLY;COUNT=10."
        ) from None
    if frequency not in ("DAILY", "WEEKLY", "MONTHLY", "YEARLY"):
        raise RefusedOperationError("An event can repeat daily, weekly, monthly or yearly.")
    return rule


def _row(event: Any, source: dict[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    start, end = event.start, event.end
    whole_days = not isinstance(start, datetime)
    status = str(event.get("STATUS", "")).upper()[:20]
    return {
        "id": source["id"],
        "etag": source["etag"],
        "title": str(event.get("SUMMARY", ""))[:300],
        "start": _shown(start, zone),
        "end": _shown(end, zone),
        "all_day": whole_days,
        "location": str(event.get("LOCATION", ""))[:300],
        "description": str(event.get("DESCRIPTION", ""))[:2_000],
        "organizer": str(event.get("ORGANIZER", ""))[:300],
        "status": status,
        "recurring": source["recurring"],
        "busy": status != "CANCELLED" and str(event.get("TRANSP", "")).upper() != "TRANSPARENT",
    }


def _shown(moment: date | datetime, zone: ZoneInfo) -> str:
    if not isinstance(moment, datetime):
        return moment.isoformat()
    aware = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
    return aware.isoformat(timespec="seconds")


def _too_long(*_: object) -> None:
    raise TimeoutError("too much time for one event")


def main() -> None:
    """Carry out the operation on standard input."""
    signal.signal(signal.SIGVTALRM, _too_long)
    asked = json.load(sys.stdin)
    operations: dict[str, Callable[..., Any]] = {"expand": expand, "build": build, "edit": edit}
    try:
        answer = operations[asked.pop("operation")](**asked)
    except RefusedOperationError as error:
        answer = {"refused": str(error)}
    except Exception:  # noqa: BLE001  as above
        answer = {"refused": "The calendar entry cannot be read."}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
