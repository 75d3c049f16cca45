"""Schedules in the admin: made, shown, run, paused, made up for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django_celery_beat.models import PeriodicTask

from agents.actions.fleet import set_agent_state
from agents.actions.webhooks import save_webhook
from agents.models import WebhookEndpoint
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Role, Workspace
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import FiringStatus, Kind, Trigger
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now
from tests.admin.conftest import browser
from tests.admin.forms import filled, filled_undrawn
from tests.clients import Client
from tests.scheduling.conftest import utc
from tests.web.people import member

__all__ = ["browser"]

Plan = Callable[..., Schedule]
SENT = {"_form_submitted": "True"}
SCHEDULES = "/admin/scheduling/schedule/"
pytestmark = pytest.mark.django_db


def page(row: Schedule) -> str:
    return reverse("admin:scheduling_schedule_change", args=[row.pk])


def action(row: Schedule, name: str) -> str:
    return reverse(f"admin:scheduling_schedule_{name}", args=[row.pk])


def errors(response: Any) -> str:
    return str(response.context["adminform"].form.errors)


def test_one_is_made_with_where_its_results_go(browser: Client, planned: Plan) -> None:
    known = planned(name="Known")
    hook = WebhookEndpoint(
        workspace=known.workspace, name="tickets", url="https://x.example/", events=["run.failed"]
    )
    save_webhook(hook, by=SYSTEM)
    data = filled_undrawn(browser, f"{SCHEDULES}add/") | {
        "workspace": known.workspace.pk,
        "agent": known.agent.pk,
        "name": "Monday sales report",
        "task": "Write it.",
        "kind": "cron",
        "cron": "0 9 * * MON",
        "time_zone": "Europe/Berlin",
        "mail_to": "ann@example.org, ben@example.org",
        "tell": [hook.pk],
        "keep_as": "report",
    }
    answer = browser.post(f"{SCHEDULES}add/", data)
    assert answer.status_code == 302, errors(answer)
    made = Schedule.objects.get(workspace=known.workspace, name="Monday sales report")
    assert made.created_by == "root-of-tests"
    kinds = {target["kind"]: target for target in made.deliver}
    assert kinds["email"]["to"] == ["ann@example.org", "ben@example.org"]
    assert kinds["webhook"]["endpoint"] == hook.pk
    assert kinds["artifact"]["name"] == "report"
    shown = browser.get(page(made))
    text = shown.content.decode()
    assert text.count("09:00 Europe/Berlin") >= 5, "the next five, also in its own zone"
    assert "ann@example.org, ben@example.org" in text
    again = browser.post(page(made), filled(shown))
    assert again.status_code == 302, errors(again)
    kept = Schedule.objects.get(pk=made.pk)
    assert (kept.deliver, kept.next_occurrence) == (made.deliver, made.next_occurrence)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"cron": "9 o'clock"}, "has 2 fields"),
        ({"kind": "interval", "every_seconds": ""}, "at least 10 seconds"),
        ({"time_zone": "Mars/Base"}, "time zone"),
        ({"kind": "interval", "every_seconds": "3"}, "greater than or equal to 10"),
        ({"mail_to": "nobody"}, "not an e-mail address"),
        ({"task": ""}, "is empty"),
    ],
)
def test_what_cannot_be_is_said_on_the_form(
    browser: Client, planned: Plan, fields: dict[str, str], sentence: str
) -> None:
    known = planned(name="Known", kind=Kind.CRON, cron="0 9 * * MON")
    answer = browser.post(page(known), filled_undrawn(browser, page(known)) | fields)
    assert answer.status_code == 200
    assert sentence in errors(answer).replace("&#x27;", "'")


def test_all_that_is_wrong_is_said_at_once_and_where(browser: Client, planned: Plan) -> None:
    known = planned(name="Known", kind=Kind.CRON, cron="0 9 * * MON")
    wrong = {"name": "7", "cron": "9 o'clock", "task": "", "mail_to": "nobody"}
    form = filled_undrawn(browser, page(known)) | wrong | {"jitter_seconds": "-1"}
    found = browser.post(page(known), form).context["adminform"].form.errors
    assert set(found) == {"name", "cron", "task", "jitter_seconds", "__all__"}
    known.refresh_from_db()
    assert known.name == "Known"


def test_all_that_is_wrong_is_said_at_once_also_without_a_workspace(browser: Client) -> None:
    form = filled_undrawn(browser, f"{SCHEDULES}add/") | {"workspace": "", "time_zone": "UTC"}
    wrong = {"name": "7", "kind": "cron", "cron": "9 o'clock", "task": "", "jitter_seconds": "-1"}
    answer = browser.post(f"{SCHEDULES}add/", form | wrong)
    found = answer.context["adminform"].form.errors
    assert set(found) == {"workspace", "agent", "name", "cron", "task", "jitter_seconds"}
    assert "has 2 fields" in str(found["cron"])
    preview = browser.post(f"{SCHEDULES}preview/", form | wrong).content.decode()
    assert "has 2 fields" in preview


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
def test_the_next_runs_of_a_form_are_shown_without_saving_it(
    browser: Client, planned: Plan, *, is_new: bool
) -> None:
    known = planned(name="Known", kind=Kind.CRON, cron="0 9 * * MON", time_zone="Europe/Berlin")
    address = f"{SCHEDULES}preview/" + ("" if is_new else f"?schedule={known.pk}")
    # A form that is not complete yet: its times are looked at all the same.
    form = filled_undrawn(browser, page(known)) | {"name": "", "task": "", "cron": "30 7 * * *"}
    if is_new:
        form["workspace"] = str(known.workspace.pk)
    text = browser.post(address, form).content.decode()
    assert text.count("07:30 Europe/Berlin") == 5
    wrong = browser.post(address, form | {"cron": "9 o'clock"}).content.decode()
    assert "has 2 fields" in wrong
    assert "task" not in wrong
    assert browser.get(f"{SCHEDULES}preview/?schedule=999999").status_code == 403
    known.refresh_from_db()
    assert (known.name, known.cron) == ("Known", "0 9 * * MON")


@pytest.mark.parametrize("field", ["cron", "time_zone"])
def test_what_is_wrong_with_a_rhythm_is_escaped_without_a_workspace(
    browser: Client, planned: Plan, field: str
) -> None:
    known = planned(name="Known", kind=Kind.CRON, cron="0 9 * * MON")
    form = filled_undrawn(browser, page(known)) | {
        "workspace": "",
        field: "<p x-data x-init=alert(1)>",
    }
    text = browser.post(f"{SCHEDULES}preview/", form).content.decode()
    assert "&lt;p x-data" in text
    assert "<p x-data" not in text


def test_lists_say_when_in_words(browser: Client, planned: Plan) -> None:
    planned(name="Weekly", kind=Kind.CRON, cron="0 9 * * MON", time_zone="Europe/Berlin")
    row = planned(name="Often", kind=Kind.INTERVAL, every_seconds=900)
    text = browser.get(SCHEDULES).content.decode()
    assert "09:00" in text
    assert "Every 15 minutes" in text
    tab = browser.get(reverse("admin:agents_agent_change", args=[row.agent.pk])).content.decode()
    assert "Every 15 minutes" in tab
    assert page(row) in tab


def test_it_runs_now_and_leads_to_the_run(browser: Client, planned: Plan) -> None:
    row = planned()
    answer = browser.post(action(row, "run_now"), SENT)
    [firing] = Firing.objects.filter(schedule=row)
    assert (firing.cause, firing.status) == (Trigger.MANUAL, FiringStatus.STARTED)
    assert str(firing.run_id) in answer.headers["HX-Redirect"]
    assert str(firing.run_id)[:8] in browser.get(page(row)).content.decode()


def test_what_cannot_run_now_is_said(browser: Client, planned: Plan) -> None:
    row = planned()
    set_agent_state(row.agent, "stop")
    browser.post(action(row, "run_now"), SENT)
    assert "The agent solo is stopped" in browser.get(page(row)).content.decode()


def test_it_is_paused_and_goes_on(browser: Client, planned: Plan) -> None:
    row = planned()
    browser.post(action(row, "pause"), SENT)
    row.refresh_from_db()
    assert (row.enabled, row.next_occurrence) == (False, None)
    browser.post(action(row, "go_on"), SENT)
    row.refresh_from_db()
    assert row.enabled
    assert row.next_occurrence is not None


@pytest.mark.parametrize("name", ["pause", "go_on"])
def test_a_link_on_a_foreign_page_neither_pauses_nor_goes_on(
    browser: Client, planned: Plan, name: str
) -> None:
    row = planned(enabled=name == "pause")
    asked = browser.get(action(row, name))
    row.refresh_from_db()
    assert row.enabled == (name == "pause")
    text = asked.content.decode()
    assert 'name="csrfmiddlewaretoken"' in text, "it asks in a dialog"


def once(browser: Client, known: Schedule, at: str, zone: str = "Europe/Berlin") -> Any:
    """Make a one-off on the form; ``at`` as its two fields have it."""
    day, time = at.split()
    data = filled_undrawn(browser, f"{SCHEDULES}add/") | {
        "workspace": known.workspace.pk,
        "agent": known.agent.pk,
        "name": "Once",
        "task": "Write it.",
        "kind": "once",
        "at_0": day,
        "at_1": time,
        "time_zone": zone,
    }
    return browser.post(f"{SCHEDULES}add/", data)


def test_times_are_meant_and_shown_in_the_schedules_zone(browser: Client, planned: Plan) -> None:
    answer = once(browser, planned(name="Known"), "2027-07-01 09:00:00")
    assert answer.status_code == 302, errors(answer)
    made = Schedule.objects.get(name="Once")
    assert made.at == utc("2027-07-01T07:00")
    shown = browser.get(page(made))
    assert 'value="09:00:00"' in shown.content.decode()
    times = {"at_0": "2027-07-01", "at_1": "09:00:00"}
    begin = shown.context["adminform"].form["begins_at"].value()
    times |= {"begins_at_0": f"{begin:%Y-%m-%d}", "begins_at_1": f"{begin:%H:%M:%S}"}
    ends = {"ends_at_0": "2028-01-01", "ends_at_1": "00:00"}
    moved = {"time_zone": "America/New_York"}
    browser.post(page(made), filled(shown) | times | ends | moved)
    kept = Schedule.objects.get(pk=made.pk)
    assert (kept.at, kept.ends_at) == (utc("2027-07-01T13:00"), utc("2028-01-01T05:00"))
    assert kept.begins_at == made.begins_at, "nobody touched it: it stays the moment it was"


def test_a_time_that_clocks_leap_over_is_refused_and_one_that_comes_twice_is_the_first(
    browser: Client, planned: Plan
) -> None:
    known = planned(name="Known")
    leapt = once(browser, known, "2027-03-28 02:30")
    assert "There is no 2027-03-28 02:30 in Europe/Berlin" in errors(leapt)
    far = once(browser, known, "0001-01-01 00:00")
    assert "The year 1 is out of range." in errors(far)
    once(browser, known, "2027-10-31 02:30")
    assert Schedule.objects.get(name="Once").at == utc("2027-10-31T00:30")


def test_a_span_is_meant_in_the_schedules_zone(browser: Client, planned: Plan) -> None:
    row = planned(kind=Kind.CRON, cron="0 9 * * *", time_zone="Pacific/Kiritimati")
    span = {
        "begin_0": "2026-03-02", "begin_1": "09:00", "end_0": "2026-03-02", "end_1": "09:00"
    }  # fmt: skip
    browser.post(action(row, "backfill"), span | SENT)
    [held] = Firing.objects.filter(schedule=row)
    assert held.scheduled_for == utc("2026-03-01T19:00")


def test_a_span_of_the_past_is_made_up_for(browser: Client, planned: Plan) -> None:
    row = planned(kind=Kind.CRON, cron="0 * * * *")
    now = database_now()
    span = {}
    for name, moment in (("begin", now - timedelta(hours=3)), ("end", now)):
        span[f"{name}_0"], span[f"{name}_1"] = f"{moment:%Y-%m-%d}", f"{moment:%H:%M:%S}"
    browser.post(action(row, "backfill"), span | SENT)
    held = Firing.objects.filter(schedule=row, status=FiringStatus.DEFERRED)
    assert held.count() == 3
    again = browser.post(action(row, "backfill"), span | SENT).content.decode()
    assert "nothing to backfill" in again


def test_it_is_removed_with_its_log(browser: Client, planned: Plan, workspace: Workspace) -> None:
    row = planned()
    browser.post(action(row, "run_now"), SENT)
    browser.post(f"{SCHEDULES}{row.pk}/delete/", {"post": "yes"})
    assert not Schedule.objects.filter(workspace=workspace).exists()


def test_several_are_removed_one_by_one(
    browser: Client, planned: Plan, workspace: Workspace
) -> None:
    made = [planned(name="a"), planned(name="b")]
    chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in made]}
    browser.post(SCHEDULES, chosen | {"post": "yes"})
    assert not Schedule.objects.filter(pk__in=[row.pk for row in made]).exists()
    names = [f"heartbit-schedule-{row.pk}" for row in made]
    assert not PeriodicTask.objects.filter(name__in=names).exists()
    removed = AuditEntry.objects.filter(workspace=workspace, action="schedule.remove")
    assert removed.count() == 2


def test_a_page_of_one_workspace_narrows_no_other_page(browser: Client, planned: Plan) -> None:
    browser.get(page(planned()))
    other = Workspace.objects.create(slug="other-of-schedules", name="Other")
    hook = WebhookEndpoint(
        workspace=other, name="h", url="https://x.example/", events=["run.failed"]
    )
    save_webhook(hook, by=SYSTEM)
    fresh = browser.get(f"{SCHEDULES}add/").context["adminform"].form
    assert hook in fresh.fields["tell"].queryset


@pytest.mark.parametrize("role", [Role.EDITOR, Role.ADMIN])
def test_given_a_changed_name_then_targets_that_no_field_shows_stay(
    planned: Plan, role: str
) -> None:
    known = planned(name="Known")
    hook = WebhookEndpoint(workspace=known.workspace, name="tickets", url="https://x.example/")
    save_webhook(hook, by=SYSTEM)
    mail = {"kind": "email", "to": ["ann@example.org"], "subject": "The report"}
    outside = mail | {"to": ["customer@example.com"], "external": True}
    artifacts = [{"kind": "artifact", "name": name} for name in ("first", "second")]
    known.deliver = [mail, {"kind": "webhook", "endpoint": hook.pk}, outside, *artifacts]
    save_schedule(known, by=SYSTEM)
    client = Client(headers={"host": "localhost"})
    client.force_login(
        member(known.workspace, role), backend="django.contrib.auth.backends.ModelBackend"
    )
    shown = client.get(page(known))
    assert "customer@example.com" in shown.content.decode(), "what no field shows is listed"
    sent = filled(shown) | {"name": "Renamed", "mail_to": "ben@example.org", "keep_as": ""}
    answer = client.post(page(known), sent)
    assert answer.status_code == 302, errors(answer)
    before, after = known.deliver, Schedule.objects.get(name="Renamed").deliver
    assert after == [before[0] | {"to": ["ben@example.org"]}, *before[1:3], before[4]]
