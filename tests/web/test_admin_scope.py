"""The admin bounded by roles: rows, choices, filters, actions; and its audit."""

from __future__ import annotations

import json
import secrets
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import RequestFactory
from django.urls import reverse

from agents.actions.decide_call import Always, approve_call
from agents.actions.provider_accounts import save_provider_account
from agents.actions.receive_message import accept_message
from agents.actions.redeliver import ping_webhook
from agents.actions.run_request import start_conversation
from agents.actions.save_agent import create_agent
from agents.actions.send_message import send_message
from agents.actions.skills import save_skill
from agents.actions.webhooks import save_webhook
from agents.actions.write_agents import create_default_team
from agents.choices import HealthFigure
from agents.inbound.messages import Inbound
from agents.messaging.addresses import sender_of_person
from agents.models import (
    Agent,
    Budget,
    ChatApp,
    Delivery,
    ModelPrice,
    Run,
    WebhookEndpoint,
    WorkspaceAlert,
)
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.admin.permissions import INSTALLATION
from heartbit_site.admin.workspace_scoped import WorkspaceScopedAdmin
from heartbit_site.base import audit
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import (
    ApiKey,
    AuditEntry,
    Membership,
    ProviderAccount,
    Role,
    Workspace,
)
from heartbit_site.base.scopes import SCOPES
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.models import MemoryPolicy
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from tests.admin import rows
from tests.admin.forms import filled
from tests.clients import Client
from tests.inbound.posts import channel_of
from tests.skills.folders import skill_folder
from tests.starts import post_message
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import save_mcp_server
from tools.definitions.catalogue import store
from tools.definitions.registry import definition_hash, registry
from tools.models import CatalogueTool, Credential, McpServer

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

pytestmark = pytest.mark.django_db

#: Classes of the installation, which no member sees: superusers' alone.
INSTALLATIONS = {
    *("auth.user", "auth.group", "axes.accessattempt", "agents.workerheartbeat", "base.tier"),
    *("django_celery_beat.periodictask", "django_celery_beat.intervalschedule"),
    *("django_celery_beat.crontabschedule", "django_celery_beat.solarschedule"),
    "django_celery_beat.clockedschedule",
}
#: What all workspaces see beside their own.
SHARED = {"tools.cataloguetool", "agents.skill"}
KEY = "sk-very-secret-and-long-enough-0000"


@cache
def pages() -> dict[str, WorkspaceScopedAdmin]:
    """The registered classes by model."""
    reverse("admin:index")  # the addresses are there, so every app has registered its classes
    assert Agent in admin.site._registry
    return {
        model._meta.label_lower: page
        for model, page in admin.site._registry.items()
        if isinstance(page, WorkspaceScopedAdmin)
    }


