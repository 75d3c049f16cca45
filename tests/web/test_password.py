"""A forgotten password: a link by mail, the same answer for everybody, once and for an hour."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from heartbit_site.base.actions.reset_password import ASKED, mail_password_links
from heartbit_site.base.models import AuditEntry

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db
NEW = "a-long-new-password-91"


@pytest.fixture
def ann(settings: Settings) -> User:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    name = f"ann-{secrets.token_hex(4)}"
    return User.objects.create_user(name, f"{name}@example.org", "the-old-password-17")


def client() -> Client:
    """A browser at an address of its own: requests of one are limited."""
    return Client(REMOTE_ADDR=f"203.0.{secrets.randbelow(250)}.{secrets.randbelow(250)}")


def asked(user: User) -> int:
    return AuditEntry.objects.filter(action=ASKED, target=f"user:{user.pk}").count()


def link_of(user: User) -> str:
    assert mail_password_links(user.email) == 1
    letter = mail.outbox[-1]
    assert letter.to == [user.email]
    found = re.search(r"https?://[^/]+(/password/\S+)", str(letter.body))
    assert found
    return found[1]


def test_the_page_asks_the_database_alike_whether_there_is_an_account_or_not(ann: User) -> None:
    """By the statements, because the time itself is the machine's."""
    statements = []
    for address in (ann.email, f"nobody-{secrets.token_hex(4)}@example.org"):
        with CaptureQueriesContext(connection) as captured:
            assert client().post("/password/", {"email": address}).status_code == 302
        statements.append([one["sql"] for one in captured])
    assert statements[0] == statements[1] == []
    assert asked(ann) == 0, "a worker looks it up"


def test_everybody_is_answered_alike_and_a_person_is_mailed_once(ann: User) -> None:
    nobody = f"nobody-{secrets.token_hex(4)}@example.org"
    answers = [
        client().post("/password/", {"email": address}, follow=True)
        for address in (ann.email.upper(), nobody, "", "x\x00y", ann.email)
    ]
    assert {one.status_code for one in answers} == {200}
    assert len({one.content for one in answers}) == 1
    assert mail_password_links(nobody) == mail_password_links("") == 0
    assert [mail_password_links(ann.email.upper()) for _ in range(2)] == [1, 0]
    assert asked(ann) == 1, "the second request within five minutes sends nothing"


def test_one_address_asks_once_in_half_a_minute(ann: User) -> None:
    browser = client()
    assert browser.post("/password/", {"email": ann.email}).status_code == 302
    assert browser.post("/password/", {"email": ann.email}).status_code == 429


def test_a_link_sets_a_password_once_and_ends_sessions(ann: User) -> None:
    inside, browser = client(), client()
    inside.force_login(ann, backend="django.contrib.auth.backends.ModelBackend")
    link = link_of(ann)
    form = browser.get(link, follow=True)
    assert form.status_code == 200
    (page, _), *_ = form.redirect_chain
    weak = browser.post(page, {"new_password1": "short", "new_password2": "short"})
    assert "too short" in weak.content.decode()
    done = browser.post(page, {"new_password1": NEW, "new_password2": NEW}, follow=True)
    assert "Your password is changed" in done.content.decode()
    ann.refresh_from_db()
    assert ann.check_password(NEW)
    assert inside.get("/").headers["location"].startswith("/login/"), "its session has ended"
    assert "its time is over" in client().get(link, follow=True).content.decode()
    entry = AuditEntry.objects.get(action="user.password", target=f"user:{ann.pk}")
    assert (entry.actor, entry.via) == (ann.username, "email")


def test_no_link_for_an_account_without_password_or_that_is_closed(ann: User) -> None:
    ann.set_unusable_password()
    ann.save()
    assert mail_password_links(ann.email) == 0
    assert asked(ann) == 0
    ann.set_password(NEW)
    ann.is_active = False
    ann.save()
    assert mail_password_links(ann.email) == 0
