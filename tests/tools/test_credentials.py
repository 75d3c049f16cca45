"""Credentials: stored encrypted, chosen for a call, and given to its tool alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth import get_user_model

from heartbit_site.base.audit import Actor
from heartbit_site.base.credentials import (
    ApiKeyCredential,
    BearerCredential,
    SmtpCredential,
)
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.toolspec import ToolSpec, spec_of
from tools.actions.credentials import save_credential
from tools.credentials.choice import NoCredentialError, choose
from tools.credentials.values import reveal
from tools.models import Credential

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

ANNE = Actor("anne", via="admin")
TOKEN = "tok-5f2c-canary"
URL = "https://api.example.com/v1"


def charge(bank: BearerCredential | ApiKeyCredential, amount: int) -> str:
    """Charge the customer."""
    return f"{bank.kind} {amount}"


CHARGE = spec_of(charge)


def saved(workspace: Workspace, name: str, user: Any = None, **more: Any) -> Credential:
    row = Credential(workspace=workspace, user=user, name=name, kind=more.pop("kind", "bearer"))
    save_credential(row, {"url": URL, "token": TOKEN} | more, by=ANNE)
    return row


def chosen(workspace: Workspace, spec: ToolSpec = CHARGE, user: Any = None, name: str = "") -> str:
    names = {"bank": name} if name else {}
    user_id = None if user is None else user.pk
    found = choose(spec, workspace_id=workspace.pk, user_id=user_id, names=names)
    return found["bank"].name if found else ""


def test_secrets_are_encrypted_and_appear_nowhere_else(workspace: Workspace) -> None:
    row = saved(workspace, "bank")
    row.refresh_from_db()
    assert row.settings == {"url": URL}
    assert TOKEN not in row.secret
    value = reveal(row)
    assert isinstance(value, BearerCredential)
    assert value.token.get_secret_value() == TOKEN
    assert TOKEN not in repr(value)
    added = AuditEntry.objects.filter(action="credential.add", workspace=workspace)
    entries = [str(entry.details) for entry in added]
    assert len(entries) == 1
    assert TOKEN not in entries[0]
    assert "not shown" in entries[0]


def test_an_empty_secret_keeps_the_present_one_unless_it_would_go_elsewhere(
    workspace: Workspace,
) -> None:
    row = saved(workspace, "bank")
    save_credential(row, {"token": ""}, by=ANNE)
    value = reveal(Credential.objects.get(pk=row.pk))
    assert isinstance(value, BearerCredential)
    assert value.token.get_secret_value() == TOKEN
    with pytest.raises(ConfigurationError, match="Enter token again: url changed") as refused:
        save_credential(row, {"url": "https://evil.example"}, by=ANNE)
    assert refused.value.field == "token"
    assert Credential.objects.get(pk=row.pk).settings == {"url": URL}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"token": TOKEN}, "Bearer token needs url."),
        ({"url": "ftp://x", "token": TOKEN}, "url: write it like https://api.example.com/v1."),
        (
            {"url": URL, "token": TOKEN, "user": "x"},
            "Bearer token has no user; it has: url, token.",
        ),
    ],
)
def test_a_wrong_field_is_named_without_its_value(
    workspace: Workspace, fields: dict[str, object], sentence: str
) -> None:
    row = Credential(workspace=workspace, name="bank", kind="bearer")
    with pytest.raises(ConfigurationError) as refused:
        save_credential(row, fields, by=ANNE)
    assert str(refused.value) == sentence
    assert TOKEN not in str(refused.value)
    assert not Credential.objects.filter(name="bank").exists()


def test_two_credentials_of_a_workspace_cannot_share_a_name(workspace: Workspace) -> None:
    saved(workspace, "bank")
    with pytest.raises(ConflictError, match="Another credential has the name 'bank'"):
        saved(workspace, "bank")
    saved(workspace, "bank", get_user_model().objects.create(username="bert"))


def test_the_only_one_that_fits_is_used_and_a_person_s_own_comes_first(
    workspace: Workspace,
) -> None:
    bert, carl = (get_user_model().objects.create(username=name) for name in ("bert", "carl"))
    saved(workspace, "bank")
    assert chosen(workspace) == "bank"
    saved(workspace, "own bank", bert)
    assert chosen(workspace, user=bert) == "own bank"
    assert chosen(workspace, user=carl) == "bank", "nobody else's own is used"
    saved(workspace, "bank", bert)
    assert chosen(workspace, user=bert, name="bank") == "bank"
    with pytest.raises(NoCredentialError, match=r"several credentials \(bank, own bank\): choose"):
        chosen(workspace, user=bert)


def test_a_call_without_its_credential_is_answered_with_what_to_add(
    workspace: Workspace,
) -> None:
    with pytest.raises(NoCredentialError) as refused:
        chosen(workspace)
    assert str(refused.value) == (
        "charge needs a credential that the workspace does not have: add one of the type "
        "Bearer token or API key in a header under Credentials in the admin, or with "
        "`heartbit credentials add`."
    )
    row = saved(workspace, "bank")
    row.enabled = False
    save_credential(row, {}, by=ANNE)
    with pytest.raises(NoCredentialError, match="needs the credential 'bank', which the workspace"):
        chosen(workspace, name="bank")


def test_an_optional_one_may_be_missing(workspace: Workspace) -> None:
    def notify(mail: SmtpCredential | None, text: str) -> str:
        """Notify."""
        return text

    assert chosen(workspace, spec_of(notify)) == ""


@pytest.mark.parametrize(
    ("url", "covered"),
    [
        ("https://api.example.com/v1", True),
        ("https://api.example.com/v1/runs?x=1", True),
        ("https://API.example.com:443/v1/runs", True),
        ("https://api.example.com/v10", False),
        ("https://api.example.com/", False),
        ("http://api.example.com/v1/runs", False),
        ("https://api.example.com:8443/v1/runs", False),
        ("https://api.example.com.evil.example/v1/", False),
        ("https://api.example.com@evil.example/v1/", False),
        ("https://api.example.com/v1/../admin", False),
        ("https://api.example.com/v1/%2e%2e/admin", False),
        ("https://api.example.com/v1/..%2fadmin", False),
        ("https://api.example.com/v1\\..\\admin", False),
        ("https://[", False),
    ],
)
def test_a_credential_goes_only_to_urls_below_its_own(url: str, covered: bool) -> None:  # noqa: FBT001
    assert BearerCredential(url=URL, token=TOKEN).covers(url) is covered
