"""Occurrences of schedules: those to come, as a list and a calendar, and those that fired."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.admin import formatting
from agents.choices import LIVE
from agents.delivery.words import DELIVERIES
from heartbit_site.admin.columns import Column, Tone, link, pill
from heartbit_site.admin.themed import ReadOnlyAdmin, ReadOnlyInline
from heartbit_site.shell.moment import moment
from scheduling.choices import FiringStatus
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.occurrences import slots_between, upcoming_occurrences
from scheduling.querysets import with_outcomes
from scheduling.recurrence import time_zone

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
        return format_html('<p class="quiet">{}</p>', error)


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
    shown = upcoming_occurrences(schedule, now, SHOWN)
    weeks = [days[at : at + 7] for at in range(0, len(days), 7)]
    content = {
        "occurrences": shown,
        "zone": schedule.time_zone,
        "seconds": schedule.has_seconds,
        "weeks": weeks,
        "cut": len(found) == _MOST,
    }
    return render_to_string("admin/scheduling/upcoming.html", content)


FIRING_TONES: dict[str, Tone] = {
    FiringStatus.STARTED: "",
    FiringStatus.DEFERRED: "info",
    FiringStatus.SKIPPED: "",
    FiringStatus.FAILED: "danger",
}


def outcome_pills(status: str, run_status: str | None, delivery_status: str | None) -> SafeString:
    """Return the status of a firing's run and, once it has ended, of its delivery."""
    if status != FiringStatus.STARTED or run_status is None:
        return pill(FiringStatus(status).label, tone=FIRING_TONES[status])
    shown = formatting.run_pill(run_status)
    if run_status in LIVE or delivery_status is None:
        return shown
    label = DELIVERIES[delivery_status].capitalize()
    delivery = pill(label, tone=formatting.DELIVERY_TONES[delivery_status])
    return format_html('<span class="hb-pills">{} {}</span>', shown, delivery)


class _Columns:
    """Columns of a log of firings."""

    def outcome(self, firing: Any) -> SafeString:
        """Return how the run ended and whether its result arrived, or why there is no run."""
        pills = outcome_pills(firing.status, firing.run_status, firing.delivery_status)
        return format_html("{} {}", pills, firing.reason)

    at = Column[Firing](
        "due", lambda row: moment(row.scheduled_for, seconds=row.schedule.has_seconds)
    )

    def run(self, firing: Firing) -> SafeString | str:
        """Return a link to the run."""
        if firing.run_id is None:
            return "-"
        return formatting.run_link(firing.schedule.workspace, firing.run_id, str(firing.run_id)[:8])


class FiringInline(_Columns, ReadOnlyInline[Firing, Schedule]):
    """The firings of a schedule, the latest first."""

    model = Firing
    fields = ("at", "cause", "outcome", "run")
    verbose_name_plural = "firings"
    tab = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Firing]:
        """Return the firings with the columns' rows."""
        return with_outcomes(super().get_queryset(request).select_related("schedule__workspace"))


@admin.register(Firing)
class FiringAdmin(_Columns, ReadOnlyAdmin[Firing]):
    """Firings of all schedules."""

    workspace_path = "schedule__workspace"
    work_page = "web:schedules"
    needs: ClassVar[dict[str, str]] = {"view": "agents:read"}
    list_display = ("at", "of", "cause", "outcome", "run")
    list_filter = ("status", "cause", "schedule__workspace")
    list_select_related = ("schedule__workspace",)
    search_fields = ("schedule__name",)
    sortable_by = ()
    fields = ("of", "at", "cause", "outcome", "run", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Firing]:
        """Return the firings with the statuses of runs and deliveries."""
        return with_outcomes(super().get_queryset(request))

    of = Column[Firing](
        "schedule",
        lambda row: link(
            reverse("admin:scheduling_schedule_change", args=[row.schedule_id]), row.schedule.name
        ),
    )