def filled_workspace() -> Workspace:
    """A workspace with at least one row of everything that belongs to one."""
    slug = f"s-{secrets.token_hex(4)}"
    made = Workspace.objects.create(slug=slug, name=slug)
    create_default_team(made)
    for agent in Agent.objects.filter(workspace=made):  # names that tell workspaces apart
        Agent.objects.filter(pk=agent.pk).update(description=f"of {slug}")
    spec = WorkflowSpec.model_validate({"name": "digest", "steps": {"a": {"set": {}}}})
    create_agent(made, spec, by=SYSTEM)
    rows.tree(made)
    post_message(start_conversation(made, agent="writer", title=f"in {slug}"), "Hello")
    decided = rows.asking(made)
    by = Actor("somebody", "web")
    approve_call(decided, digest=decided.digest, by=by, always=Always("agent"))
    rows.asking(made, arguments={"url": f"https://{slug}.example/"})
    create_api_key(made, f"key of {slug}", scopes=["runs:read"])
    save_provider_account(ProviderAccount(workspace=made, provider="openai"), key=KEY)
    Budget.objects.create(workspace=made, period="day", max_tokens=1000)
    endpoint = WebhookEndpoint(
        workspace=made,
        name=f"hook of {slug}",
        url="https://127.0.0.1/",
        events=["run.failed"],
    )
    save_webhook(endpoint, by=audit.SYSTEM)
    WorkspaceAlert.objects.create(workspace=made, figure=HealthFigure.values[0], threshold=1)
    ModelPrice.objects.create(workspace=made, model="openai:x", input_usd=1, output_usd=2)
    ChatApp.objects.create(workspace=made, name="our Slack")
    ping_webhook(endpoint, by=audit.SYSTEM)
    Delivery.objects.create(
        workspace=made,
        run_id=new_id(),
        position=0,
        kind="email",
        target={"kind": "email", "to": [f"ada@{slug}.example"]},
    )
    send_message(sender_of_person(made, audit.SYSTEM), "writer", f"of {slug}")
    schedule = Schedule(
        workspace=made,
        agent=Agent.objects.get(workspace=made, name="writer"),
        name=f"report of {slug}",
        task="Report.",
        cron="0 9 * * MON",
    )
    save_schedule(schedule, by=audit.SYSTEM)
    run_schedule_now(schedule, by=audit.SYSTEM)
    channel, _ = channel_of(made, name=f"tickets of {slug}")
    accept_message(channel, Inbound(external_id=f"msg_{slug}", text="Hello", title=f"of {slug}"))
    server = McpServer(workspace=made, name="shop", url=f"https://{slug}.example/mcp")
    save_mcp_server(server, by=audit.SYSTEM)
    remember(MemoryPlace(made.pk, Scope.AGENT, "writer"), f"of {slug}", by=Author(audit.SYSTEM))
    MemoryPolicy.objects.create(workspace=made, kept_days=30)
    base, _ = save_base(made, "handbook", description=f"of {slug}", by=audit.SYSTEM)
    save_document(base, f"of {slug}.md", b"x", by=audit.SYSTEM)
    save_skill(made, skill_folder("greeting", f"Greets people of {slug}."), by=audit.SYSTEM)
    credential = Credential(workspace=made, name=f"token of {slug}", kind="signing")
    save_credential(credential, {"secret": KEY}, by=audit.SYSTEM)
    store([registry["calculate"]])
    digest = definition_hash(registry["calculate"])
    CatalogueTool.objects.create(
        workspace=made, name="calculate", origin="mcp", source=slug, definition_id=digest
    )
    staff(made, Role.ADMIN)
    audit.record(audit.SYSTEM, "test.made", workspace=made, label=slug)
    return made


def staff(workspace: Workspace | None = None, role: str = Role.VIEWER) -> User:
    """Somebody who may enter the admin, with a role in a workspace."""
    user = User.objects.create(username=f"p-{secrets.token_hex(4)}", is_staff=True)
    if workspace is not None:
        Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def browser_of(user: User) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def request_of(user: User) -> HttpRequest:
    request = RequestFactory().get("/admin/")
    request.user = user
    return request


@pytest.fixture
def ours(database: None) -> Workspace:
    return filled_workspace()


@pytest.fixture
def theirs(database: None) -> Workspace:
    return filled_workspace()


def url_of(label: str, page: str, *arguments: Any) -> str:
    return reverse(f"admin:{label.replace('.', '_')}_{page}", args=arguments)


def within(label: str, rows_of: QuerySet[Any], workspace: Workspace) -> QuerySet[Any]:
    path = pages()[label].workspace_path
    return rows_of.filter(**{path: workspace.pk}) if path else rows_of.none()


# ------------------------------------------------------------------------------------- every class


def test_every_admin_class_names_its_path_to_the_workspace_and_known_scopes() -> None:
    assert len(pages()) == len(admin.site._registry)
    for label, page in pages().items():
        path = page.workspace_path
        if label in INSTALLATIONS:
            assert path is None, label
            continue
        assert path is not None, f"{label} names no path to its workspace"
        assert page.model._default_manager.filter(**{path: 1}).query, label
        assert set(page.needs.values()) <= {*SCOPES, INSTALLATION}, label
        assert "view" in page.needs, label


def test_given_a_member_then_the_admin_has_their_workspaces_rows_alone(
    ours: Workspace, theirs: Workspace
) -> None:
    user = staff(ours, Role.ADMIN)
    labels = sorted(set(pages()) - INSTALLATIONS)
    assert len(labels) > 10
    for label in labels:
        _check_rows(label, user, ours, theirs)


