"""Credentials in the admin: the form of each type; secrets go in and never come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from heartbit_site.base.credentials import SmtpCredential, entered_types
from heartbit_site.base.models import AuditEntry, Workspace
from tests.admin.forms import filled_undrawn
from tools.credentials.values import reveal
from tools.models import Credential

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db

CANARY = "pw-canary-0123456789abcdef"
PAGE = "/admin/tools/credential/"
NEW = f"{PAGE}add/?kind=smtp"


@pytest.fixture
def bare(db: None) -> Workspace:
    return Workspace.objects.create(slug="bare-of-tests", name="Bare")


def entered(browser: Client, bare: Workspace, **more: object) -> dict[str, Any]:
    given = {
        "workspace": bare.pk,
        "name": "support mail",
        "field_host": "mail.example.com",
        "field_sender": "support@example.com",
        "field_username": "support",
        "field_password": CANARY,
    }
    return filled_undrawn(browser, NEW) | given | more


def added(browser: Client, bare: Workspace) -> Credential:
    response = browser.post(NEW, entered(browser, bare), follow=True)
    assert CANARY not in response.content.decode()
    return Credential.objects.get(workspace=bare)


def wrong(response: Any) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = response.context["adminform"].form.errors
    return errors


def change_page(row: Credential) -> str:
    return reverse("admin:tools_credential_change", args=[row.pk])


def test_the_types_are_offered_and_each_has_a_form(browser: Client) -> None:
    chooser = browser.get(f"{PAGE}add/").content.decode()
    for kind, known in entered_types().items():
        assert f"?kind={kind}" in chooser
        form = browser.get(f"{PAGE}add/?kind={kind}").content.decode()
        for name in known.model_fields:
            assert f'name="field_{name}"' in form


def test_a_new_credential_is_stored_encrypted_and_shown_nowhere(
    browser: Client, bare: Workspace
) -> None:
    made = added(browser, bare)
    value = reveal(made)
    assert isinstance(value, SmtpCredential)
    assert (value.host, value.port, value.security) == ("mail.example.com", 587, "starttls")
    assert value.password.get_secret_value() == CANARY
    for url in (PAGE, change_page(made), f"{change_page(made)[:-7]}history/"):
        text = browser.get(url).content.decode()
        assert CANARY not in text, url
        assert made.secret not in text, url
    assert CANARY not in str(list(LogEntry.objects.values()))
    added_here = AuditEntry.objects.filter(action="credential.add", workspace=bare)
    entries = added_here.values_list("details", flat=True)
    assert len(entries) == 1, "the verb's entry is the only one"
    assert CANARY not in str(entries)


def test_an_empty_secret_stays_and_another_server_wants_it_again(
    browser: Client, bare: Workspace
) -> None:
    made = added(browser, bare)
    data = filled_undrawn(browser, change_page(made)) | {"field_sender": "hello@example.com"}
    browser.post(change_page(made), data)
    value = reveal(Credential.objects.get(pk=made.pk))
    assert isinstance(value, SmtpCredential)
    assert (value.sender, value.password.get_secret_value()) == ("hello@example.com", CANARY)
    moved = browser.post(change_page(made), data | {"field_host": "evil.example"})
    assert wrong(moved) == {
        "field_password": [
            "Enter password again: host changed, and a secret is sent only to the address that "
            "it was entered for."
        ]
    }
    assert Credential.objects.get(pk=made.pk).settings["host"] == "mail.example.com"


def test_a_wrong_value_is_named_at_its_field(browser: Client, bare: Workspace) -> None:
    response = browser.post(NEW, entered(browser, bare, field_port=70_000))
    assert list(wrong(response)) == ["field_port"]
    assert not Credential.objects.filter(workspace=bare).exists()
    added(browser, bare)
    again = browser.post(NEW, entered(browser, bare))
    assert wrong(again) == {
        "name": ["Another credential has the name 'support mail': choose another name."]
    }


def test_a_credential_is_deleted_with_its_audit(browser: Client, bare: Workspace) -> None:
    made = added(browser, bare)
    browser.post(f"{change_page(made)[:-7]}delete/", {"post": "yes"})
    assert not Credential.objects.filter(pk=made.pk).exists()
    entries = AuditEntry.objects.filter(action="credential.delete", workspace=bare)
    assert entries.count() == 1
