"""Schedules as a work page: read by all, changed by editors, nothing dropped."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from agents.models import Agent, Delivery, Run, WebhookEndpoint
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Role, Workspace
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Firing, Schedule
from scheduling.templates import TEMPLATES, ScheduleTemplate
from tests.web.axe import serious
from tests.web.people import member

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from tests.web.conftest import Visitors

REPORT = "Monday sales report"
MAIL = {"kind": "email", "to": ["sales@example.org"], "attach": False, "subject": "Sales"}


@pytest.fixture
def planned(workspace: Workspace) -> Schedule:
    """A schedule with a target of each kind, and two of one."""
    hook = WebhookEndpoint.objects.create(
        workspace=workspace, name="tickets", url="https://a.example"
    )
    row = Schedule(
        workspace=workspace,
        agent=Agent.objects.get(workspace=workspace, name="writer"),
        name=REPORT,
        task="Write it.",
        cron="0 9 * * 1",
        time_zone="Europe/Berlin",
        deliver=[
            MAIL,
            {"kind": "email", "to": ["boss@example.org"], "external": True, "subject": "Report"},
            {"kind": "webhook", "endpoint": hook.pk},
            {"kind": "artifact", "name": "report"},
        ],
    )
    save_schedule(row, by=Actor("ann", "web"))
    return row


def client_of(user: User) -> Client:
    found = Client(headers={"host": "127.0.0.1"})
    found.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return found


def address(row: Schedule) -> str:
    return f"/w/{row.workspace.slug}/schedules/{row.pk}/"


def test_given_a_schedule_when_its_form_is_saved_as_it_is_then_nothing_changes(
    visitors: Visitors, workspace: Workspace, planned: Schedule
) -> None:
    before = Schedule.objects.filter(pk=planned.pk).values().get()
    editor = visitors(user=member(workspace, Role.EDITOR))
    editor.go(f"schedules/{planned.pk}/")
    editor.page.get_by_role("button", name="Save").click()
    expect(editor.page.get_by_text(f"{REPORT} is saved.")).to_be_visible()
    assert Schedule.objects.filter(pk=planned.pk).values().get() == before


def test_given_a_sentence_then_its_next_five_are_shown_and_it_is_saved(
    visitors: Visitors, workspace: Workspace, planned: Schedule
) -> None:
    editor = visitors(user=member(workspace, Role.EDITOR))
    page = editor.page
    editor.go(f"schedules/{planned.pk}/")
    expect(page.get_by_label("When", exact=True)).to_have_value("every Monday at 09:00")
    page.get_by_label("When", exact=True).fill("every weekday at 8:00")
    coming = page.locator("[data-preview]")
    expect(coming).to_contain_text("Monday through Friday")
    expect(coming.locator("li")).to_have_count(5)
    page.get_by_text("More settings").click()
    page.get_by_label("Every tool call needs approval").check()
    expect(coming).to_contain_text("Every tool call waits for a person.")
    page.get_by_label("Every tool call needs approval").uncheck()
    expect(coming.locator("li")).to_have_count(5)
    editor.expect("409")
    page.get_by_label("When", exact=True).fill("now and then")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("is no time that Heartbit knows").first).to_be_visible()
    page.get_by_label("When", exact=True).fill("every weekday at 8:00")
    page.get_by_label("Subject").first.fill("Sales of the week")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"{REPORT} is saved.")).to_be_visible()
    planned.refresh_from_db()
    assert planned.cron == "0 8 * * 1-5"
    assert planned.deliver[0].items() >= {**MAIL, "subject": "Sales of the week"}.items()
    assert len(planned.deliver) == 4
    assert [*map(str, serious(page))] == []


@pytest.mark.django_db
@pytest.mark.parametrize(("rhythm", "has_seconds"), [("30 seconds", True), ("2 hours", False)])
def test_times_less_than_a_minute_apart_have_seconds(
    planned: Schedule, rhythm: str, *, has_seconds: bool
) -> None:
    client = client_of(member(planned.workspace, Role.EDITOR))
    place = f"/w/{planned.workspace.slug}/schedules/"
    given = {"rhythm": f"every {rhythm}", "time_zone": "Europe/Berlin"}
    shown = client.post(f"{place}preview/", given).content.decode()
    times = re.findall(r"<time[^>]*>([^<]+)</time>", shown)
    assert all((time.count(":") == 2) is has_seconds for time in times)
    if has_seconds:
        assert len(set(times)) == len(times) == 10  # five, in two zones
        every = {"cron": "", "kind": "interval", "every_seconds": 30, "begins_at": timezone.now()}
        Schedule.objects.filter(pk=planned.pk).update(**every)
        assert re.search(r"\d\d:\d\d:\d\d</time>", client.get(place).content.decode())


def test_given_firings_then_a_strip_names_run_and_delivery_and_how_late(
    visitors: Visitors, workspace: Workspace, planned: Schedule
) -> None:
    fire(planned, hours=48, run="succeeded", delivery="delivered")
    fire(planned, hours=24, run="succeeded", delivery="failed", late=timedelta(hours=2))
    viewer = visitors(user=member(workspace, Role.VIEWER), width=390)
    page = viewer.page
    viewer.go("schedules/")
    row = page.get_by_role("listitem").filter(has_text=REPORT)
    expect(row).to_contain_text("Every Monday at 09:00")
    expect(row).to_contain_text("09:00 Europe/Berlin")
    expect(row).to_contain_text("2 firings, 1 not delivered, 1 late")
    expect(row.locator(".strip li").last).to_contain_text(
        "run succeeded, not delivered, 2 h 0 min late"
    )
    assert page.get_by_role("button", name="Pause").count() == 0
    assert [*map(str, serious(page))] == []
    page.get_by_role("link", name=REPORT).click()
    table = page.get_by_role("region", name="Firings").last
    expect(table).to_contain_text("2 h 0 min late")
    expect(table).to_contain_text("Not delivered")
    assert page.get_by_role("button", name="Save").count() == 0
    assert [*map(str, serious(page))] == []


@pytest.mark.django_db
def test_given_a_test_then_its_result_goes_to_the_person_only(planned: Schedule) -> None:
    user = member(planned.workspace, Role.EDITOR)
    user.email = "me@example.org"
    user.save()
    client_of(user).post(address(planned), {"do": "test"})
    firing = Firing.objects.get(schedule=planned)
    assert firing.cause == "test"
    assert firing.run_id is not None
    [delivery] = Delivery.objects.filter(run_id=firing.run_id)
    assert delivery.target["to"] == ["me@example.org"]


@pytest.mark.django_db
def test_given_no_address_then_a_test_delivers_to_nobody(planned: Schedule) -> None:
    client_of(member(planned.workspace, Role.EDITOR)).post(address(planned), {"do": "test"})
    firing = Firing.objects.get(schedule=planned)
    assert firing.run_id is not None
    assert not Delivery.objects.filter(run_id=firing.run_id).exists()


@pytest.mark.django_db
def test_given_a_viewer_then_no_verb_of_theirs_changes_anything(planned: Schedule) -> None:
    browser = client_of(member(planned.workspace, Role.VIEWER))
    for verb in ("pause", "run", "test", "remove", "save", "nonsense"):
        answer = browser.post(address(planned), {"do": verb, "name": "Other"})
        assert answer.status_code == (400 if verb == "nonsense" else 302)
    planned.refresh_from_db()
    assert (planned.enabled, planned.name) == (True, REPORT)
    assert not Firing.objects.filter(schedule=planned).exists()
    assert browser.get(f"/w/{planned.workspace.slug}/schedules/new/").status_code == 403


@pytest.mark.django_db
def test_given_an_editor_then_it_is_paused_resumed_and_removed(planned: Schedule) -> None:
    browser = client_of(member(planned.workspace, Role.EDITOR))
    browser.post(address(planned), {"do": "pause"})
    assert Schedule.objects.filter(pk=planned.pk, enabled=False).exists()
    browser.post(address(planned), {"do": "resume"})
    assert Schedule.objects.filter(pk=planned.pk, enabled=True).exists()
    browser.post(address(planned), {"do": "remove"})
    assert not Schedule.objects.filter(pk=planned.pk).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.slug)
def test_given_a_template_then_a_schedule_is_made_of_it(
    workspace: Workspace, template: ScheduleTemplate
) -> None:
    browser = client_of(member(workspace, Role.EDITOR))
    place = f"/w/{workspace.slug}/schedules/new/?template={template.slug}"
    browser.cookies["heartbit_zone"] = "Europe%2FBerlin"
    shown = browser.get(place)
    assert len(shown.context["coming"]) in (1, 5)
    form = shown.context["form"]
    assert form["time_zone"].value() == "Europe/Berlin"
    given = {name: form[name].value() for name in form.fields}
    given |= {"agent": "writer", "input": "", "arguments": "", "time_zone": "Europe/Berlin"}
    answer = browser.post(
        place, {n: one for n, one in given.items() if one is not None and one is not False}
    )
    assert answer.status_code == 302, answer.context["form"].errors
    made = Schedule.objects.get(workspace=workspace, name=template.name)
    assert made.next_occurrence is not None


def fire(
    row: Schedule, *, hours: int, run: str, delivery: str, late: timedelta = timedelta()
) -> None:
    due = timezone.now() - timedelta(hours=hours)
    agent = row.agent
    assert agent.current_version is not None
    made = Run(
        workspace=row.workspace,
        version=agent.current_version,
        agent=agent.name,
        task="Write it.",
        status=run,
        created_at=due,
        started_at=due + late,
        finished_at=due + late + timedelta(seconds=30),
    )
    made.root = made
    made.save()
    Firing.objects.create(
        schedule=row, scheduled_for=due, status="started", run_id=made.pk, run_ended=True
    )
    Delivery.objects.create(
        workspace=row.workspace,
        run_id=made.pk,
        position=0,
        kind="email",
        target=MAIL,
        status=delivery,
    )
