"""Recurrences as sentences that people type: ``every weekday at 8:00``. Pure.

Usage::

    read_sentence("every weekday at 8:00", zone, now)   # {"cron": "0 8 * * 1-5"}
    write_sentence(schedule_settings, zone)             # "every weekday at 08:00"

What a sentence cannot say is a cron expression, which both functions take and return as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from heartbit_site.base.moments import NoSuchTimeError, localize
from scheduling.errors import ScheduleError

DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_UNITS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_GROUPS: Final = {"day": "*", "weekday": "1-5", "weekend": "0,6", "weekend day": "0,6"}
_CRON: Final = re.compile(r"[\d*/,-]+ +[\d*/,-]+( +\S+){3}")
_SPAN: Final = re.compile(rf"(?P<count>\d{{1,9}}) ?(?P<unit>{'|'.join(_UNITS)})s?")
_TIME: Final = re.compile(r"(?P<hour>\d{1,2})([:.h](?P<minute>\d{2}))? ?(?P<half>am|pm)?")
_MONTHLY: Final = re.compile(r"(?P<days>.+?)( day)? of (the|each|every) month")
_DATE: Final = re.compile(r"(on |once on |once )?(?P<day>\d{4}-\d{2}-\d{2}|today|tomorrow)")
_MONTH_FIRST: Final = re.compile(r"(every|each) month on the (?P<days>.+)")
_BEFORE_DAY: Final = re.compile(r"(?:on )?(?:the )?")
_BEFORE_WEEKDAY: Final = re.compile(r"(?:every |each |on )?")
_AND: Final = re.compile(r", and |, | and ")
_NUMBERS: Final = re.compile(r"\d+(,\d+)*")
_MOST_CHARACTERS: Final = 200
_NUMBER: Final = re.compile(r"(\d{1,2})(st|nd|rd|th)?")
_EXAMPLES: Final = (
    "write it like every weekday at 8:00, every 15 minutes, mondays and thursdays at 9, the 1st of "
    "the month at 7:30, tomorrow at 9:00, or as a cron expression"
)


def read_sentence(text: str, zone: ZoneInfo, now: datetime) -> dict[str, Any]:
    """Return what a sentence says: one of ``cron``, ``every_seconds`` and ``at``.

    Args:
        text: The sentence, or a cron expression.
        zone: Time zone of its times of day.
        now: Present time, for ``tomorrow`` and ``in 3 days``.

    Raises:
        ScheduleError: The sentence is not understood; the message has examples.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ScheduleError(f"The sentence is longer than {_MOST_CHARACTERS} characters.")
    said = " ".join(text.lower().replace(",", " , ").split()).replace(" , ", ", ").rstrip(".")
    if said.startswith("in ") and (span := _SPAN.fullmatch(said.removeprefix("in "))):
        return {"at": (now + timedelta(seconds=_seconds(span))).replace(microsecond=0)}
    if _CRON.fullmatch(text.strip()):
        return {"cron": text.strip()}
    when, has_time, times = _split_time(said)
    if date_said := _DATE.fullmatch(when):
        return {"at": _moment(date_said["day"], times, zone, now)}
    if not has_time and (interval := _interval(when)):
        return {"every_seconds": interval}
    days = _monthly(when) or _weekly(when)
    if days is None:
        raise ScheduleError(f"{text.strip()[:60]!r} is no time that Heartbit knows: {_EXAMPLES}.")
    if not has_time:
        raise ScheduleError(f"{text.strip()[:60]!r} names no time of day: add one, as at 8:00.")
    minutes = {minute for _, minute in times}
    if len(minutes) > 1:
        raise ScheduleError("Times of one schedule have the same minute: make two schedules.")
    hours = ",".join(str(hour) for hour in sorted({hour for hour, _ in times}))
    return {"cron": f"{minutes.pop()} {hours} {days}"}


def write_sentence(settings: Mapping[str, Any], zone: ZoneInfo) -> str:
    """Return the sentence of a recurrence, which ``read_sentence`` reads as the same recurrence.

    Args:
        settings: One of ``cron``, ``every_seconds`` and ``at``; the others are empty.
        zone: Time zone of its times of day.
    """
    if moment := settings.get("at"):
        there = moment.astimezone(zone)
        return f"on {there:%Y-%m-%d} at {there:%H:%M}"
    if seconds := settings.get("every_seconds"):
        # Not "every day", which would need a time of day.
        unit = "hour" if seconds == _UNITS["day"] else _largest_unit(seconds)
        count = seconds // _UNITS[unit]
        return f"every {unit}" if count == 1 else f"every {count} {unit}s"
    cron = settings.get("cron") or ""
    said = _sentence_of(cron)
    return said if said and read_sentence(said, zone, datetime.now(zone))["cron"] == cron else cron


