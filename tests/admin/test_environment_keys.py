"""The keys of the environment below the provider accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from heartbit_site.base.models import ProviderAccount
from tests.accounts.provider_server import Seen, key_in_environment
from tests.clients import Client
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

CANARY = "sk-canary-0123456789abcdef"
PAGE = "/admin/base/provideraccount/"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """The provider of the only key in the environment."""
    with key_in_environment(monkeypatch, CANARY) as server:
        yield server


def test_the_list_of_accounts_shows_it_and_checks_it_now(provider: Seen, browser: Client) -> None:
    page = browser.get(PAGE).content.decode()
    assert "OPENAI_API_KEY" in page
    assert "Not checked" in page
    answer = browser.post(
        reverse("admin:base_provideraccount_environment", args=["openai"]), follow=True
    )
    page = answer.content.decode()
    assert "openai: It takes the key and lists 1 model." in page
    assert "Healthy" in page
    assert CANARY not in page


def test_a_members_list_does_not_show_it(provider: Seen, workspace: Workspace) -> None:
    client = Client(headers={"host": "localhost"})
    client.force_login(member(workspace, "admin"))
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "OPENAI_API_KEY" not in page.content.decode()
    address = reverse("admin:base_provideraccount_environment", args=["openai"])
    assert client.post(address).status_code == 403
    assert client.get(address).status_code == 405
    assert not provider.requests


def test_an_accounts_check_has_its_latency(
    provider: Seen, browser: Client, workspace: Workspace
) -> None:
    ProviderAccount.objects.filter(workspace=workspace).delete()
    ProviderAccount.objects.create(workspace=workspace, provider="openai", latency_ms=1234)
    assert "1,234 ms" in browser.get(PAGE).content.decode()
