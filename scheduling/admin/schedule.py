"""Schedules in the admin."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agents.admin.formatting import run_link, run_url
from agents.delivery.targets import describe_targets
from agents.models import Agent
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, link, pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin
from heartbit_site.admin.themed import ReadOnlyInline, tabs
from heartbit_site.shell.moment import moment
from scheduling.actions.run_schedule import backfill_schedule, run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.actions.schedules import change_schedule, remove_schedule
from scheduling.admin.firing import FiringInline, outcome_pills, upcoming
from scheduling.admin.forms import RHYTHM_FIELDS, ScheduleForm, SpanForm, conditions
from scheduling.choices import Kind
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.occurrences import build_recurrence
from scheduling.querysets import with_outcomes
from scheduling.recurrence import time_zone

TABS: dict[str, tuple[Any, ...]] = {
    "Task and times": (
        *("task_type", "task", ("tool", "arguments"), "input"),
        *(("kind", "time_zone"), "cron", "every_seconds", "at", "require_approval"),
        *(("review", "cost_brake"), "test"),
    ),
    "Results": (("mail_to", "mail_attach"), "tell", ("keep_as", "drive_file"), "results_to"),
    "Policies": (("catch_up", "overlap", "jitter_seconds"), "begins_at", "ends_at", "made"),
}


@admin.register(Schedule)
class ScheduleAdmin(VerbAdmin[Schedule]):
    """Schedules and their next occurrences."""

    needs: ClassVar = rights("agents:read", "agents:write", run="runs:write")
    form = ScheduleForm
    remove = staticmethod(remove_schedule)

    class Media:
        js = ("heartbit/admin/form-preview.js",)

    warn_unsaved_form = True
    list_display = ("what", "workspace", "when", "next", "last", "state")
    list_filter = ("workspace", "enabled", "kind")
    list_select_related = ("workspace", "agent")
    search_fields = ("name", "agent__name")
    actions_detail = ("run_now", "backfill", "pause", "go_on")
    inlines = (FiringInline,)
    readonly_fields = ("upcoming", "results_to", "made")
    fixed = ("workspace",)
    conditional_fields = conditions()
    fieldsets = (
        (None, {"fields": (("workspace", "name"), ("agent", "enabled"), "upcoming")}),
        *tabs(TABS),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        """Return the schedules, each with the outcome of its latest firing."""
        firings = Firing.objects.filter(schedule=OuterRef("pk"))
        latest = with_outcomes(firings).order_by("-scheduled_for")
        rows: QuerySet[Schedule] = super().get_queryset(request)
        return rows.annotate(
            fired=Subquery(latest.values("status")[:1]),
            fired_slot=Subquery(latest.values("scheduled_for")[:1]),
            fired_run=Subquery(latest.values("run_id")[:1]),
            fired_run_status=Subquery(latest.values("run_status")[:1]),
            fired_delivery=Subquery(latest.values("delivery_status")[:1]),
        )

    def get_form(self, request: HttpRequest, obj: Any = None, *place: Any, **options: Any) -> Any:
        """Offer the webhooks of the workspaces that the user may see."""
        form: Any = super().get_form(request, obj, *place, **options)
        # Its own: the class's field is everybody's.
        tell = form.base_fields["tell"] = copy.deepcopy(form.base_fields["tell"])
        rows = tell.queryset if obj is None else tell.queryset.filter(workspace=obj.workspace)
        hooks: Any = self.admin_site._registry[rows.model]
        tell.queryset = hooks.reached(request, rows)
        return form

    # ------------------------------------------------------------------------------------- columns

    when = Column[Schedule](
        "when",
        lambda row: format_html('<span class="hb-wrapped">{}</span>', _describe(row)),
    )

    what = Column[Schedule]("schedule", lambda row: two_lines(row.name, row.agent.name))
    next = Column[Schedule](
        "next",
        lambda row: moment(row.next_occurrence, beside=row.time_zone, seconds=row.has_seconds),
    )

    state = Column[Schedule]("state", lambda row: _state(row))

    def last(self, schedule: Any) -> SafeString | str:
        """Return the outcome of the latest firing."""
        if schedule.fired is None:
            return "-"
        shown = format_html(
            '<span class="hb-two"><span>{}</span>{}</span>',
            outcome_pills(schedule.fired, schedule.fired_run_status, schedule.fired_delivery),
            moment(schedule.fired_slot, beside=schedule.time_zone, seconds=schedule.has_seconds),
        )
        if schedule.fired_run is None:
            return shown
        url = run_url(schedule.workspace, schedule.fired_run)
        return format_html('<a href="{}">{}</a>', url, shown)

    @admin.display(description="next runs")
    def upcoming(self, schedule: Schedule) -> SafeString | str:
        """Return the next occurrences as text and on a calendar."""
        if schedule._state.adding:
            shown: SafeString | str = "Set its times to see its next runs here."
        else:
            shown = upcoming(schedule, timezone.now())
        address = reverse("admin:scheduling_schedule_preview")
        if not schedule._state.adding:
            address += f"?schedule={schedule.pk}"
        preview = '<div id="hb-preview" data-preview="{}" aria-live="polite">{}</div>'
        return format_html(preview, address, shown)

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the preview."""
        view = self.admin_site.admin_view(self.preview)
        return [path("preview/", view, name="scheduling_schedule_preview"), *super().get_urls()]

    def preview(self, request: HttpRequest) -> HttpResponse:
        """Return the next runs of a form that is being edited, or the errors of its times.

        Nothing is written. ``?schedule=`` names the row that the form changes; without it the form
        adds one.
        """
        number = request.GET.get("schedule", "")
        row = self.get_object(request, number) if number else None
        may = self.has_change_permission(request, row) if row else self.has_add_permission(request)
        if (number and row is None) or not may:
            raise PermissionDenied
        form = self.get_form(request, row, change=row is not None)(request.POST, instance=row)
        form.is_valid()
        if form.says_when():
            return HttpResponse(upcoming(form.instance, timezone.now()))
        wrong = [
            text for name, texts in form.errors.items() if name in RHYTHM_FIELDS for text in texts
        ]
        return HttpResponse(format_html('<p class="quiet">{}</p>', " ".join(wrong)))

    @admin.display(description="results go to")
    def results_to(self, schedule: Schedule) -> SafeString | str:
        """Return all targets, including those that no field shows."""
        lines = ((one,) for one in describe_targets([schedule.deliver])[0])
        return format_html_join("", "<div>{}</div>", lines) or "-"

    @admin.display(description="created by")
    def made(self, schedule: Schedule) -> SafeString | str:
        """Return the creator; an agent's schedule names the run."""
        if schedule.created_by_run_id is None:
            return schedule.created_by or "-"
        run = run_link(schedule.workspace, schedule.created_by_run_id, "a run")
        return format_html("{} in {}", schedule.created_by, run)

    # ------------------------------------------------------------------------------------- changes

    def save_row(self, request: HttpRequest, row: Schedule, form: Any) -> None:
        """Save with ``save_schedule``."""
        save_schedule(row, by=actor_of(request))

    # ------------------------------------------------------------------------------------- actions

    @dialog(
        "Run now",
        "It runs once; its next firings are unchanged.",
        icon="play_arrow",
        permission="run",
    )
    def run_now(self, request: HttpRequest, schedule: Schedule, form: DialogForm) -> str:
        """Start a run and go to its page."""
        return run_url(schedule.workspace, run_schedule_now(schedule, by=actor_of(request)))

    @dialog(
        "Backfill",
        "Firings of this span without a run are run one after another. Both times are in "
        "the schedule's time zone.",
        icon="history",
        permission="run",
        submit="Start backfill",
        variant="DEFAULT",
        form=SpanForm,
        refused_at="end",
    )
    def backfill(self, request: HttpRequest, schedule: Schedule, form: SpanForm) -> None:
        """Defer past occurrences; the schedulers start them."""
        begin, end = form.span(time_zone(schedule.time_zone))
        held = backfill_schedule(schedule, begin, end, by=actor_of(request))
        messages.success(request, f"{held} firings are deferred; they start one after another.")

    @dialog(
        "Pause",
        "Firings are skipped until it is resumed, and not caught up later.",
        icon="pause",
        permission="change",
        variant="DEFAULT",
        offered=lambda schedule: schedule.enabled,
    )
    def pause(self, request: HttpRequest, schedule: Schedule, form: DialogForm) -> None:
        """Pause the schedule: its occurrences are skipped."""
        change_schedule(schedule, {"enabled": False}, by=actor_of(request))

    @dialog(
        "Resume",
        "It fires again, from the next firing on.",
        icon="resume",
        permission="change",
        offered=lambda schedule: not schedule.enabled,
    )
    def go_on(self, request: HttpRequest, schedule: Schedule, form: DialogForm) -> None:
        """Resume the schedule, from the next occurrence on."""
        change_schedule(schedule, {"enabled": True}, by=actor_of(request))


