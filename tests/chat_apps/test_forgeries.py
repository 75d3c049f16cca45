"""Requests that Slack did not send for this app are refused, over HTTP, and decide nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.ask_in_chat import ask_in_chat
from agents.actions.chat_apps import make_code, save_chat_app
from agents.models import ChatAccount, ChatApp, Decision
from heartbit_site.base.access import access_of_user
from heartbit_site.base.audit import SYSTEM
from tests.api.conftest import caller  # noqa: F401  the fixture
from tests.chat_apps.people import linked
from tests.chat_apps.slack_server import BOT, SECRET, click, command, form, signed, verbs_of
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    import httpx

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.chat_apps.slack_server import Slack

OTHERS = "0" * 32


def sent(caller: Caller, app: ChatApp, body: bytes, headers: dict[str, str]) -> httpx.Response:  # noqa: F811
    """The bare request, without a key."""
    return caller.http.post(
        f"/chat-apps/{app.url_token}/events",
        content=body,
        headers={"Authorization": "", **headers},
    )


@pytest.fixture
def message(app: ChatApp, slack: Slack, workspace: Workspace) -> dict[str, Any]:
    linked(app, "UANN")
    unserved(workspace)
    ask_in_chat()
    return slack.posted()[0]


def test_given_a_signed_click_then_it_decides_and_a_replay_does_nothing(
    caller: Caller,  # noqa: F811
    app: ChatApp,
    slack: Slack,
    workspace: Workspace,
    message: dict[str, Any],
) -> None:
    body = form(click(message, "approve", "UANN"))
    headers = signed(body)
    first = sent(caller, app, body, headers)
    assert (first.status_code, first.content) == (200, b"")
    decisions = Decision.objects.filter(run__workspace=workspace)
    assert decisions.count() == 1
    again = sent(caller, app, body, headers)
    assert again.status_code == 200
    assert decisions.count() == 1


@pytest.mark.parametrize(
    "how",
    [
        {"secret": OTHERS},  # forged, or of another app or workspace
        {"secret": ""},
        {"age": 301.0},  # replayed later
        {"age": -301.0},
        {"drop": "x-slack-signature"},
        {"drop": "x-slack-request-timestamp"},
        {"set": ("x-slack-signature", "v0=" + "0" * 64)},
        {"set": ("x-slack-signature", "v1=é".encode().decode("latin-1"))},
        {"set": ("x-slack-request-timestamp", "1" * 30)},
        {"set": ("x-slack-request-timestamp", "-1")},
    ],
    ids=str,
)
def test_given_a_request_that_is_not_signed_so_then_it_is_refused(
    caller: Caller,  # noqa: F811
    app: ChatApp,
    workspace: Workspace,
    message: dict[str, Any],
    how: dict[str, Any],
) -> None:
    body = form(click(message, "approve", "UANN"))
    headers = signed(body, secret=how.get("secret", SECRET), age=how.get("age", 0.0))
    if "drop" in how:
        del headers[how["drop"]]
    if "set" in how:
        headers[how["set"][0]] = how["set"][1].encode("latin-1")
    refused = sent(caller, app, body, headers)
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_signature")
    assert not Decision.objects.filter(run__workspace=workspace).exists()


def test_given_a_changed_body_then_its_signature_is_no_longer_valid(
    caller: Caller,  # noqa: F811
    app: ChatApp,
    workspace: Workspace,
    message: dict[str, Any],
) -> None:
    body = form(click(message, "deny", "UBEN"))
    headers = signed(body)
    changed = form(click(message, "approve", "UANN"))
    assert sent(caller, app, changed, headers).status_code == 401
    assert not Decision.objects.filter(run__workspace=workspace).exists()


def test_given_an_app_that_is_not_there_or_takes_no_requests_then_the_answer_is_the_same(
    caller: Caller,  # noqa: F811
    app: ChatApp,
    message: dict[str, Any],
) -> None:
    body = form(click(message, "approve", "UANN"))
    wrong = sent(caller, app, body, signed(body, secret=OTHERS)).json()
    app.enabled = False
    save_chat_app(app, {}, by=SYSTEM)
    assert sent(caller, app, body, signed(body)).json() == wrong
    app.enabled = True
    save_chat_app(app, {"signing_secret": "", "app_token": "xapp-1"}, by=SYSTEM)
    assert sent(caller, app, body, signed(body, secret="")).json() == wrong  # the empty secret
    app.url_token = "there-is-none"
    assert sent(caller, app, body, signed(body)).json() == wrong


def test_given_what_asks_for_nothing_then_the_answer_is_empty(
    caller: Caller,  # noqa: F811
    app: ChatApp,
) -> None:
    for body in (b"", b"ssl_check=1", b"payload=%7B", b"payload=[1]", b"\xff\xfe=1", b"payload=1"):
        answered = sent(caller, app, body, signed(body))
        assert (answered.status_code, answered.content) == (200, b""), body


def test_given_a_command_over_http_then_the_answer_is_for_its_author_alone(
    caller: Caller,  # noqa: F811
    app: ChatApp,
) -> None:
    user = member(app.workspace, "operator")
    code = make_code(access_of_user(user, app.workspace.slug), app)
    body = form(command(code.text, "UANN"))
    said = sent(caller, app, body, signed(body)).json()
    assert said["response_type"] == "ephemeral"
    assert said["text"].startswith(f"This account now decides as {user.username}")
    assert ChatAccount.objects.get(app=app).external_id == "T0TEAM:UANN"


def test_no_secret_leaves_in_a_message_or_a_log(
    app: ChatApp, slack: Slack, message: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert verbs_of(message) == ["approve", "deny", "open"]
    for secret in (BOT, SECRET, app.url_token):
        assert secret not in str(slack.calls)
        assert secret not in caplog.text
