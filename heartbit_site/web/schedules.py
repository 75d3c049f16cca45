"""Schedules: read by every role, changed by editors, run by operators."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from agents.delivery.targets import describe_targets
from agents.models import Agent
from agents.reads.asking import asks_of
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.people import User
from heartbit_site.base.visible_text import readable_json
from heartbit_site.contract.problem import sentence
from heartbit_site.contract.schedules import ScheduleChangeIn, ScheduleIn
from heartbit_site.operations import schedules as verbs
from heartbit_site.shell.moment import moment
from heartbit_site.web.firings import cells_of, strip_of
from heartbit_site.web.page import asked_action, page, show
from heartbit_site.web.schedule_form import SchedulePageForm
from scheduling.actions.run_schedule import run_as_test
from scheduling.choices import Kind, TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.occurrences import build_recurrence, upcoming_occurrences
from scheduling.outcomes import latest_firings, with_figures
from scheduling.querysets import database_now, find_schedule
from scheduling.recurrence import time_zone
from scheduling.sentences import read_sentence, write_sentence
from scheduling.spec import KINDS
from scheduling.templates import TEMPLATES, ScheduleTemplate, find_template

SHOWN = 50  # schedules of a page
IN_STRIP = 30  # firings
OF_ONE = 15  # firings on a schedule's page
COMING = 5


@never_cache
@require_http_methods(["GET", "POST"])
@page("agents:read")
def schedules(request: HttpRequest, access: Access) -> HttpResponse:
    """List the schedules, each with its next time and its last firings."""
    if request.method == "POST":
        return _done(request, access, find_schedule(access.workspace, request.POST.get("id", "")))
    rows = Schedule.objects.filter(workspace=access.workspace).select_related("agent")
    found = Paginator(rows.defer("task", "arguments", "input", "test", "deliver"), SHOWN)
    part = found.get_page(request.GET.get("page"))
    firings = latest_firings([row.pk for row in part], IN_STRIP)
    now = timezone.now()
    context = {
        "rows": [
            {
                "schedule": row,
                "says": _says(row),
                "state": _state(row),
                "strip": strip_of(row, firings.get(row.pk, []), now),
            }
            for row in part
        ],
        "part": part,
        "templates": TEMPLATES,
        "runs": access.allows("runs:write"),
    }
    return show(request, access, "web/schedules.html", context, here="schedules")


@never_cache
@require_http_methods(["GET", "POST"])
@page("agents:write")
def new_schedule(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the form of a new schedule, empty or from a template, and create it."""
    begun = find_template(request.GET.get("template", ""))
    row = Schedule(workspace=access.workspace)
    form = SchedulePageForm(access.workspace, row, request.POST or None, initial=_begun(begun))
    if request.method == "POST" and form.is_valid():
        try:
            made = verbs.create_schedule(access, ScheduleIn.model_validate(_body(form)))
        except (HeartbitError, ValidationError) as error:
            form.add_error(None, _reason(error))
        else:
            messages.success(request, f"{made.name} is scheduled: {made.description}.")
            return redirect("web:schedule", access.workspace.slug, made.id)
    facts: dict[str, Any] = {"schedule": None, "begun": begun}
    if begun is not None:
        facts |= _previewed(begun.rhythm, timezone.get_current_timezone_name())
    return _show_form(request, access, form, facts)


@never_cache
@require_http_methods(["GET", "POST"])
@page("agents:read")
def schedule(request: HttpRequest, access: Access, schedule: int) -> HttpResponse:
    """Show a schedule with its firings and, to editors, its form."""
    row = find_schedule(access.workspace, str(schedule))
    if request.POST.get("do", "save") != "save":
        return _done(request, access, row)
    writes = access.allows("agents:write")
    form = SchedulePageForm(access.workspace, row, request.POST or None)
    if request.method == "POST" and writes and form.is_valid():
        try:
            body = ScheduleChangeIn.model_validate(_body(form))
            verbs.change_schedule(access, str(row.pk), body)
        except (HeartbitError, ValidationError) as error:
            form.add_error(None, _reason(error))
        else:
            messages.success(request, f"{form.cleaned_data['name']} is saved.")
            return redirect(request.path)
    if request.method == "POST" and not writes:
        return redirect(request.path)
    return _show_form(request, access, form, _facts(request, access, row))


@page("agents:write")
def preview(request: HttpRequest, access: Access) -> HttpResponse:
    """Return the next five firings of a form that is being filled in; nothing is stored."""
    given = request.POST
    context = _previewed(given.get("rhythm", ""), given.get("time_zone", ""))
    agent = Agent.objects.filter(workspace=access.workspace, name=given.get("agent", "")).first()
    if agent is not None:
        is_call = given.get("task_type") == TaskType.TOOL_CALL
        tool = given.get("tool", "") if is_call else ""
        context["asks"] = asks_of(agent, approve="require_approval" in given, tool=tool)
    return render(request, "web/schedule_preview.html", context)


