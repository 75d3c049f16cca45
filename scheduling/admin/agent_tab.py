"""The schedules on an agent's page. The agents' app does not know of them, so they come to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from agents.models import Agent
from heartbit_site.base.admin.themed import ReadOnlyInline, pill
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.recurrence import build_recurrence, format_time, time_zone

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


class ScheduleInline(ReadOnlyInline[Schedule, Agent]):
    """What the agent does by the clock."""

    model = Schedule
    fk_name = "agent"
    fields = ("page", "when", "next", "state")
    readonly_fields = fields
    verbose_name_plural = "schedules"
    tab = True
    hide_title = True
    per_page = 20

    @admin.display(description="schedule")
    def page(self, schedule: Schedule) -> SafeString:
        """Its page."""
        url = reverse("admin:scheduling_schedule_change", args=[schedule.pk])
        return format_html('<a class="hb-link" href="{}">{}</a>', url, schedule.name)

    @admin.display(description="when")
    def when(self, schedule: Schedule) -> str:
        """Its rhythm in words."""
        try:
            return build_recurrence(schedule).words
        except ScheduleError as error:
            return str(error)

    @admin.display(description="next")
    def next(self, schedule: Schedule) -> str:
        """Its next slot."""
        if schedule.next_occurrence is None:
            return "-"
        return format_time(schedule.next_occurrence, time_zone(schedule.time_zone))

    @admin.display(description="state")
    def state(self, schedule: Schedule) -> SafeString:
        """Whether it fires."""
        active = schedule.enabled and schedule.next_occurrence is not None
        return pill("Active", tone="success") if active else pill("Paused", tone="warning")


# By registration: the class stays as the agents' app has it for whoever knows no schedules.
_registered = cast("Any", admin.site._registry[Agent])
_registered.inlines = (*_registered.inlines, ScheduleInline)
