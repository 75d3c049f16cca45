"""Schedules in the admin: what agents do by the clock."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html

from agents.models import Agent
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import (
    DialogForm,
    ModelAdmin,
    ask_again,
    dialog,
    pill,
)
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.local_times import NoSuchTimeError
from scheduling.actions.backfill_schedule import backfill_schedule
from scheduling.actions.remove_schedule import remove_schedule
from scheduling.actions.run_schedule_now import run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.actions.set_schedule import change_schedule
from scheduling.admin.calendar import upcoming
from scheduling.admin.firing import FiringInline, outcome_pills
from scheduling.admin.forms import RHYTHM_FIELDS, ScheduleForm, SpanForm, conditions
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.outcomes import with_outcomes
from scheduling.recurrence import build_recurrence, time_zone

if TYPE_CHECKING:
    from datetime import datetime

    from django import forms
    from django.db.models import ForeignKey, QuerySet
    from django.urls import URLPattern
    from django.utils.safestring import SafeString

TAB = ("tab",)


@admin.register(Schedule)
class ScheduleAdmin(ModelAdmin[Schedule]):
    """What comes due by itself, and when it does next."""

    workspace_path = "workspace"
    audit_name = "schedule"
    verbs_record = frozenset({"add", "change", "delete"})
    needs: ClassVar[dict[str, str]] = {
        "view": "agents:read",
        "add": "agents:write",
        "change": "agents:write",
        "delete": "agents:write",
        "run": "runs:write",
    }
    form = ScheduleForm

    class Media:
        js = ("heartbit/admin/schedule-preview.js",)

    warn_unsaved_form = True
    list_display = ("what", "workspace", "when", "next", "last", "state")
    list_display_links = ("what",)
    list_filter = ("workspace", "enabled", "kind")
    list_select_related = ("workspace", "agent")
    search_fields = ("name", "agent__name")
    sortable_by = ()
    actions = ()
    actions_detail = ("run_now", "backfill", "pause", "go_on")
    inlines = (FiringInline,)
    conditional_fields = conditions()
    fieldsets = (
        (None, {"fields": (("workspace", "name"), ("agent", "enabled"), "upcoming")}),
        (
            "What and when",
            {
                "classes": TAB,
                "fields": (
                    *("task_type", "task", ("tool", "arguments")),
                    *(("kind", "time_zone"), "cron", "every_seconds", "at", "require_approval"),
                ),
            },
        ),
        (
            "Results",
            {"classes": TAB, "fields": (("mail_to", "mail_attach"), "tell", "keep_as")},
        ),
        (
            "Policies",
            {
                "classes": TAB,
                "fields": (
                    ("catch_up", "overlap", "jitter_seconds"),
                    *("begins_at", "ends_at", "made"),
                ),
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        """With the outcome of each one's latest slot."""
        firings = Firing.objects.filter(schedule=OuterRef("pk"))
        latest = with_outcomes(firings).order_by("-scheduled_for")
        rows: QuerySet[Schedule] = super().get_queryset(request).select_related("agent")
        return rows.annotate(
            fired=Subquery(latest.values("status")[:1]),
            fired_slot=Subquery(latest.values("scheduled_for")[:1]),
            fired_run=Subquery(latest.values("run_id")[:1]),
            fired_run_status=Subquery(latest.values("run_status")[:1]),
            fired_delivery=Subquery(latest.values("delivery_status")[:1]),
        )

    def get_readonly_fields(
        self, request: HttpRequest, obj: Schedule | None = None
    ) -> tuple[str, ...]:
        """A schedule stays in its workspace."""
        return ("workspace", "upcoming", "made") if obj else ("upcoming", "made")

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField[Any] | None:
        """Agents that people edit; files' and programs' are others each time."""
        if db_field.name == "agent":
            kwargs["queryset"] = Agent.objects.filter(origin="").order_by("workspace", "name")
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        return cast("forms.ModelChoiceField[Any] | None", field)

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        **kwargs: Any,
    ) -> Any:
        """Webhooks are offered of the workspaces that one may see."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        # Its own: the class's field is everybody's.
        tell = form.base_fields["tell"] = copy.deepcopy(form.base_fields["tell"])
        rows = tell.queryset if obj is None else tell.queryset.filter(workspace=obj.workspace)
        hooks: Any = self.admin_site._registry[rows.model]
        tell.queryset = hooks.reached(request, rows)
        return form

    # ------------------------------------------------------------------------------------- columns

    @admin.display(description="schedule")
    def what(self, schedule: Schedule) -> SafeString:
        """Its name, and who does it."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            *(schedule.name, schedule.agent.name),
        )

    @admin.display(description="when")
    def when(self, schedule: Schedule) -> SafeString:
        """Its rhythm in words."""
        try:
            text = build_recurrence(schedule).words
        except ScheduleError as error:
            text = str(error)
        return format_html('<span class="hb-wrapped">{}</span>', text)

    @admin.display(description="next")
    def next(self, schedule: Schedule) -> SafeString | str:
        """Its next slot, where it is meant."""
        return _short(schedule.next_occurrence, schedule)

    @admin.display(description="last")
    def last(self, schedule: Any) -> SafeString | str:
        """What became of its latest slot."""
        if schedule.fired is None:
            return "-"
        shown = format_html(
            '<span class="hb-two"><span>{}</span>{}</span>',
            outcome_pills(schedule.fired, schedule.fired_run_status, schedule.fired_delivery),
            _short(schedule.fired_slot, schedule),
        )
        if schedule.fired_run is None:
            return shown
        url = reverse("web:run", args=[schedule.workspace.slug, schedule.fired_run])
        return format_html('<a href="{}">{}</a>', url, shown)

    @admin.display(description="state")
    def state(self, schedule: Schedule) -> SafeString:
        """Whether it fires."""
        if not schedule.enabled:
            return pill("Paused", tone="warning")
        if schedule.next_occurrence is None:
            return pill("Over")
        if not schedule.agent.enabled:
            return pill("Agent stopped", tone="warning")
        return pill("Active", tone="success")

    @admin.display(description="next runs")
    def upcoming(self, schedule: Schedule) -> SafeString | str:
        """In words and on a calendar."""
        if schedule._state.adding:
            shown: SafeString | str = "Say when it runs: its next runs are shown here."
        else:
            shown = _upcoming(schedule)
        return format_html('<div id="hb-preview" aria-live="polite">{}</div>', shown)

    def get_urls(self) -> list[URLPattern]:
        """The address of the preview, beside the class's own."""
        view = self.admin_site.admin_view(self.preview)
        return [path("preview/", view, name="scheduling_schedule_preview"), *super().get_urls()]

    def preview(self, request: HttpRequest) -> HttpResponse:
        """Return the next runs of a form that is being filled, or what is wrong with its times.

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
            return HttpResponse(_upcoming(form.instance))
        wrong = [
            text for name, texts in form.errors.items() if name in RHYTHM_FIELDS for text in texts
        ]
        return HttpResponse(format_html('<p class="hb-quiet">{}</p>', " ".join(wrong)))

    @admin.display(description="made by")
    def made(self, schedule: Schedule) -> SafeString | str:
        """Who made it; an agent's own names the run."""
        if schedule.created_by_run_id is None:
            return schedule.created_by or "-"
        url = reverse("web:run", args=[schedule.workspace.slug, schedule.created_by_run_id])
        return format_html('{} in <a class="hb-link" href="{}">a run</a>', schedule.created_by, url)

    # ------------------------------------------------------------------------------------- changes

    def save_model(
        self,
        request: HttpRequest,
        obj: Schedule,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """See ``save_schedule``."""
        save_schedule(obj, by=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: Schedule) -> None:
        """See ``remove_schedule``."""
        remove_schedule(obj, by=actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its log goes with it, which nobody may delete by itself."""
        found, counts, _, protected = super().get_deleted_objects(objs, request)
        return found, counts, set(), protected

    # ------------------------------------------------------------------------------------- actions

    def has_run_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may start runs."""
        return self.may(request, "run", object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Of pausing and going on the one that does something now."""
        offered: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        schedule = self.get_object(request, object_id)
        useless = "go_on" if schedule is not None and schedule.enabled else "pause"
        return [one for one in offered if one.path != useless]

    @dialog(
        DialogForm,
        label="Run now",
        explanation="It runs once, as at its time; its slots stay as they are.",
        submit="Run",
        icon="play_arrow",
        permissions=["run"],
    )
    def run_now(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Start a run and go to its page."""
        schedule = self.get_object(request, object_id)
        if schedule is None:
            return HttpResponse(headers={"HX-Refresh": "true"})
        try:
            run = run_schedule_now(schedule, by=actor_of(request))
        except HeartbitError as error:
            messages.error(request, str(error))
            return HttpResponse(headers={"HX-Refresh": "true"})
        url = reverse("web:run", args=[schedule.workspace.slug, run])
        return HttpResponse(headers={"HX-Redirect": url})

    @dialog(
        SpanForm,
        label="Make up for",
        explanation=(
            "Slots of this span that have no run get one, one after the other. Both times are "
            "meant in the schedule's time zone."
        ),
        submit="Hold them",
        icon="history",
        permissions=["run"],
        variant="DEFAULT",
    )
    def backfill(self, request: HttpRequest, form: SpanForm, object_id: str) -> HttpResponse:
        """Hold past slots; the clocks start them."""
        schedule = self.get_object(request, object_id)
        if schedule is not None:
            try:
                begin, end = form.span(time_zone(schedule.time_zone))
                held = backfill_schedule(schedule, begin, end, by=actor_of(request))
            except (HeartbitError, NoSuchTimeError) as error:
                form.add_error("end", str(error))
                return ask_again(request, form, submit="Hold them")
            messages.success(request, f"{held} slots are held; they start one after the other.")
        return HttpResponse(headers={"HX-Refresh": "true"})

    @dialog(
        DialogForm,
        label="Pause",
        explanation="Its slots pass until it goes on; nothing is made up for by itself.",
        submit="Pause",
        icon="pause",
        permissions=["change"],
        variant="DEFAULT",
    )
    def pause(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Let its slots pass."""
        return self._switch(request, object_id, enabled=False)

    @dialog(
        DialogForm,
        label="Go on",
        explanation="It fires again, from the next slot on.",
        submit="Go on",
        icon="resume",
        permissions=["change"],
    )
    def go_on(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Fire again, from the next slot on."""
        return self._switch(request, object_id, enabled=True)

    def _switch(self, request: HttpRequest, object_id: str, *, enabled: bool) -> HttpResponse:
        schedule = self.get_object(request, object_id)
        if schedule is not None:
            try:
                change_schedule(schedule, {"enabled": enabled}, by=actor_of(request))
            except HeartbitError as error:
                messages.error(request, str(error))
        return HttpResponse(headers={"HX-Refresh": "true"})


def _upcoming(schedule: Schedule) -> SafeString:
    """Return the next runs as HTML, or what is wrong with the rhythm, escaped."""
    try:
        return upcoming(schedule, timezone.now())
    except ScheduleError as error:
        return format_html('<p class="hb-quiet">{}</p>', error)


def _short(moment: datetime | None, schedule: Schedule) -> SafeString | str:
    """A slot on one line; the schedule's zone is said elsewhere on it."""
    if moment is None:
        return "-"
    there = moment.astimezone(time_zone(schedule.time_zone))
    return format_html('<span class="hb-number">{}</span>', f"{there:%a %-d %b, %H:%M}")