def _previewed(rhythm: str, zone_name: str) -> dict[str, Any]:
    """Return the next times of a sentence, or what is wrong with it."""
    now = database_now()
    try:
        zone = time_zone(zone_name)
        row = Schedule(time_zone=zone.key, begins_at=now.replace(microsecond=0))
        for name, value in read_sentence(rhythm, zone, now).items():
            row.kind = KINDS[name]
            setattr(row, name, value)
    except ScheduleError as error:
        return {"problem": str(error)}
    return _coming(row)


def _show_form(
    request: HttpRequest, access: Access, form: SchedulePageForm, facts: dict[str, Any]
) -> HttpResponse:
    context = facts | {
        "form": form,
        "zones": sorted(available_timezones() - {"localtime", "Factory"}),
        "preview": reverse("web:schedule-preview", args=[access.workspace.slug]),
        "templates": TEMPLATES,
        "runs": access.allows("runs:write"),
    }
    status = 409 if form.errors else 200
    return show(request, access, "web/schedule.html", context, here="schedules", status=status)


def _facts(request: HttpRequest, access: Access, row: Schedule) -> dict[str, Any]:
    stored = find_schedule(access.workspace, str(row.pk))  # a form may have changed the other
    firings: QuerySet[Any] = with_figures(Firing.objects.filter(schedule=stored))
    part = Paginator(firings.order_by("-scheduled_for"), OF_ONE).get_page(request.GET.get("page"))
    return {
        "schedule": stored,
        "says": _says(stored),
        "state": _state(stored),
        "cells": cells_of(stored, list(part), timezone.now()),
        "part": part,
        "recipients": describe_targets([stored.deliver])[0],
        "mail": _mail_of(access),
        "test": readable_json(stored.test) if stored.test else "",
        "asks": asks_of(stored.agent, approve=stored.require_approval, tool=stored.tool),
        **_coming(stored),
    }


def _coming(row: Schedule) -> dict[str, Any]:
    try:
        found = upcoming_occurrences(row, database_now(), COMING) if row.enabled else []
        words = "Once" if row.kind == Kind.ONCE else build_recurrence(row).words
        return {
            "words": words,
            "coming": found,
            "zone": row.time_zone,
            "seconds": row.has_seconds,
        }
    except ScheduleError as error:
        return {"problem": str(error)}


def _says(row: Schedule) -> str:
    """Return the recurrence in words: as people type it, or as the expression is explained."""
    try:
        if row.kind == Kind.ONCE:
            return format_html("Once, {}", moment(row.at, beside=row.time_zone))
        settings = {name: getattr(row, name) for name in KINDS}
        said = write_sentence(settings, time_zone(row.time_zone))
        return build_recurrence(row).words if said == row.cron else said[:1].upper() + said[1:]
    except ScheduleError as error:
        return str(error)


def _state(row: Schedule) -> tuple[str, str]:
    """Return the tone and the name of a schedule's state."""
    if not row.enabled:
        return "warning", "Paused"
    if row.next_occurrence is None:
        return "neutral", "Over"
    return ("success", "Active") if row.agent.enabled else ("warning", "Agent stopped")


def _begun(begun: ScheduleTemplate | None) -> dict[str, Any]:
    found = {"time_zone": timezone.get_current_timezone_name()}
    if begun is not None:
        found |= {"name": begun.name, "task": begun.task, "rhythm": begun.rhythm}
    return found


def _done(request: HttpRequest, access: Access, row: Schedule) -> HttpResponse:
    """Perform the verb of a button, and say what came of it."""
    do = asked_action(request, "pause", "resume", "run", "test", "remove")
    try:
        messages.success(request, _do(do, access, row))
    except HeartbitError as error:
        messages.error(request, str(error))
    listed = reverse("web:schedules", args=[access.workspace.slug])
    return redirect(listed if do == "remove" else request.get_full_path())


def _do(verb: str, access: Access, row: Schedule) -> str:
    number = str(row.pk)
    match verb:
        case "pause" | "resume":
            body = ScheduleChangeIn.model_validate({"enabled": verb == "resume"})
            verbs.change_schedule(access, number, body)
            if verb == "pause":
                return f"{row.name} is paused: its times are skipped."
            return f"{row.name} is resumed, from its next time on."
        case "run":
            verbs.run_schedule(access, number)
            return f"{row.name} runs now."
        case "test":
            mail = _mail_of(access)
            run_as_test(row, by=actor_of(access), mail_to=mail)
            where = f"its result goes to {mail} only" if mail else "only its page has the result"
            return f"{row.name} runs as a test: {where}."
    verbs.remove_schedule(access, number)
    return f"{row.name} is deleted; its runs stay."


def _mail_of(access: Access) -> str:
    """Return the person's address; empty: they have none."""
    people = User.objects.filter(username=access.name)
    return people.values_list("email", flat=True).first() or ""


def _body(form: SchedulePageForm) -> dict[str, Any]:
    """Return what a valid form gives as a request of the API has it."""
    at = form.given.get("at")
    return form.given | ({"at": at.isoformat()} if at is not None else {})


def _reason(error: HeartbitError | ValidationError) -> str:
    if isinstance(error, HeartbitError):
        return str(error)
    details = error.errors(include_input=False, include_url=False)[0]
    return sentence({**details, "loc": ("body", "body", *details["loc"])})
