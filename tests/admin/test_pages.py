"""Every page of the admin renders, from local files only, with what models wrote kept harmless."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from axes.models import AccessAttempt
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.templatetags.static import static
from django.urls import resolve, reverse
from django.utils import timezone
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from agents.actions.decide_call import Always, approve_call
from agents.actions.receive_message import accept_message
from agents.actions.redeliver import ping_webhook
from agents.actions.run_request import start_conversation
from agents.actions.save_agent import create_agent
from agents.actions.send_message import send_message
from agents.actions.skills import save_skill
from agents.actions.webhooks import save_webhook
from agents.admin.decision import TONES
from agents.admin.formatting import DELIVERY_TONES
from agents.choices import VERDICTS, DeliveryStatus, HealthFigure, RunStatus
from agents.inbound.messages import Inbound
from agents.messaging.addresses import sender_of_person
from agents.models import (
    Agent,
    Budget,
    Channel,
    ChatApp,
    Delivery,
    ModelPrice,
    WebhookEndpoint,
    WorkspaceAlert,
)
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.admin.contents import SUBJECTS
from heartbit_site.admin.themed import ModelAdmin
from heartbit_site.base import audit
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Membership, ProviderAccount
from heartbit_site.base.tone import STATUS_TONES
from heartbit_site.shell.places import GROUPS
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.knowledge.passages import PassageText
from memory.knowledge.reader import DocumentPart, store_part
from memory.models import Document, MemoryPolicy
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import FiringStatus
from scheduling.models import Firing, Schedule
from tests.admin import rows
from tests.admin.rich_rows import FAR
from tests.inbound.posts import channel_of
from tests.skills.folders import skill_folder
from tests.starts import post_message
from tests.web.dates import other_dates
from tools.actions.credentials import save_credential
from tools.models import Credential, McpServer

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

#: Packages whose rows write dates into their own names.
OF_OTHERS = ("axes", "django_celery_beat")

pytestmark = pytest.mark.django_db

SCRIPT = re.compile(rb"<script\b[^>]*>")
#: A file of ours, or data.
ALLOWED = re.compile(rb"""\bsrc=["']?/|\btype=["']?application/json""")
ELSEWHERE = re.compile(rb"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""")


@pytest.fixture
def full(workspace: Workspace) -> None:
    """At least one row of everything."""
    rows.tree(workspace)
    post_message(start_conversation(workspace, agent="writer", title=rows.HOSTILE), rows.HOSTILE)
    decided = rows.asking(workspace)
    by = Actor(rows.HOSTILE, "web")
    approve_call(decided, digest=decided.digest, by=by, always=Always("run"))
    rows.asking(workspace, arguments={"url": rows.HOSTILE})
    every = IntervalSchedule.objects.create(every=5, period="minutes")
    CrontabSchedule.objects.create(minute="0")
    SolarSchedule.objects.create(event="sunrise", latitude=52, longitude=13)
    ClockedSchedule.objects.create(clocked_time=timezone.now())
    PeriodicTask.objects.create(name="one", task="agents.execute_run", interval=every)
    Group.objects.create(name="readers")
    create_api_key(workspace, "import", scopes=["runs:read"])
    ProviderAccount.objects.create(workspace=workspace, provider="openai")
    price = {"model": "openai:x", "input_usd": 1, "output_usd": 2}
    ModelPrice.objects.create(workspace=workspace, **price)
    ChatApp.objects.create(workspace=workspace, name=rows.HOSTILE[:64])
    credential = Credential(workspace=workspace, name=rows.HOSTILE[:64], kind="signing")
    save_credential(credential, {"secret": rows.HOSTILE}, by=audit.SYSTEM)
    remember(
        MemoryPlace(workspace.pk, Scope.AGENT, "writer"), rows.HOSTILE, by=Author(audit.SYSTEM)
    )
    MemoryPolicy.objects.create(workspace=workspace, problem=rows.HOSTILE)
    base, _ = save_base(workspace, "handbook", description=rows.HOSTILE, by=audit.SYSTEM)
    content = f"# {rows.HOSTILE}\n\nx".encode()
    with transaction.atomic():  # so that a worker of another test finds it claimed
        made, _ = save_document(base, rows.HOSTILE, content, by=audit.SYSTEM)
        found = Document.objects.filter(pk=made.pk)
        found.update(state="reading", problem=rows.HOSTILE, claimed_until=FAR)
    part = DocumentPart([PassageText(1, (rows.HOSTILE,), rows.HOSTILE)], 2, 1)
    made.refresh_from_db()
    assert store_part(made, part)
    step = {"ask": rows.HOSTILE, "when": f"input == {rows.HOSTILE!r}"}
    spec = {"name": "digest", "description": rows.HOSTILE, "steps": {rows.HOSTILE: step}}
    create_agent(workspace, WorkflowSpec.model_validate(spec), by=audit.SYSTEM)
    save_skill(workspace, skill_folder("greeting", "<script>alert(1)</script>"), by=audit.SYSTEM)
    McpServer.objects.create(workspace=workspace, name="shop", url="https://shop.example/mcp")
    AccessAttempt.objects.create(username="nobody", failures_since_start=1)
    member = User.objects.create(username="member-of-tests")
    Membership.objects.create(workspace=workspace, user=member)
    audit.record(audit.SYSTEM, "test.made", workspace=workspace, label=rows.HOSTILE)
    Budget.objects.create(workspace=workspace, period="day", max_tokens=1000)
    WorkspaceAlert.objects.create(workspace=workspace, figure=HealthFigure.values[0], threshold=1)
    endpoint = WebhookEndpoint(
        workspace=workspace,
        name=rows.HOSTILE,
        url="https://127.0.0.1/",
        events=["run.failed"],
    )
    save_webhook(endpoint, by=audit.SYSTEM)
    ping_webhook(endpoint, by=audit.SYSTEM)
    Delivery.objects.create(
        workspace=workspace,
        run_id=new_id(),
        position=0,
        kind="email",
        target={"kind": "email", "to": [rows.HOSTILE]},
        recipient_results={rows.HOSTILE: rows.HOSTILE},
        error=rows.HOSTILE,
    )
    send_message(sender_of_person(workspace, audit.SYSTEM), "writer", rows.HOSTILE)
    channel, _ = channel_of(workspace, name=rows.HOSTILE)
    Channel.objects.filter(pk=channel.pk).update(last_error=rows.HOSTILE)
    came = Inbound(external_id="x", text=rows.HOSTILE, title=rows.HOSTILE, sender=rows.HOSTILE)
    accept_message(channel, came)
    schedule = Schedule(
        workspace=workspace,
        agent=Agent.objects.get(workspace=workspace, name="writer"),
        name=rows.HOSTILE,
        task=rows.HOSTILE,
        cron="0 9 * * MON",
    )
    save_schedule(schedule, by=audit.SYSTEM)
    Firing.objects.create(
        schedule=schedule,
        scheduled_for=timezone.now(),
        status=FiringStatus.FAILED,
        note=rows.HOSTILE,
    )


def test_every_model_has_the_theme() -> None:
    plain = [
        model.__name__
        for model, page in admin.site._registry.items()
        if not isinstance(page, ModelAdmin)
    ]
    assert plain == []


def test_every_list_add_and_change_page_renders(browser: Client, full: None) -> None:
    seen = 0
    for model, page in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        urls = [reverse(f"{name}_changelist")]
        if page.has_add_permission(_request(browser)):
            urls.append(reverse(f"{name}_add"))
        first = model._default_manager.order_by("-pk").first()
        assert first is not None, f"the fixture makes no {model.__name__}"
        urls.append(reverse(f"{name}_change", args=[first.pk]))
        for url in urls:
            response = browser.get(url, follow=True)  # a waiting call leads to its run
            assert response.status_code == 200, url
            assert not ELSEWHERE.search(response.content), f"{url} asks for something elsewhere"
            assert rows.HOSTILE.encode() not in response.content, f"{url} does not escape"
            forbidden = [tag for tag in SCRIPT.findall(response.content) if not ALLOWED.search(tag)]
            if model._meta.app_label not in OF_OTHERS:
                assert other_dates(response.content.decode()) == [], url
            assert not forbidden, f"{url} has scripts that its policy forbids"
            seen += 1
    assert seen > 35


def _request(browser: Client) -> Any:
    return browser.get(reverse("admin:index")).wsgi_request


def test_the_frame_and_settings_lead_to_every_list_and_show_only_what_one_may_see(
    browser: Client, guest: Client
) -> None:
    links = [page.address for pages in SUBJECTS.values() for page in pages]
    links += [reverse(place.route) for _, places in GROUPS for place in places if place.is_admins]
    page = browser.get(reverse("admin:index")).content.decode()
    for link in links:
        resolve(link)
        assert f'href="{link}"' in page
    names = [one._meta.label_lower.replace(".", "_") for one in admin.site._registry]
    known = {reverse(f"admin:{name}_changelist") for name in names}
    assert known <= set(links), "each has its place"
    shown = guest.get(reverse("admin:index")).content.decode()
    assert [link for link in links if f'href="{link}"' in shown] == []


def test_style_sheets_are_served_without_collectstatic(browser: Client) -> None:
    page = browser.get(reverse("admin:index")).content.decode()
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+\.css)"', page)
    assert sheets == [static("heartbit/admin-pages.css")]
    for sheet in [*sheets, "/static/heartbit/icon.svg"]:
        assert browser.get(sheet).status_code == 200


def test_every_status_has_a_colour() -> None:
    assert set(STATUS_TONES) > set(RunStatus) - {RunStatus.QUEUED}
    assert set(DELIVERY_TONES) == set(DeliveryStatus)
    assert set(TONES) == set(VERDICTS)


def test_strangers_are_asked_to_log_in(db: None, client: Client) -> None:
    response = client.get(reverse("admin:agents_run_changelist"), headers={"host": "localhost"})
    assert response.status_code == 302
    assert "/login/" in response.headers["location"]