def _state(schedule: Schedule) -> SafeString:
    if not schedule.enabled:
        return pill("Paused", tone="warning")
    if schedule.next_occurrence is None:
        return pill("Over")
    if not schedule.agent.enabled:
        return pill("Agent stopped", tone="warning")
    return pill("Active", tone="success")


def _describe(schedule: Schedule) -> SafeString | str:
    """Return the recurrence as text, or its error."""
    try:
        if schedule.kind == Kind.ONCE:
            return format_html("Once, {}", moment(schedule.at, beside=schedule.time_zone))
        return build_recurrence(schedule).words
    except ScheduleError as error:
        return str(error)


class ScheduleInline(ReadOnlyInline[Schedule, Agent]):
    """The schedules on an agent's page."""

    model = Schedule
    fk_name = "agent"
    fields = ("page", "when", "next", "state")
    verbose_name_plural = "schedules"
    tab = True

    page = Column[Schedule](
        "schedule",
        lambda row: link(reverse("admin:scheduling_schedule_change", args=[row.pk]), row.name),
    )
    when, next, state = ScheduleAdmin.when, ScheduleAdmin.next, ScheduleAdmin.state


# By registration: the agents' app does not know of schedules, so their tab comes to its page.
_agents = cast("Any", admin.site._registry[Agent])
_agents.inlines = (*_agents.inlines, ScheduleInline)
