"""Provider accounts: the key is written, encrypted, moved to newer keys, and never shown."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from agents.actions.provider_accounts import save_provider_account
from heartbit_site.base import secrets
from heartbit_site.base.actions.rotate_secrets import rotate_secrets, secret_columns
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import AuditEntry, ProviderAccount, Workspace
from heartbit_site.base.secrets import SecretError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture(autouse=True)
def _undone(database: None) -> Iterator[None]:
    """Nothing stays: a rotation looks at every secret there is, also at other tests'."""
    with transaction.atomic():
        for model, _ in secret_columns():
            model._default_manager.all().delete()
        yield
        transaction.set_rollback(True)


def account(workspace: Workspace, provider: str = "openai", **fields: object) -> ProviderAccount:
    made = ProviderAccount(workspace=workspace, provider=provider, **fields)
    save_provider_account(made, key=CANARY)
    return ProviderAccount.objects.get(pk=made.pk)


def raw_column(row: ProviderAccount) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT a::text FROM base_provideraccount a WHERE id = %s", [row.pk])
        (text,) = cursor.fetchone()
    return str(text)


def test_a_saved_key_can_be_read_and_is_nowhere_in_its_row(workspace: Workspace) -> None:
    made = account(workspace)
    assert secrets.reveal(made, "secret") == CANARY
    assert made.key_hint == "cdef"
    assert CANARY not in raw_column(made)
    assert "canary" not in raw_column(made)


