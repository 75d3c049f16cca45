"""The page of one's own account, which every role opens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from agents.actions.chat_apps import link_account, save_chat_app
from agents.actions.decide_call import Always, approve_call
from agents.chat_apps.adapter import ChatCommand
from agents.models import ChatAccount, ChatApp, Grant
from heartbit_site.base.actions.api_keys import authenticate_api_key, create_api_key
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import ApiKey, AuditEntry, Role
from tests.admin import rows
from tests.clients import Client
from tests.web.axe import serious
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

OLD, NEW = "an old pass phrase", "a new pass phrase"


def browser(user: User) -> Client:
    client = Client(headers={"host": "localhost"})
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(user)
    return client


def allowed(workspace: Workspace, user: User) -> Grant:
    """What the person allowed for every run of the agent."""
    call = rows.asking(workspace)
    by = Actor(user.username, "web", user.pk)
    approve_call(call, digest=call.digest, by=by, always=Always("agent"))
    return Grant.objects.latest("pk")


@pytest.mark.django_db
@pytest.mark.parametrize("role", Role.values)
def test_everybody_changes_their_own_password(workspace: Workspace, role: str) -> None:
    user = member(workspace, role, password=OLD)
    here, elsewhere, path = browser(user), browser(user), f"/w/{workspace.slug}/account/"
    given = {"do": "password", "old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    for wrong in ({"old_password": "x"}, {"new_password2": "x"}, dict.fromkeys(given, "abc")):
        refused = here.post(path, given | wrong | {"do": "password"})
        assert refused.status_code == 409, wrong
        assert OLD not in refused.content.decode()
    user.refresh_from_db()
    assert user.check_password(OLD)
    assert here.post(path, given).status_code == 302
    user.refresh_from_db()
    assert user.check_password(NEW)
    assert here.get(path).status_code == 200, "this session goes on"
    assert elsewhere.get(path).status_code == 302, "the others end"
    entry = AuditEntry.objects.get(action="user.password", target=f"user:{user.pk}")
    assert (entry.actor, entry.via) == (user.username, "web")


@pytest.mark.django_db
def test_an_open_session_cannot_guess_the_password(workspace: Workspace) -> None:
    user = member(workspace, Role.VIEWER, password=OLD)
    client, path = browser(user), f"/w/{workspace.slug}/account/"
    given = {"do": "password", "new_password1": NEW, "new_password2": NEW}
    for _ in range(settings.AXES_FAILURE_LIMIT):
        client.post(path, given | {"old_password": "a guess"})
    assert client.post(path, given | {"old_password": OLD}).status_code == 429
    user.refresh_from_db()
    assert user.check_password(OLD)


@pytest.mark.django_db
def test_a_person_sees_and_revokes_what_they_allowed_and_nothing_of_others(
    workspace: Workspace,
) -> None:
    anne, bob = member(workspace, Role.OPERATOR), member(workspace, Role.OPERATOR)
    mine, other = allowed(workspace, anne), allowed(workspace, bob)
    path, client = f"/w/{workspace.slug}/account/", browser(anne)
    page = client.get(path).content.decode()
    assert f'value="{mine.pk}"' in page and f'value="{other.pk}"' not in page
    assert client.post(path, {"do": "revoke", "id": str(other.pk)}).status_code == 302
    anne.memberships.update(role=Role.VIEWER)  # who may no longer decide may still take back
    assert client.post(path, {"do": "revoke", "id": str(mine.pk)}).status_code == 302
    mine.refresh_from_db()
    other.refresh_from_db()
    assert mine.revoked_at is not None and other.revoked_at is None
    assert f'value="{mine.pk}"' not in client.get(path).content.decode()
    entry = AuditEntry.objects.get(workspace=workspace, action="grant.revoke")
    assert (entry.actor, entry.target) == (anne.username, f"grant:{mine.pk}")


@pytest.mark.django_db
def test_a_person_makes_and_revokes_keys_of_their_own(workspace: Workspace) -> None:
    anne, bob = member(workspace, Role.OPERATOR), member(workspace, Role.OPERATOR)
    other, _ = create_api_key(workspace, "of bob", scopes=["runs:read"], user=bob)
    path, client = f"/w/{workspace.slug}/account/", browser(anne)
    form = client.get(path).content.decode()
    assert 'value="runs:write" checked' in form
    assert "workspace:manage" not in form and "of bob" not in form
    given = {"do": "make-key", "name": "laptop", "scope": ["runs:read"], "days": "30"}
    bad: list[dict[str, Any]] = [{"name": ""}, {"scope": ["workspace:manage"]}, {"days": "x"}]
    for wrong in [*bad, {"scope": []}]:
        refused = client.post(path, given | wrong)
        assert (refused.status_code, b"hb_" in refused.content) == (409, False), wrong
    shown = client.post(path, given)
    row = ApiKey.objects.get(workspace=workspace, user=anne)
    assert shown.status_code == 200
    key = next(word for word in re.split("[<>]", shown.content.decode()) if word.startswith("hb_"))
    found = authenticate_api_key(key)
    assert found is not None and (found.pk, found.scopes) == (row.pk, ["runs:read"])
    assert key not in client.get(path).content.decode(), "it is shown once"
    refused = client.post(path, {"do": "revoke-key", "prefix": other.beginning})
    assert refused.status_code == 409
    ended = client.post(path, {"do": "revoke-key", "prefix": row.beginning})
    assert ended.status_code == 302
    assert authenticate_api_key(key) is None
    other.refresh_from_db()
    assert other.revoked_at is None
    entries = AuditEntry.objects.filter(workspace=workspace, target=f"api_key:{row.pk}")
    assert list(entries.order_by("number").values_list("action", "actor")) == [
        ("api_key.create", anne.username),
        ("api_key.revoke", anne.username),
    ]


def test_an_account_without_permissions_and_address_is_told_so(workspace: Workspace) -> None:
    user = member(workspace, Role.VIEWER)
    page = browser(user).get(f"/w/{workspace.slug}/account/").content.decode()
    assert "You have not always allowed any tool." in page and "Every call waits" not in page
    assert "<dd>none: a superuser can add one</dd>" in page


def test_the_login_page_names_the_command_for_a_lost_password(client: Client) -> None:
    assert "<code>heartbit users password admin</code>" in client.get("/login/").content.decode()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_reached_from_the_frame_and_accessible(
    visitors: Visitors, workspace: Workspace, width: int
) -> None:
    user = member(workspace, Role.OPERATOR, password=OLD)
    allowed(workspace, user)
    visitor = visitors(user=user, width=width)
    visitor.go("runs/")
    if width < 500:
        visitor.page.get_by_role("button", name="More").click()
    visitor.page.get_by_role("navigation", name="Main").get_by_text(user.username).click()
    visitor.page.get_by_role("link", name="Account").click()
    visitor.page.get_by_role("heading", name="Your account").wait_for()
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not visitor.page.evaluate(wide)
    assert [*map(str, serious(visitor.page))] == []


@pytest.mark.django_db
def test_a_code_for_a_chat_app_is_shown_once_and_a_link_is_ended(workspace: Workspace) -> None:
    app = ChatApp(workspace=workspace, name="our Slack")
    save_chat_app(app, {"bot_token": "xoxb-1", "signing_secret": "s"}, by=SYSTEM)
    user = member(workspace, "operator")
    here, path = browser(user), f"/w/{workspace.slug}/account/"
    assert "not linked" in here.get(path).content.decode()
    shown = here.post(path, {"do": "link", "id": str(app.pk)}).content.decode()
    found = re.search(r"<code>/heartbit ([A-Z2-9]{12})</code>", shown)
    assert found
    assert found[1] not in here.get(path).content.decode()
    link_account(app, ChatCommand("T1:U1", found[1]))
    assert "decides as you" in here.get(path).content.decode()
    assert here.post(path, {"do": "unlink", "id": str(app.pk)}).status_code == 302
    assert not ChatAccount.objects.filter(app=app).exclude(external_id="").exists()
    viewer = browser(member(workspace, "viewer"))
    assert "your role decides nothing" in viewer.get(path).content.decode()
    assert viewer.post(path, {"do": "link", "id": str(app.pk)}).status_code == 409
