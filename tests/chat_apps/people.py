"""Members whose accounts in Slack are linked, and what they do there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from agents.actions.chat_apps import make_code
from agents.actions.decide_in_chat import receive_request
from heartbit_site.base.access import access_of_user
from tests.chat_apps.slack_server import command, form, signed
from tests.web.people import member

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from agents.models import ChatApp


def send(app: ChatApp, payload: dict[str, Any], **how: Any) -> dict[str, Any]:
    """Send a payload as Slack does, and return the answer."""
    body = form(payload)
    return receive_request(app, signed(body, **how), body, timezone.now())


def linked(app: ChatApp, slack_user: str, role: str = "operator") -> User:
    """A member who has linked this account of Slack."""
    user = member(app.workspace, role)
    link(app, user, slack_user)
    return user


def link(app: ChatApp, user: User, slack_user: str) -> None:
    code = make_code(access_of_user(user, app.workspace.slug), app)
    said = send(app, command(code.text, slack_user))
    assert said["text"].startswith(f"This account now decides as {user.username}")
