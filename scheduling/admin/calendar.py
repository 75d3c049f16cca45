"""The next occurrences of a schedule, as a list in words and on a calendar of five weeks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.occurrences import slots_between, upcoming_occurrences
from scheduling.recurrence import format_time, time_zone

SHOWN = 5
WEEKS = 5
_MOST = 2_000


def upcoming(schedule: Schedule, now: datetime) -> SafeString:
    """Return the next five occurrences, and a calendar with their number for each day.

    If the schedule's recurrence is not valid, return the reason instead.
    """
    try:
        return _calendar(schedule, now)
    except ScheduleError as error:
        return format_html('<p class="hb-quiet">{}</p>', error)


def _calendar(schedule: Schedule, now: datetime) -> SafeString:
    zone = time_zone(schedule.time_zone)
    today = now.astimezone(zone).date()
    monday = today - timedelta(days=today.weekday())
    end = datetime.combine(monday + timedelta(weeks=WEEKS), datetime.min.time(), zone)
    found = slots_between(schedule, now, end - timedelta(seconds=1), _MOST)
    counted = Counter(due.astimezone(zone).date() for due in found)
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
    shown = [format_time(due, zone) for due in upcoming_occurrences(schedule, now, SHOWN)]
    weeks = [days[at : at + 7] for at in range(0, len(days), 7)]
    content = {"occurrences": shown, "weeks": weeks, "cut": len(found) == _MOST}
    return render_to_string("admin/scheduling/upcoming.html", content)
