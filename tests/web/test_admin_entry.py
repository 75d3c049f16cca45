"""Who enters the admin: members by their role, without being staff; and what others are told."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agents.actions.provider_accounts import save_provider_account
from agents.models import Agent
from heartbit_site.base.actions.members import remove_member, save_member
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Membership, ProviderAccount, Role, Workspace
from heartbit_site.base.scopes import OPERATORS_SCOPE
from tests.admin.forms import filled
from tests.clients import Client
from tests.web.people import member, person

pytestmark = pytest.mark.django_db

INDEX = "/admin/"
PASSWORD = "a-long-password-of-somebody"
#: Entries of the sidebar that belong to the installation.
OPERATORS = ("auth_user", "auth_group", "base_tier", "agents_workerheartbeat", "axes_accessattempt")


def browser_of(user: User) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def has_link(page: Any, name: str) -> bool:
    return f'href="{reverse(f"admin:{name}_changelist")}"' in page.content.decode()


@pytest.fixture
def other(database: None) -> Workspace:
    slug = f"o-{new_id()}"[:20]
    made = Workspace.objects.create(slug=slug, name=f"Other {slug}")
    Agent.objects.create(workspace=made, name="writer", system_prompt="Write.")
    return made


# ----------------------------------------------------------------------------------- who is let in


@pytest.mark.parametrize("role", [Role.EDITOR, Role.ADMIN])
def test_given_a_role_that_changes_agents_then_the_admin_is_open_and_bounded(
    workspace: Workspace, role: Role
) -> None:
    user = member(workspace, role)
    assert not user.is_staff
    page = browser_of(user).get(INDEX)
    assert page.status_code == 200
    assert page.context["contents"]
    assert has_link(page, "agents_agent")
    assert has_link(page, "base_apikey") is (role == Role.ADMIN)
    assert not any(has_link(page, name) for name in OPERATORS)


def test_given_an_editor_who_is_not_staff_when_they_save_an_agent_then_it_is_changed(
    workspace: Workspace,
) -> None:
    client = browser_of(member(workspace, Role.EDITOR))
    agent = Agent.objects.get(workspace=workspace, name="writer")
    url = reverse("admin:agents_agent_change", args=[agent.pk])
    assert client.post(url, filled(client.get(url)) | {"description": "New."}).status_code == 302
    agent.refresh_from_db()
    assert agent.description == "New."


def test_given_a_superuser_who_is_not_staff_then_the_admin_is_open(database: None) -> None:
    user = User.objects.create(username=f"s-{new_id().hex[-10:]}", is_superuser=True)
    page = browser_of(user).get(INDEX)
    assert page.status_code == 200
    assert all(has_link(page, name) for name in OPERATORS)


def test_given_an_editor_when_they_log_in_at_the_admin_then_they_are_in(
    workspace: Workspace,
) -> None:
    user = member(workspace, Role.EDITOR, password=PASSWORD)
    client = Client(headers={"host": "localhost"})
    asked = client.get(INDEX, follow=True)
    assert asked.redirect_chain[0][0].startswith("/admin/login/")
    data = {"username": user.username, "password": PASSWORD, "next": INDEX}
    entered = client.post("/admin/login/", data, follow=True)
    assert entered.status_code == 200
    assert has_link(entered, "agents_agent")


# ------------------------------------------------------------------------------ who is not, and why


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
@pytest.mark.parametrize("path", [INDEX, "/admin/login/", "/admin/agents/agent/"])
def test_given_another_role_then_the_admin_says_why_not_and_who_can_help(
    workspace: Workspace, role: Role, path: str
) -> None:
    boss, gone = member(workspace, Role.ADMIN), member(workspace, Role.ADMIN)
    User.objects.filter(pk=gone.pk).update(is_active=False)
    page = browser_of(member(workspace, role)).get(path)
    assert page.status_code == 403
    told = page.content.decode()
    assert f"{role} in {workspace.name}" in told
    assert boss.username in told
    assert gone.username not in told
    assert "agents:write" not in told
    assert 'name="password"' not in told, "to log in again is of no use"


def test_given_a_viewer_when_they_log_in_at_the_admin_then_they_are_told_why_not(
    workspace: Workspace,
) -> None:
    user = member(workspace, Role.VIEWER, password=PASSWORD)
    client = Client(headers={"host": "localhost"})
    data = {"username": user.username, "password": PASSWORD, "next": INDEX}
    page = client.post("/admin/login/", data, follow=True)
    assert page.status_code == 403
    assert workspace.name in page.content.decode()


def test_given_no_workspace_then_the_admin_says_whom_to_ask(database: None) -> None:
    page = browser_of(person()).get(INDEX)
    assert page.status_code == 403
    assert "administrators of this installation" in page.content.decode()


def test_given_an_editor_when_a_page_takes_an_admin_then_it_names_the_admins(
    workspace: Workspace,
) -> None:
    boss = member(workspace, Role.ADMIN)
    page = browser_of(member(workspace, Role.EDITOR)).get(reverse("admin:base_apikey_changelist"))
    assert page.status_code == 403
    assert boss.username in page.content.decode()


def leave(workspace: Workspace, user: User) -> None:
    remove_member(workspace, user, by=SYSTEM)


def become_viewer(workspace: Workspace, user: User) -> None:
    save_member(workspace, user, Role.VIEWER, by=SYSTEM)


@pytest.mark.parametrize("change", [leave, become_viewer])
def test_given_an_editor_when_they_lose_the_role_then_the_next_request_is_refused(
    workspace: Workspace, change: Any
) -> None:
    user = member(workspace, Role.EDITOR)
    client = browser_of(user)
    agent = Agent.objects.get(workspace=workspace, name="writer")
    url = reverse("admin:agents_agent_change", args=[agent.pk])
    form = filled(client.get(url)) | {"description": "Too late."}
    change(workspace, user)
    assert client.get(INDEX).status_code == 403
    assert client.post(url, form).status_code == 403
    agent.refresh_from_db()
    assert agent.description != "Too late."


def test_given_an_editor_whose_account_is_closed_then_they_have_to_log_in(
    workspace: Workspace,
) -> None:
    user = member(workspace, Role.EDITOR)
    client = browser_of(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert client.get(INDEX).status_code == 302


# -------------------------------------------------------------------------------- two memberships


@pytest.fixture
def both(workspace: Workspace, other: Workspace) -> User:
    """An admin here, a viewer there."""
    user = member(workspace, Role.ADMIN)
    Membership.objects.create(workspace=other, user=user, role=Role.VIEWER)
    return user


def test_given_two_roles_then_each_page_has_the_buttons_of_its_workspace(
    workspace: Workspace, other: Workspace, both: User
) -> None:
    client = browser_of(both)
    listed = client.get(reverse("admin:agents_agent_changelist"))
    seen = {agent.workspace for agent in listed.context["cl"].result_list}
    assert seen == {workspace, other}
    for where, may in ((workspace, True), (other, False)):
        agent = Agent.objects.get(workspace=where, name="writer")
        page = client.get(reverse("admin:agents_agent_change", args=[agent.pk]))
        assert page.status_code == 200
        assert page.context["has_change_permission"] is may
        assert (b'name="_save"' in page.content) is may
        stop = reverse("admin:agents_agent_stop_agent", args=[agent.pk])
        assert (stop in page.content.decode()) is may
    own = client.get(reverse("admin:base_membership_changelist"))
    people = {row.workspace for row in own.context["cl"].result_list}
    assert people == {workspace, other}


def test_given_two_roles_then_a_row_offers_nothing_that_would_be_refused(
    workspace: Workspace, other: Workspace, both: User
) -> None:
    for one in (workspace, other):
        save_provider_account(
            ProviderAccount(workspace=one, provider="openai"), key="sk-" + "x" * 40
        )
    mine, theirs = (ProviderAccount.objects.get(workspace=one) for one in (workspace, other))
    listed = browser_of(both).get(reverse("admin:base_provideraccount_changelist"))
    check = "admin:base_provideraccount_check_now"
    assert reverse(check, args=[theirs.pk]) not in listed.content.decode()
    page = browser_of(both).get(reverse("admin:base_provideraccount_change", args=[mine.pk]))
    assert reverse(check, args=[mine.pk]) in page.content.decode()
    Membership.objects.filter(workspace=other, user=both).update(role=Role.ADMIN)
    listed = browser_of(both).get(reverse("admin:base_provideraccount_changelist"))
    assert reverse(check, args=[theirs.pk]) in listed.content.decode()


# --------------------------------------------------------------- what stays the installation's


def test_given_an_admin_who_is_not_staff_then_choices_of_the_installation_are_closed(
    workspace: Workspace,
) -> None:
    client = browser_of(member(workspace, Role.ADMIN))
    asked = {"app_label": "base", "model_name": "membership", "field_name": "user", "term": "a"}
    assert client.get(reverse("admin:autocomplete"), asked).status_code == 403
    kind = "r/7/1/"  # a content type and an id: it would tell whether such a row is there
    assert client.get(INDEX + kind).status_code == 404
    root = User.objects.create(username=f"s-{new_id().hex[-10:]}", is_superuser=True)
    for page in ("change", "history", "delete"):
        answer = client.get(reverse(f"admin:auth_user_{page}", args=[root.pk]))
        assert answer.status_code in (302, 403)  # as for an id that nobody has
        assert root.username not in answer.content.decode()
    assert client.get(reverse("admin:auth_user_password_change", args=[root.pk])).status_code == 403


def test_given_an_admin_of_a_workspace_when_they_look_then_superusers_keep_their_scope(
    workspace: Workspace,
) -> None:
    url = reverse("admin:base_apikey_add")
    root = User.objects.create(username=f"s-{new_id().hex[-10:]}", is_superuser=True)
    for user, offered in ((member(workspace), False), (root, True), (member(workspace), False)):
        form = browser_of(user).get(url).context["adminform"].form
        field = form.fields["scopes"]
        for choices in (field.choices, field.widget.choices):  # what is taken, what is rendered
            assert (OPERATORS_SCOPE in {name for name, _ in choices}) is offered