def _check_rows(label: str, user: User, ours: Workspace, theirs: Workspace) -> None:
    page: Any = pages()[label]
    every = page.model._default_manager.all()
    foreign = within(label, every, theirs).order_by("-pk").first()
    assert foreign is not None, f"the fixture makes no {label}"
    seen = page.get_queryset(request_of(user))
    assert within(label, seen, ours).exists()
    shared = seen.filter(workspace=None).count() if label in SHARED else 0
    assert seen.count() == within(label, seen, ours).count() + shared
    client = browser_of(user)
    listed = client.get(url_of(label, "changelist"))
    if page.work_page:
        assert listed.headers["location"].startswith(f"/w/{ours.slug}/"), label
    else:
        assert listed.status_code == 200
        text = listed.content.decode()
        assert theirs.slug not in text
        assert str(foreign.pk) not in {str(row.pk) for row in listed.context["cl"].result_list}
    opened = client.get(url_of(label, "change", foreign.pk))
    assert opened.status_code == 302  # as for an id that nobody has
    own = within(label, every, ours).order_by("-pk").first()
    assert own is not None
    # A waiting call has no page of its own: it leads to its run's.
    shown = client.get(url_of(label, "change", own.pk), follow=True)
    assert shown.status_code == 200
    assert theirs.slug not in shown.content.decode()
    for what in ("delete", "history"):
        there = client.post if what == "delete" else client.get
        answer = there(url_of(label, what, foreign.pk), {"post": "yes"})
        assert answer.status_code in (302, 403, 404)
    assert page.model._default_manager.filter(pk=foreign.pk).exists()


def test_given_all_of_djangos_permissions_but_no_membership_then_nothing_is_seen(
    ours: Workspace,
) -> None:
    user = staff()
    user.user_permissions.set(Permission.objects.all())
    client = browser_of(user)
    for label in set(pages()):
        assert client.get(url_of(label, "changelist")).status_code == 403, label
    index = client.get(reverse("admin:index"))
    assert index.context["contents"] == []
    assert "belong to no workspace" in index.content.decode()


def test_given_an_admin_of_a_workspace_then_what_is_the_installations_is_closed(
    workspace: Workspace,
) -> None:
    client = browser_of(staff(workspace, Role.ADMIN))
    for label in INSTALLATIONS:
        right = 302 if label == "agents.workerheartbeat" else 403  # led to the page Health
        assert client.get(url_of(label, "changelist")).status_code == right, label


# ------------------------------------------------------------------------------------------- roles

RIGHTS = {
    ("agents.agent", "change"): {Role.EDITOR, Role.ADMIN},
    ("agents.agent", "add"): {Role.EDITOR, Role.ADMIN},
    ("agents.agent", "start"): {Role.OPERATOR, Role.EDITOR, Role.ADMIN},
    ("agents.agent", "switch"): {Role.EDITOR, Role.ADMIN},
    ("agents.workflow", "change"): {Role.EDITOR, Role.ADMIN},
    ("agents.workflow", "start"): {Role.OPERATOR, Role.EDITOR, Role.ADMIN},
    ("agents.agentversion", "rollback"): {Role.EDITOR, Role.ADMIN},
    ("agents.budget", "change"): {Role.EDITOR, Role.ADMIN},
    ("agents.run", "view"): set(Role),
    ("agents.grant", "revoke"): {Role.OPERATOR, Role.EDITOR, Role.ADMIN},
    ("base.membership", "view"): set(Role),
    ("base.membership", "change"): {Role.ADMIN},
    ("base.apikey", "view"): {Role.ADMIN},
    ("base.apikey", "revoke"): {Role.ADMIN},
    ("base.provideraccount", "view"): set(Role),
    ("base.provideraccount", "change"): {Role.ADMIN},
    ("base.workspace", "view"): set(Role),
    ("base.workspace", "change"): {Role.ADMIN},
    ("base.workspace", "add"): set(),
    ("base.workspace", "delete"): set(),
    ("base.auditentry", "view"): {Role.ADMIN},
    ("agents.webhookendpoint", "view"): {Role.ADMIN},
    ("agents.webhookendpoint", "change"): {Role.ADMIN},
    ("agents.webhookendpoint", "rotate"): {Role.ADMIN},
    ("agents.webhookdelivery", "view"): {Role.ADMIN},
    ("agents.webhookdelivery", "again"): {Role.ADMIN},
    ("scheduling.schedule", "view"): set(Role),
    ("scheduling.schedule", "change"): {Role.EDITOR, Role.ADMIN},
    ("scheduling.schedule", "delete"): {Role.EDITOR, Role.ADMIN},
    ("scheduling.schedule", "run"): {Role.OPERATOR, Role.EDITOR, Role.ADMIN},
    ("scheduling.firing", "view"): set(Role),
    ("agents.delivery", "view"): set(Role),
    ("agents.delivery", "again"): {Role.OPERATOR, Role.EDITOR, Role.ADMIN},
}


@pytest.mark.parametrize("role", list(Role))
def test_given_a_role_then_it_bounds_what_may_be_done(role: Role, workspace: Workspace) -> None:
    request = request_of(staff(workspace, role))
    wrong = [
        f"{label} {what}"
        for (label, what), roles in RIGHTS.items()
        if pages()[label].may(request, what) is not (role in roles)
    ]
    assert wrong == []


