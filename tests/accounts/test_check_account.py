"""Checking accounts: what is found is stored, and a typed address stays out of private networks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from agents.actions.provider_accounts import (
    check_account,
    check_enabled_accounts,
    save_provider_account,
)
from agents.housekeeping.beat import BEAT_SCHEDULE
from agents.models import Agent
from heartbit_site.base import queues
from heartbit_site.base.models import ProviderAccount
from heartbit_site.celery import app
from tests.accounts.provider_server import Seen, models, provider_server, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
def provider(settings: Settings) -> Iterator[Seen]:
    """A provider that an operator has opened to typed addresses."""
    with provider_server(models("gpt-6-sol")) as server:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{server.port}"
        yield server


@pytest.fixture(autouse=True)
def _no_others(db: None) -> None:
    """Rolled back with the test."""
    ProviderAccount.objects.all().delete()


def account(workspace: Workspace, name: str = "openai", **fields: object) -> ProviderAccount:
    made = ProviderAccount(workspace=workspace, provider=name, **fields)
    save_provider_account(made, key=CANARY)
    return ProviderAccount.objects.get(pk=made.pk)


def test_a_good_account_is_noted_as_healthy(workspace: Workspace, provider: Seen) -> None:
    made = account(workspace, base_url=provider.url)
    assert check_account(made).ok
    stored = ProviderAccount.objects.get(pk=made.pk)
    assert stored.healthy is True
    assert stored.health_message == "It takes the key and lists 1 model."
    assert stored.checked_at == made.checked_at is not None
    assert provider.requests[0][1]["authorization"] == f"Bearer {CANARY}"


def test_the_models_that_the_workspace_names_are_looked_for(
    workspace: Workspace, provider: Seen
) -> None:
    workspace.default_model = "openai:gpt-6-sol"
    workspace.save()
    for name, model in (("one", "openai:gpt-9"), ("two", "anthropic:claude"), ("three", "")):
        Agent.objects.create(workspace=workspace, name=name, system_prompt="x", model=model)
    health = check_account(account(workspace, base_url=provider.url))
    assert health.message == "It takes the key and lists 1 model, but not gpt-9."


def test_a_refused_key_is_noted_without_the_key(workspace: Workspace, provider: Seen) -> None:
    provider.replies["/v1/models"] = refusal(401, f"Wrong key {CANARY}")
    made = account(workspace, base_url=provider.url)
    check_account(made)
    stored = ProviderAccount.objects.get(pk=made.pk)
    assert stored.healthy is False
    assert "(Wrong key ***)" in stored.health_message


def test_a_typed_address_in_the_private_network_is_refused(
    workspace: Workspace, provider: Seen, settings: Settings
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = ""
    health = check_account(account(workspace, base_url=provider.url))
    assert not health.ok
    assert "HEARTBIT_HTTP_ALLOWLIST" in health.message
    assert provider.requests == []


def test_an_account_without_an_address_goes_where_the_installation_sends_its_provider(
    workspace: Workspace,
    provider: Seen,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = ""  # the operator's own variable needs no permission
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    assert check_account(account(workspace)).ok


def test_a_key_that_cannot_be_decrypted_is_ill_and_nobody_is_asked(
    workspace: Workspace,
    provider: Seen,
    use_keys: Callable[..., None],
    new_key: Callable[[], str],
) -> None:
    use_keys(new_key())
    made = account(workspace, base_url=provider.url)
    use_keys(new_key())
    health = check_account(made)
    assert not health.ok
    assert "HEARTBIT_ENCRYPTION_KEYS" in health.message
    assert ProviderAccount.objects.get(pk=made.pk).healthy is False
    assert provider.requests == []


def test_a_finding_about_an_old_key_is_not_noted_for_a_new_one(
    workspace: Workspace, provider: Seen
) -> None:
    read_before = account(workspace, base_url=provider.url)
    save_provider_account(
        ProviderAccount.objects.get(pk=read_before.pk), key="another-key-0123456789"
    )
    assert check_account(read_before).ok
    assert ProviderAccount.objects.get(pk=read_before.pk).healthy is None


def test_the_beat_checks_all_enabled_accounts_by_a_task_without_arguments(
    workspace: Workspace, provider: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    good = account(workspace, "openai", base_url=provider.url)
    bad = account(workspace, "compatible", base_url=provider.url.replace("/v1", "/v2"))
    off = account(workspace, "gemini", base_url=provider.url, enabled=False)
    entry = BEAT_SCHEDULE["heartbit-check-accounts"]
    assert entry["task"] == queues.CHECK_ACCOUNTS
    assert entry["schedule"] == 600
    assert not {"args", "kwargs"} & set(entry)
    app.loader.import_default_modules()
    with caplog.at_level(logging.DEBUG):
        assert app.tasks[queues.CHECK_ACCOUNTS]() == 1
    found = dict(ProviderAccount.objects.values_list("pk", "healthy"))
    assert found == {good.pk: True, bad.pk: False, off.pk: None}
    assert "canary" not in caplog.text
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(a::text, ' ') FROM base_provideraccount a")
        assert "canary" not in str(cursor.fetchone())
    assert check_enabled_accounts() == 1


def test_no_account_is_nothing_to_do(workspace: Workspace) -> None:
    assert check_enabled_accounts() == 0
