"""Channels in the admin: made, their secret shown once, changed, and what is wrong said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.models import AuditEntry, Role
from tests.clients import Client
from tests.inbound.posts import channel_of
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db
PLACE = "admin:agents_channel"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
PASSWORD = "canary-81c2"


@pytest.fixture
def browser(workspace: Workspace) -> Client:
    user = member(workspace, Role.ADMIN)
    user.is_staff = True
    user.save()
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def form(workspace: Workspace, **fields: Any) -> dict[str, Any]:
    """A mailbox, as the form sends it."""
    return {
        "workspace": workspace.pk,
        "name": "support",
        "kind": "email",
        "agent": "writer",
        "enabled": "on",
        "hourly_limit": "60",
        "from_whom": "ada@example.org\n@example.com",
        "reply": "on",
        "imap_host": "imap.example.org",
        "imap_port": "993",
        "imap_security": "tls",
        "imap_user": "support",
        "password": PASSWORD,
        "imap_folder": "INBOX",
        "deliver": "",
        "mapping": "",
        **fields,
    }


def said(response: Any) -> str:
    page: str = response.content.decode()
    return page


def made(browser: Client, workspace: Workspace) -> Channel:
    assert browser.post(reverse(f"{PLACE}_add"), form(workspace)).status_code == 302
    return Channel.objects.get(workspace=workspace, name="support")


def changed(browser: Client, channel: Channel, **fields: Any) -> str:
    page = reverse(f"{PLACE}_change", args=[channel.pk])
    data = form(channel.workspace, password="", **fields)
    return said(browser.post(page, data, follow=True))


def test_one_is_made_and_its_secrets_are_shown_once_or_never(
    browser: Client, workspace: Workspace
) -> None:
    shown = said(browser.post(reverse(f"{PLACE}_add"), form(workspace), follow=True))
    assert len(SECRET.findall(shown)) == 1
    channel = Channel.objects.get(workspace=workspace)
    assert channel.senders == ["ada@example.org", "@example.com"]
    assert secrets.reveal(channel, "imap_password") == PASSWORD
    page = said(browser.get(reverse(f"{PLACE}_change", args=[channel.pk])))
    assert "Empty: the present one is kept." in page
    assert channel.path in page
    assert not {PASSWORD, "whsec_"} & set(re.findall(r"[\w-]+", page))
    browser.post(reverse(f"{PLACE}_rotate", args=[channel.pk]), {"_form_submitted": "True"})
    renewed = said(browser.get(reverse(f"{PLACE}_change", args=[channel.pk])))
    assert len(SECRET.findall(renewed)) == 1
    browser.post(reverse(f"{PLACE}_delete", args=[channel.pk]), {"post": "yes"})
    assert not Channel.objects.filter(workspace=workspace).exists()
    actions = AuditEntry.objects.filter(chain=workspace.pk, action__startswith="channel.")
    assert list(actions.order_by("number").values_list("action", flat=True)) == [
        *("channel.create", "channel.rotate", "channel.remove"),
    ]
    assert PASSWORD not in str(list(actions.values_list("details", flat=True)))


def test_what_cannot_be_is_said_on_the_page(browser: Client, workspace: Workspace) -> None:
    channel_of(workspace, name="tickets")
    channel = made(browser, workspace)
    assert "already has a channel named tickets" in changed(browser, channel, name="tickets")
    assert "enter its password as well" in changed(browser, channel, imap_host="evil.example.net")
    assert "no agent" in changed(browser, channel, agent="nobody")
    assert "valid sender" in changed(browser, channel, from_whom="somebody")
    channel.refresh_from_db()
    assert (channel.name, channel.imap_host, channel.agent) == (
        *("support", "imap.example.org"),
        "writer",
    )


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("agent", {"agent": "nobody"}),
        ("from_whom", {"from_whom": "somebody"}),
        ("imap_user", {"imap_user": ""}),
        ("deliver", {"deliver": '[{"kind": "webhook", "endpoint": 999999}]'}),
        ("mapping", {"kind": "webhook", "from_whom": "", "imap_host": "", "mapping": '{"a": 1}'}),
        ("__all__", {"kind": "webhook", "imap_host": ""}),  # of a field that is not shown then
    ],
)
def test_what_cannot_be_is_said_beside_its_field(
    browser: Client, workspace: Workspace, field: str, fields: dict[str, Any]
) -> None:
    page = browser.post(reverse(f"{PLACE}_add"), form(workspace, **fields))
    assert list(page.context["adminform"].form.errors) == [field]


def test_a_mailbox_is_given_up_and_its_password_with_it(
    browser: Client, workspace: Workspace
) -> None:
    channel = made(browser, workspace)
    changed(browser, channel, imap_host="")
    channel.refresh_from_db()
    assert (channel.imap_host, channel.imap_password) == ("", "")


def test_a_folder_is_another_mailbox_that_counts_from_now(
    browser: Client, workspace: Workspace
) -> None:
    channel = made(browser, workspace)
    Channel.objects.filter(pk=channel.pk).update(uid_validity=7, last_uid=9, last_error="No.")
    changed(browser, channel, name="Support")
    channel.refresh_from_db()
    assert (channel.uid_validity, channel.last_uid, channel.last_error) == (7, 9, "")
    changed(browser, channel, name="Support", imap_folder="Tickets")
    channel.refresh_from_db()
    assert (channel.uid_validity, channel.last_uid) == (None, 0)
    assert secrets.reveal(channel, "imap_password") == PASSWORD
