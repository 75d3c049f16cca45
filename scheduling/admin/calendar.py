"""The slots to come, as a list in words and on a calendar of five weeks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string

from scheduling.occurrences import slots_between, upcoming_occurrences
from scheduling.recurrence import format_time, time_zone

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from scheduling.models import Schedule

SHOWN = 5
WEEKS = 5
_MOST = 2_000


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
    days: list[dict[str, Any]] = []
    for number in range(7 * WEEKS):
        day = monday + timedelta(days=number)
        days.append(
            {
                "date": day,
                "count": counted[day],
                "is_today": day == today,
                "is_over": day < today,
                "begins_month": number == 0 or day.day == 1,
            }
        )
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