def test_given_a_viewer_then_a_form_is_shown_and_cannot_be_sent(workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    viewer, editor = (browser_of(staff(workspace, role)) for role in ("viewer", "editor"))
    url = url_of("agents.agent", "change", agent.pk)
    data = filled(editor.get(url)) | {"description": "Changed."}
    assert viewer.get(url).status_code == 200
    assert viewer.post(url, data).status_code == 403
    assert viewer.get(url_of("agents.agent", "add")).status_code == 403
    assert editor.post(url, data).status_code == 302
    agent.refresh_from_db()
    assert agent.description == "Changed."


def test_given_two_roles_then_chosen_rows_change_only_where_the_role_allows_it(
    ours: Workspace, theirs: Workspace
) -> None:
    user = staff(ours, Role.EDITOR)
    Membership.objects.create(workspace=theirs, user=user, role=Role.VIEWER)
    chosen = Agent.objects.filter(workspace__in=[ours, theirs], name="writer", origin="")
    data = {"action": "stop", "_selected_action": [agent.pk for agent in chosen]}
    assert browser_of(user).post(url_of("agents.agent", "changelist"), data).status_code == 302
    assert {agent.workspace: agent.enabled for agent in chosen.all()} == {ours: False, theirs: True}


def test_given_two_roles_then_a_dialog_of_the_other_workspace_is_refused(
    ours: Workspace, theirs: Workspace
) -> None:
    user = staff(ours, Role.EDITOR)
    Membership.objects.create(workspace=theirs, user=user, role=Role.VIEWER)
    client = browser_of(user)
    agent = Agent.objects.get(workspace=theirs, name="writer")
    sent = {"_form_submitted": "True", "task": "x"}
    for what in ("stop_agent", "start"):
        assert client.post(url_of("agents.agent", what, agent.pk), sent).status_code == 403
    agent.refresh_from_db()
    assert agent.enabled


# ----------------------------------------------------------------------------------------- choices


def test_given_a_member_then_forms_offer_their_workspaces_and_agents_alone(
    ours: Workspace, theirs: Workspace
) -> None:
    client = browser_of(staff(ours, Role.EDITOR))
    for label, fields in (("agents.agent", ("workspace", "team")), ("agents.budget", ("agent",))):
        form = client.get(url_of(label, "add")).context["adminform"].form
        assert list(form.fields["workspace"].queryset) == [ours]
        for field in fields:
            assert all(
                getattr(row, "workspace", row) == ours for row in form.fields[field].queryset
            )
    data = {"workspace": theirs.pk, "period": "month", "max_tokens": "5"}
    refused = client.post(url_of("agents.budget", "add"), data)
    assert "workspace" in refused.context["adminform"].form.errors
    assert not Budget.objects.filter(workspace=theirs, period="month").exists()


def test_given_a_member_then_the_page_of_a_run_of_others_does_not_exist(
    ours: Workspace, theirs: Workspace
) -> None:
    client = browser_of(staff(ours, Role.ADMIN))
    run = Run.objects.filter(workspace=theirs, parent__isnull=True).earliest("id")
    for slug in (ours.slug, theirs.slug):
        assert client.get(reverse("web:run", args=[slug, run.pk])).status_code == 404
    assert client.get(url_of("agents.run", "change", run.pk)).status_code == 302  # to the index


# ------------------------------------------------------------------------------------------- audit


def entries(workspace: Workspace, action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(workspace=workspace, action=action).order_by("id"))


def test_given_a_changed_agent_then_the_audit_says_from_what_to_what(workspace: Workspace) -> None:
    user = staff(workspace, Role.EDITOR)
    client = browser_of(user)
    agent = Agent.objects.get(workspace=workspace, name="writer")
    url = url_of("agents.agent", "change", agent.pk)
    form = filled(client.get(url))
    count = int(form["bindings-TOTAL_FORMS"])
    data = form | {
        "description": "Writes.",
        "max_turns": 7,
        "bindings-TOTAL_FORMS": count + 1,
        f"bindings-{count}-tool": "calculate",
        f"bindings-{count}-enabled": "on",
    }
    before = agent.max_turns
    assert client.post(url, data).status_code == 302
    [entry] = entries(workspace, "agent.change")
    assert (entry.actor, entry.via, entry.user_id) == (user.username, "admin", user.pk)
    assert (entry.target, entry.label) == (f"agent:{agent.pk}", "writer")
    assert entry.details["max_turns"] == [before, 7]
    assert entry.details["description"][1] == "Writes."
    assert len(entry.details["tool bindings"]["added"]) == 1
    assert client.post(url, filled(client.get(url))).status_code == 302
    assert len(entries(workspace, "agent.change")) == 1  # nothing changed


def test_given_a_refused_change_then_the_audit_has_nothing_of_it(workspace: Workspace) -> None:
    client = browser_of(staff(workspace, Role.EDITOR))
    agent = Agent.objects.get(workspace=workspace, name="writer")
    agent.bindings.create(tool="calculater")
    url = url_of("agents.agent", "change", agent.pk)
    assert client.post(url, filled(client.get(url)) | {"description": "x"}).status_code == 200
    assert entries(workspace, "agent.change") == []


def test_given_an_account_and_a_key_then_the_audit_names_no_secret(workspace: Workspace) -> None:
    client = browser_of(staff(workspace, Role.ADMIN))
    data = {"workspace": workspace.pk, "provider": "openai", "key": KEY, "enabled": "on"}
    assert client.post(url_of("base.provideraccount", "add"), data).status_code == 302
    [made] = entries(workspace, "provider_account.add")
    assert made.details["key"] == "not shown"
    data = {"workspace": workspace.pk, "name": "import", "scopes": ["runs:read"]}
    client.post(url_of("base.apikey", "add"), data)
    [made] = entries(workspace, "api_key.create")
    key = ApiKey.objects.get(workspace=workspace)
    client.post(url_of("base.apikey", "revoke", key.pk), {"_form_submitted": "True"})
    assert len(entries(workspace, "api_key.revoke")) == 1
    kept = json.dumps(list(AuditEntry.objects.filter(workspace=workspace).values("details")))
    assert KEY not in kept
    assert key.hash not in kept


def test_given_an_admin_then_members_come_change_and_go_and_the_last_admin_stays(
    workspace: Workspace,
) -> None:
    boss = staff(workspace, Role.ADMIN)
    client, new = browser_of(boss), staff()
    page = url_of("base.workspace", "add_member", workspace.pk)
    asked = {"_form_submitted": "True", "role": "viewer"}
    assert "no account of that name" in client.post(page, asked | {"person": "??"}).content.decode()
    assert client.post(page, asked | {"person": new.username}).headers["HX-Refresh"] == "true"
    added = Membership.objects.get(workspace=workspace, user=new)
    url = url_of("base.membership", "change", added.pk)
    assert client.post(url, {"role": "editor"}).status_code == 302
    added.refresh_from_db()
    assert added.role == Role.EDITOR
    own = Membership.objects.get(workspace=workspace, user=boss)
    kept = client.post(url_of("base.membership", "change", own.pk), {"role": "viewer"})
    assert "only admin" in kept.content.decode()
    client.post(url_of("base.membership", "delete", own.pk), {"post": "yes"})
    assert Membership.objects.filter(pk=own.pk).exists()
    client.post(url_of("base.membership", "delete", added.pk), {"post": "yes"})
    assert not Membership.objects.filter(pk=added.pk).exists()
    done = AuditEntry.objects.filter(workspace=workspace).order_by("id")
    assert list(done.values_list("action", flat=True)) == [
        *("member.add", "member.change", "member.remove"),
    ]


def test_given_a_workspaces_settings_then_their_change_is_audited(workspace: Workspace) -> None:
    client = browser_of(staff(workspace, Role.ADMIN))
    url = url_of("base.workspace", "change", workspace.pk)
    data = filled(client.get(url)) | {"retention_days": 30}
    assert client.post(url, data).status_code == 302
    [entry] = entries(workspace, "workspace.change")
    assert entry.details == {"retention_days": [90, 30]}


def test_given_a_tampered_chain_then_verify_names_the_entry(workspace: Workspace) -> None:
    client = browser_of(staff(workspace, Role.ADMIN))
    for number in range(3):
        audit.record(audit.SYSTEM, f"test.{number}", workspace=workspace)
    url = reverse("admin:base_auditentry_verify_chains")
    assert "All chains hold: 3 entries in 1 chain" in client.get(url, follow=True).content.decode()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE base_auditentry DISABLE TRIGGER audit_keep")
        cursor.execute(
            "UPDATE base_auditentry SET actor = 'x' WHERE chain = %s AND number = 2", [workspace.pk]
        )
        cursor.execute("ALTER TABLE base_auditentry ENABLE TRIGGER audit_keep")
    text = client.get(url, follow=True).content.decode()
    assert "does not hold: entry 2: it was changed" in text
    assert browser_of(staff(workspace, Role.EDITOR)).get(url).status_code == 403