def test_repr_str_and_logs_never_hold_the_key(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        made = account(workspace, label="production")
        logging.getLogger("test").info("saved %r %s", made, made)
    assert str(made) == "openai (production)"
    assert "saved" in caplog.text
    assert "canary" not in caplog.text


def test_of_a_short_key_no_hint_is_kept(workspace: Workspace) -> None:
    made = account(workspace)
    save_provider_account(made, key="short-key-12345")
    assert made.key_hint == ""
    assert secrets.reveal(made, "secret") == "short-key-12345"


def test_saving_without_a_key_keeps_it_and_an_empty_one_removes_it(workspace: Workspace) -> None:
    made = account(workspace, "ollama")
    stored, made.label = made.secret, "other"
    save_provider_account(made)
    made.refresh_from_db()
    assert (made.label, made.secret, made.key_hint) == ("other", stored, "cdef")
    save_provider_account(made, key="")
    made.refresh_from_db()
    assert (made.secret, made.key_hint) == ("", "")
    assert secrets.reveal(made, "secret") == ""


def test_a_key_with_a_line_break_or_another_alphabet_is_refused(workspace: Workspace) -> None:
    for wrong in ("sk-canary\nx: y", "sk-canary-\u0430", "sk canary"):
        with pytest.raises(ConfigurationError, match="copy it again") as caught:
            save_provider_account(
                ProviderAccount(workspace=workspace, provider="openai"), key=wrong
            )
        assert "canary" not in str(caught.value)
    assert not ProviderAccount.objects.filter(workspace=workspace).exists()


def test_a_key_is_not_sent_to_another_base_url_unless_it_is_entered_again(
    workspace: Workspace,
) -> None:
    made = account(workspace)
    made.base_url = "https://elsewhere.example/v1"
    with pytest.raises(ConfigurationError, match="its base URL changed"):
        save_provider_account(made)
    assert ProviderAccount.objects.get(pk=made.pk).base_url == ""
    save_provider_account(made, key=CANARY)
    assert ProviderAccount.objects.get(pk=made.pk).base_url == "https://elsewhere.example/v1"


def test_a_new_key_is_not_healthy_because_the_old_one_was(workspace: Workspace) -> None:
    made = account(workspace)
    ProviderAccount.objects.filter(pk=made.pk).update(healthy=True, health_message="well")
    made.refresh_from_db()
    save_provider_account(made)
    assert ProviderAccount.objects.get(pk=made.pk).healthy is True
    save_provider_account(made, key="another-key-0123456789")
    fresh = ProviderAccount.objects.get(pk=made.pk)
    assert (fresh.healthy, fresh.health_message) == (None, "")


def test_swapped_ciphertexts_fail_in_both_rows(workspace: Workspace) -> None:
    one, two = account(workspace, "openai"), account(workspace, "anthropic")
    one.secret, two.secret = two.secret, one.secret
    ProviderAccount.objects.bulk_update([one, two], ["secret"])
    for row in ProviderAccount.objects.filter(pk__in=[one.pk, two.pk]):
        with pytest.raises(SecretError, match="another row"):
            secrets.reveal(row, "secret")


def test_a_row_that_moved_to_another_tenant_cannot_be_read_there(workspace: Workspace) -> None:
    made = account(workspace)
    other = Workspace.objects.create(slug="other-tenant", name="Other")
    ProviderAccount.objects.filter(pk=made.pk).update(workspace=other)
    made.refresh_from_db()
    with pytest.raises(SecretError):
        secrets.reveal(made, "secret")


def test_one_enabled_account_for_each_provider_of_a_workspace(workspace: Workspace) -> None:
    first = account(workspace)
    account(workspace, enabled=False)
    account(workspace, enabled=False)
    account(workspace, "anthropic")
    account(Workspace.objects.create(slug="other-tenant", name="Other"))
    with pytest.raises(ConflictError, match="already has an enabled account with openai"):
        account(workspace)
    first.enabled = False
    save_provider_account(first)
    account(workspace)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host/v1",
        "http://",
        "https://me:pw@host/v1",
        "https://host/?k=1",
        "http://h:0",
    ],
)
def test_a_base_url_that_is_no_plain_web_address_is_refused(workspace: Workspace, url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ProviderAccount(workspace=workspace, provider="openai", base_url=url).full_clean()
    assert set(caught.value.message_dict) == {"base_url"}


@pytest.mark.parametrize(
    "url", ["", "http://gateway:4000", "https://host/v1", "http://[::1]:8080/v1"]
)
def test_a_base_url_may_have_a_bare_host_or_a_port(workspace: Workspace, url: str) -> None:
    ProviderAccount(workspace=workspace, provider="openai", base_url=url).full_clean()


def test_rotation_moves_every_row_to_the_newest_key_once(
    workspace: Workspace, use_keys: Callable[..., None], new_key: Callable[[], str]
) -> None:
    old, new = new_key(), new_key()
    use_keys(old)
    names = ("openai", "anthropic", "gemini", "ollama", "openrouter")
    rows = [account(workspace, name) for name in names]
    save_provider_account(rows[3], key="")
    stamps = list(ProviderAccount.objects.order_by("pk").values_list("updated_at", flat=True))
    use_keys(new, old)
    out = io.StringIO()
    call_command("rotate_secrets", "--batch", "2", stdout=out)
    assert "4 secrets now have the newest key" in out.getvalue()
    entries = AuditEntry.objects.filter(action="secret.rotate").order_by("id")
    assert {(row.target, row.via, row.workspace_id) for row in entries} == {
        ("base.ProviderAccount.secret", "terminal", None)
    }
    assert [row.details for row in entries] == [{"secrets": 2}, {"secrets": 2}]
    use_keys(new)
    for row in ProviderAccount.objects.filter(workspace=workspace):
        assert secrets.reveal(row, "secret") == ("" if row.pk == rows[3].pk else CANARY)
    after = list(ProviderAccount.objects.order_by("pk").values_list("updated_at", flat=True))
    assert after == stamps
    before = list(ProviderAccount.objects.order_by("pk").values_list("secret", flat=True))
    assert rotate_secrets().changed == 0
    assert entries.count() == 2, "what changed nothing is no entry"
    assert list(ProviderAccount.objects.order_by("pk").values_list("secret", flat=True)) == before


def test_rotation_reports_what_it_cannot_read_and_goes_on(
    workspace: Workspace, use_keys: Callable[..., None], new_key: Callable[[], str]
) -> None:
    lost, old, new = new_key(), new_key(), new_key()
    use_keys(lost)
    unreadable = account(workspace, "openai")
    use_keys(old)
    readable = account(workspace, "anthropic")
    use_keys(new, old)
    errors = io.StringIO()
    with pytest.raises(CommandError, match="1 secrets could not be read"):
        call_command("rotate_secrets", "--batch", "1", stdout=io.StringIO(), stderr=errors)
    assert f"row {unreadable.pk}" in errors.getvalue()
    assert ProviderAccount.objects.get(pk=unreadable.pk).secret == unreadable.secret
    use_keys(new)
    readable.refresh_from_db()
    assert secrets.reveal(readable, "secret") == CANARY


def test_rotation_knows_every_column_of_secrets() -> None:
    assert (ProviderAccount, "secret") in list(secret_columns())