def _after(pattern: re.Pattern[str], text: str) -> str:
    """Return the text after what a pattern finds at its beginning."""
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _largest_unit(seconds: int) -> str:
    return next(name for name in ("day", "hour", "minute", "second") if not seconds % _UNITS[name])


def _seconds(span: re.Match[str]) -> int:
    return int(span["count"]) * _UNITS[span["unit"]]


def _split_time(said: str) -> tuple[str, bool, list[tuple[int, int]]]:
    """Split ``mondays at 8:00 and 17:00`` at its last ``at``."""
    when, at, rest = said.rpartition(" at ")
    if not at:
        return said, False, []
    return when, True, [_time(one) for one in _AND.split(rest)]


def _time(text: str) -> tuple[int, int]:
    if text in ("noon", "midnight"):
        return (12, 0) if text == "noon" else (0, 0)
    found = _TIME.fullmatch(text)
    hour, minute = (int(found["hour"]), int(found["minute"] or 0)) if found else (24, 0)
    if found and found["half"]:
        hour = hour % 12 + 12 * (found["half"] == "pm") if 1 <= hour <= 12 else 24
    if hour > 23 or minute > 59:
        raise ScheduleError(f"{text[:20]!r} is no time of day: write it like 8:00 or 17:30.")
    return hour, minute


def _interval(when: str) -> int | None:
    what = when.removeprefix("every ").removeprefix("each ")
    if what in ("hourly", "hour", "minute", "second"):
        return _UNITS[what.removesuffix("ly")]
    found = _SPAN.fullmatch(what)
    return _seconds(found) if found and what != when else None


def _weekly(when: str) -> str | None:
    """Return the last three parts of the cron expression."""
    what = _after(_BEFORE_WEEKDAY, when)
    if what in ("daily", "every day"):
        what = "day"
    if what.removesuffix("s") in _GROUPS:
        return f"* * {_GROUPS[what.removesuffix('s')]}"
    numbers = []
    for name in _AND.split(what):
        short = name.removesuffix("s")
        day = next((n for n, full in enumerate(DAYS) if short in (full, full[:3])), None)
        if day is None:
            return None
        numbers.append(day)
    return f"* * {','.join(map(str, sorted(set(numbers))))}"


def _monthly(when: str) -> str | None:
    what = _after(_BEFORE_DAY, when)
    if first := _MONTH_FIRST.fullmatch(when):
        what = f"{first['days']} of the month"
    found = _MONTHLY.fullmatch(what)
    if not found:
        return None
    if found["days"] == "last":
        return "L * *"
    numbers = []
    for name in _AND.split(found["days"]):
        number = _NUMBER.fullmatch(name.removeprefix("the "))
        if number is None or not 1 <= int(number[1]) <= 31:
            return None
        numbers.append(int(number[1]))
    return f"{','.join(map(str, sorted(set(numbers))))} * *"


def _moment(day: str, times: list[tuple[int, int]], zone: ZoneInfo, now: datetime) -> datetime:
    if len(times) != 1:
        raise ScheduleError("A schedule that runs once needs one time of day: add it, as at 8:00.")
    today = now.astimezone(zone).date()
    try:
        named = (
            today + timedelta(days=day == "tomorrow") if day[0] == "t" else date.fromisoformat(day)
        )
        return localize(datetime.combine(named, datetime.min.time().replace(*times[0])), zone)
    except (ValueError, NoSuchTimeError) as error:
        raise ScheduleError(str(error)[:1].upper() + str(error)[1:].rstrip(".") + ".") from None


def _sentence_of(cron: str) -> str:
    """Return the sentence that a simple cron expression may have; empty for others."""
    minute, hours, day, month, weekdays = (cron.split() + [""] * 5)[:5]
    if not minute.isdecimal() or month != "*" or not _NUMBERS.fullmatch(hours):
        return ""
    times = _listed([f"{int(hour):02}:{int(minute):02}" for hour in hours.split(",")])
    group = next((name for name, part in _GROUPS.items() if part == weekdays), None)
    if day == "*" and group:
        return f"every {group} at {times}"
    if day == "*" and _NUMBERS.fullmatch(weekdays):
        names = [DAYS[int(number) % 7].capitalize() for number in weekdays.split(",")]
        return f"every {_listed(names)} at {times}"
    if weekdays == "*" and day == "L":
        return f"the last day of the month at {times}"
    if weekdays == "*" and _NUMBERS.fullmatch(day):
        days = _listed([_ordinal(int(number)) for number in day.split(",")])
        return f"the {days} of the month at {times}"
    return ""


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
