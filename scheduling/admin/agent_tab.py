"""The schedules on an agent's page. The agents' app does not know of them, so they come to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin
from django.urls import reverse

from agents.models import Agent
from heartbit_site.base.admin.columns import Column, link, pill
from heartbit_site.base.admin.themed import ReadOnlyInline
from scheduling.admin.calendar import describe_recurrence
from scheduling.models import Schedule
from scheduling.recurrence import format_time, time_zone

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


class ScheduleInline(ReadOnlyInline[Schedule, Agent]):
    """Schedules of the agent."""

    model = Schedule
    fk_name = "agent"
    fields = ("page", "when", "next", "state")
    verbose_name_plural = "schedules"
    tab = True

    when = Column[Schedule]("when", describe_recurrence)

    @admin.display(description="schedule")
    def page(self, schedule: Schedule) -> SafeString:
        """Return the schedule's name as a link to its page."""
        return link(reverse("admin:scheduling_schedule_change", args=[schedule.pk]), schedule.name)

    def next(self, schedule: Schedule) -> str:
        """Return the next occurrence."""
        if schedule.next_occurrence is None:
            return "-"
        return format_time(schedule.next_occurrence, time_zone(schedule.time_zone))

    def state(self, schedule: Schedule) -> SafeString:
        """Return the state: active or paused."""
        active = schedule.enabled and schedule.next_occurrence is not None
        return pill("Active", tone="success") if active else pill("Paused", tone="warning")


# By registration: the class stays as the agents' app has it for whoever knows no schedules.
_registered = cast("Any", admin.site._registry[Agent])
_registered.inlines = (*_registered.inlines, ScheduleInline)
