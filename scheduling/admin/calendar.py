"""The slots to come, as a list in words and on a calendar of five weeks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.template.loader import render_to_string

from scheduling.errors import ScheduleError
from scheduling.occurrences import slots_between, upcoming_occurrences
from scheduling.recurrence import build_recurrence, format_time, time_zone

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from scheduling.models import Schedule

SHOWN = 5
WEEKS = 5
_MOST = 2_000


def describe_recurrence(schedule: Schedule) -> str:
    """Return the recurrence as text, or what is wrong with it."""
    try:
        return build_recurrence(schedule).words
    except ScheduleError as error:
        return str(error)


def upcoming(schedule: Schedule, now: datetime) -> SafeString:
    """Return the next five occurrences, and a calendar with their number for each day.

    Raises:
        ScheduleError: The schedule's rhythm is none.
    """
    zone = time_zone(schedule.time_zone)
    today = now.astimezone(zone).date()
    monday = today - timedelta(days=today.weekday())
    end = datetime.combine(monday + timedelta(weeks=WEEKS), datetime.min.time(), zone)
    found = slots_between(schedule, now, end - timedelta(seconds=1), _MOST)
    counted = Counter(slot.astimezone(zone).date() for slot in found)
    dates = [monday + timedelta(days=number) for number in range(7 * WEEKS)]
    days = [
        {
            "date": day,
            "count": counted[day],
            "is_today": day == today,
            "is_over": day < today,
            "begins_month": day == monday or day.day == 1,
        }
        for day in dates
    ]
    return render_to_string(
        "admin/scheduling/upcoming.html",
        {
            "slots": [
                format_time(slot, zone) for slot in upcoming_occurrences(schedule, now, SHOWN)
            ],
            "weeks": [days[at : at + 7] for at in range(0, len(days), 7)],
            "cut": len(found) == _MOST,
        },
    )
