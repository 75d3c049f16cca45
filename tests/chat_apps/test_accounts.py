"""An account in Slack is linked to a member by a code that the member has, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db.models.functions import Now

from agents.actions.ask_in_chat import ask_in_chat
from agents.actions.chat_apps import check_chat_app, make_code, save_chat_app, unlink_account
from agents.chat_apps.adapter import ChatError
from agents.errors import ChatAppConflictError
from agents.models import ChatAccount, ChatApp
from heartbit_site.base import secrets
from heartbit_site.base.access import access_of_user
from heartbit_site.base.audit import SYSTEM, actor_of
from heartbit_site.base.errors import ConfigurationError, ForbiddenError
from heartbit_site.base.models import AuditEntry
from heartbit_site.cli.doctor import work
from tests.chat_apps.people import link, linked, send
from tests.chat_apps.slack_server import APP, BOT, SECRET, command
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.chat_apps.slack_server import Slack


def test_a_code_links_once_and_expires(app: ChatApp) -> None:
    user = member(app.workspace, "operator")
    access = access_of_user(user, app.workspace.slug)
    code = make_code(access, app)
    assert code.text not in str(ChatAccount.objects.filter(app=app).values())
    for wrong in ("AAAAAAAAAAAA", "", code.text[:-1]):
        assert "is not known here" in send(app, command(wrong, "UEVE"))["text"]
    link_text = f"link {code.text[:4]}-{code.text[4:8]}-{code.text[8:]}".lower()
    assert "now decides as" in send(app, command(link_text, "UANN"))["text"]
    assert "is not known here" in send(app, command(code.text, "UEVE"))["text"]
    assert send(app, command("", "UANN"))["text"] == f"This account decides as {user.username}."
    second = make_code(access, app)  # the link ends with the wish for another
    assert ChatAccount.objects.get(app=app).external_id == ""
    ChatAccount.objects.filter(app=app).update(code_expires_at=Now())
    assert "is not known here" in send(app, command(second.text, "UANN"))["text"]
    entries = AuditEntry.objects.filter(workspace=app.workspace, action="chat_account.link")
    assert [(one.actor, one.via) for one in entries] == [(user.username, "chat")]


def test_an_account_decides_as_one_member_alone(app: ChatApp) -> None:
    ann = linked(app, "USHARED")
    ben = member(app.workspace, "operator")
    link(app, ben, "USHARED")
    rows = ChatAccount.objects.filter(app=app, external_id="T0TEAM:USHARED")
    assert [one.user for one in rows] == [ben]
    assert ann != ben


def test_only_people_who_may_decide_link_and_only_managers_unlink_others(
    app: ChatApp, workspace: Workspace
) -> None:
    viewer = access_of_user(member(workspace, "viewer"), workspace.slug)
    with pytest.raises(ForbiddenError):
        make_code(viewer, app)
    linked(app, "UANN")
    row = ChatAccount.objects.select_related("app__workspace", "user").get(app=app)
    other = access_of_user(member(workspace, "operator"), workspace.slug)
    with pytest.raises(ForbiddenError):
        unlink_account(row, by=actor_of(other))
    manager = access_of_user(member(workspace, "admin"), workspace.slug)
    unlink_account(row, by=actor_of(manager))
    assert not ChatAccount.objects.filter(app=app).exclude(external_id="").exists()


def test_who_is_linked_later_is_asked_what_waits_still(
    app: ChatApp, slack: Slack, workspace: Workspace
) -> None:
    unserved(workspace)
    assert ask_in_chat() == 0
    linked(app, "UANN")
    assert ask_in_chat() == 1


def test_settings_are_checked_and_secrets_are_encrypted(app: ChatApp, slack: Slack) -> None:
    stored = ChatApp.objects.get(pk=app.pk)
    assert BOT not in stored.bot_token
    assert secrets.reveal(stored, "bot_token") == BOT
    for wrong, given in (
        ({"name": " "}, {}),
        ({"place": "#ops"}, {}),
        ({"api_url": "https://elsewhere.example/api"}, {}),  # the stored token would be sent there
        ({}, {"bot_token": ""}),
        ({}, {"bot_token": "xoxb\n1"}),
        ({}, {"signing_secret": "é"}),
    ):
        row = ChatApp.objects.get(pk=app.pk)
        for name, value in wrong.items():
            setattr(row, name, value)
        with pytest.raises(ConfigurationError):
            save_chat_app(row, given, by=SYSTEM)
    twin = ChatApp(workspace=app.workspace, name=app.name)
    with pytest.raises(ChatAppConflictError):
        save_chat_app(twin, {"bot_token": BOT}, by=SYSTEM)
    details = str(AuditEntry.objects.filter(workspace=app.workspace).values_list("details"))
    assert not any(secret in details for secret in (BOT, SECRET, APP))


def test_a_check_says_who_the_app_is_or_why_its_token_is_refused(
    app: ChatApp, slack: Slack
) -> None:
    assert check_chat_app(app, by=SYSTEM) == "heartbit in Ours"
    save_chat_app(app, {"bot_token": "xoxb-another"}, by=SYSTEM)
    with pytest.raises(ChatError, match="invalid_auth"):
        check_chat_app(app, by=SYSTEM)
    app.refresh_from_db()
    assert app.last_error == "Slack refused auth.test: invalid_auth."
    [look] = [one for one in work.LOOKS if "chat_apps" in one.__name__]
    [check] = [one for one in look() if one.name == "chat app our Slack"]
    assert (check.status, check.detail) == ("fail", app.last_error)
