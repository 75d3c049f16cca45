"""Provider accounts and API keys in the admin: secrets go in and never come out."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from agents.actions.provider_accounts import save_provider_account
from heartbit_site.base import secrets
from heartbit_site.base.actions.api_keys import authenticate_api_key, create_api_key
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import ApiKey, ProviderAccount, UsageEntry, Workspace
from tests.accounts.provider_server import models, provider_server
from tests.admin.forms import filled_undrawn

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

CANARY = "sk-canary-0123456789abcdef"
ACCOUNTS = "/admin/base/provideraccount/"
KEYS = "/admin/base/apikey/"


def account(workspace: Workspace, name: str = "openai", **fields: object) -> ProviderAccount:
    made = ProviderAccount(workspace=workspace, provider=name, **fields)
    save_provider_account(made, key=CANARY)
    return ProviderAccount.objects.get(pk=made.pk)


def page(row: ProviderAccount) -> str:
    return reverse("admin:base_provideraccount_change", args=[row.pk])


def wrong(response: Any) -> dict[str, list[str]]:
    """What the form says, by field."""
    errors: dict[str, list[str]] = response.context["adminform"].form.errors
    return errors


@pytest.fixture
def bare(db: None) -> Workspace:
    return Workspace.objects.create(slug="bare-of-tests", name="Bare")


def test_a_new_account_keeps_its_key_encrypted(browser: Client, bare: Workspace) -> None:
    data = filled_undrawn(browser, f"{ACCOUNTS}add/") | {
        "workspace": bare.pk,
        "provider": "openai",
        "key": CANARY,
    }
    response = browser.post(f"{ACCOUNTS}add/", data, follow=True)
    made = ProviderAccount.objects.get(workspace=bare)
    assert secrets.reveal(made, "secret") == CANARY
    assert "canary-0" not in response.content.decode()
    logged = LogEntry.objects.order_by("-pk").values().first()
    assert "canary-0" not in str(logged)


def test_no_page_shows_a_key_or_its_ciphertext(browser: Client, bare: Workspace) -> None:
    made = account(bare)
    for url in (ACCOUNTS, page(made), f"{page(made)[:-7]}history/", f"{page(made)[:-7]}delete/"):
        text = browser.get(url).content.decode()
        assert "canary-0" not in text, url
        assert made.secret not in text, url
    assert "...cdef" in browser.get(ACCOUNTS).content.decode()
    assert "ends in cdef is kept" in browser.get(page(made)).content.decode()


def test_a_key_that_was_refused_is_not_sent_back(browser: Client, bare: Workspace) -> None:
    made = account(bare)
    data = filled_undrawn(browser, page(made)) | {
        "key": "sk-other-canary",
        "requests_per_minute": "0",
    }
    response = browser.post(page(made), data)
    assert "requests_per_minute" in wrong(response)
    assert "canary" not in response.content.decode()


def test_an_empty_key_keeps_the_present_one(browser: Client, bare: Workspace) -> None:
    made = account(bare)
    data = filled_undrawn(browser, page(made)) | {
        "label": "production",
        "tokens_per_minute": "90000",
    }
    assert browser.post(page(made), data).status_code == 302
    stored = ProviderAccount.objects.get(pk=made.pk)
    assert (stored.label, stored.tokens_per_minute, stored.secret) == (
        *("production", 90000, made.secret),
    )
    data["key"] = "another-key-0123456789"
    assert browser.post(page(made), data).status_code == 302
    assert secrets.reveal(ProviderAccount.objects.get(pk=made.pk), "secret") == data["key"]


def test_a_key_is_asked_again_when_the_base_url_changes(browser: Client, bare: Workspace) -> None:
    made = account(bare)
    data = filled_undrawn(browser, page(made)) | {"base_url": "https://elsewhere.example/v1"}
    response = browser.post(page(made), data)
    assert "Enter the key again" in wrong(response)["key"][0]
    assert ProviderAccount.objects.get(pk=made.pk).base_url == ""


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"provider": "openai"}, "key", "needs a key"),
        ({"provider": "openai", "key": "sk canary"}, "key", "copy it"),
        ({"provider": "compatible"}, "base_url", "Enter where the server is"),
        ({"provider": "openay", "key": CANARY}, "provider", "There is no provider"),
        ({"provider": "local"}, "provider", "There is no provider"),
        ({"provider": "ollama", "base_url": "nowhere"}, "base_url", "Write it like"),
        ({"provider": "ollama", "tokens_per_minute": "0"}, "tokens_per_minute", "greater than"),
    ],
)
def test_what_cannot_work_is_said_at_the_field(
    browser: Client, bare: Workspace, changed: dict[str, str], field: str, said: str
) -> None:
    data = filled_undrawn(browser, f"{ACCOUNTS}add/") | {"workspace": bare.pk} | changed
    response = browser.post(f"{ACCOUNTS}add/", data)
    assert said in wrong(response)[field][0]
    assert not ProviderAccount.objects.filter(workspace=bare).exists()


def test_two_enabled_accounts_with_one_provider_are_refused(
    browser: Client, bare: Workspace
) -> None:
    account(bare)
    data = filled_undrawn(browser, f"{ACCOUNTS}add/") | {"workspace": bare.pk, "provider": "openai"}
    response = browser.post(f"{ACCOUNTS}add/", data | {"key": CANARY})
    assert "already has an enabled account" in str(wrong(response))
    second = account(bare, enabled=False)
    data = filled_undrawn(browser, page(second)) | {"enabled": "on"}
    response = browser.post(page(second), data)
    assert "already has an enabled account" in wrong(response)["enabled"][0]


def test_check_now_asks_the_provider_and_shows_the_finding(
    browser: Client, bare: Workspace, settings: Settings
) -> None:
    with provider_server(models("gpt-6-sol")) as server:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{server.port}"
        made = account(bare, base_url=server.url)
        url = reverse("admin:base_provideraccount_check_now", args=[made.pk])
        assert f'hx-get="{url}"' in browser.get(page(made)).content.decode()
        assert f'hx-get="{url}"' in browser.get(ACCOUNTS).content.decode()
        assert "Not checked" in browser.get(page(made)).content.decode()
        browser.get(url)
        assert server.requests == []  # opening the dialog asks nobody
        response = browser.post(url, {"_form_submitted": "True"})
        assert response.headers["HX-Refresh"] == "true"
        assert len(server.requests) == 1
        text = browser.get(page(made)).content.decode()
    assert "Healthy" in text
    assert "It takes the key and lists 1 model." in text


def test_an_unhealthy_account_is_shown_in_the_list(browser: Client, bare: Workspace) -> None:
    made = account(bare)
    ProviderAccount.objects.filter(pk=made.pk).update(
        healthy=False, health_message="It was <b>refused</b>.", checked_at=timezone.now()
    )
    assert "Unhealthy" in browser.get(ACCOUNTS).content.decode()
    text = browser.get(page(made)).content.decode()
    assert "It was &lt;b&gt;refused&lt;/b&gt;." in text


def test_check_now_needs_the_permission(guest: Client, bare: Workspace) -> None:
    made = account(bare)
    url = reverse("admin:base_provideraccount_check_now", args=[made.pk])
    assert guest.post(url, {"_form_submitted": "True"}).status_code == 403
    assert guest.get(ACCOUNTS).status_code == 403
    assert guest.get(KEYS).status_code == 403
    made.refresh_from_db()
    assert made.checked_at is None


def spend(workspace: Workspace, model: str, cost: str | None, *, days: int = 0) -> None:
    UsageEntry.objects.create(
        workspace=workspace,
        run_id=new_id(),
        turn=1,
        model=model,
        input_tokens=1000,
        output_tokens=20,
        cost_usd=None if cost is None else Decimal(cost),
        at=timezone.now() - timedelta(days=days),
    )


def test_the_page_shows_what_the_workspace_used_of_the_provider_in_30_days(
    browser: Client, bare: Workspace
) -> None:
    other = Workspace.objects.create(slug="other-of-tests", name="Other")
    made, unknown = account(bare), account(bare, "compatible", base_url="http://h/v1")
    spend(bare, "openai:gpt-6-sol", "1.25")
    spend(bare, "openai:gpt-6-sol", "0.50", days=29)
    spend(bare, "openai:gpt-6-sol", "9.00", days=31)
    spend(bare, "anthropic:claude", "9.00")
    spend(other, "openai:gpt-6-sol", "9.00")
    spend(bare, "compatible:mine", None)
    text = browser.get(page(made)).content.decode()
    assert "2,000 in · 40 out · 2 calls" in text
    assert "$1.75" in text
    text = browser.get(page(unknown)).content.decode()
    assert "1,000 in · 20 out · 1 call" in text
    assert "unknown" in text
    assert "$0" not in text


# ------------------------------------------------------------------------------------- API keys


def test_a_new_api_key_is_shown_once(browser: Client, bare: Workspace) -> None:
    data = {"workspace": bare.pk, "name": "import", "scopes": ["runs:read", "runs:write"]}
    data |= {"expires_at_0": "", "expires_at_1": ""}
    response = browser.post(f"{KEYS}add/", data, follow=True)
    found = re.search(r"<code>(hb_\w+_[\w-]+)</code>", response.content.decode())
    assert found is not None
    key = authenticate_api_key(found[1])
    assert key is not None
    assert key.scopes == ["runs:read", "runs:write"]
    assert key.user is not None
    assert key.user.username == "root-of-tests"
    secret = found[1].split("_", 2)[2]
    for url in (KEYS, reverse("admin:base_apikey_change", args=[key.pk])):
        text = browser.get(url).content.decode()
        assert secret not in text
        assert key.hash not in text
        assert key.prefix in text
    assert secret not in str(list(LogEntry.objects.order_by("-pk").values()[:3]))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"name": ""}, "name"),
        ({"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}, "expires_at"),
    ],
)
def test_a_key_that_opens_nothing_is_refused(
    browser: Client, bare: Workspace, changed: dict[str, Any], field: str
) -> None:
    data: dict[str, Any] = {"workspace": bare.pk, "name": "import", "scopes": ["runs:read"]}
    response = browser.post(f"{KEYS}add/", data | changed)
    assert field in wrong(response)
    assert not ApiKey.objects.filter(workspace=bare).exists()


def test_an_api_key_is_revoked_and_otherwise_stays_as_it_is(
    browser: Client, bare: Workspace
) -> None:
    key, text = create_api_key(bare, "import", scopes=["runs:read"])
    change = reverse("admin:base_apikey_change", args=[key.pk])
    url = reverse("admin:base_apikey_revoke", args=[key.pk])
    assert browser.post(change, {"hash": "0" * 64, "name": "x"}).status_code == 403
    assert browser.post(reverse("admin:base_apikey_delete", args=[key.pk])).status_code == 403
    assert f'hx-get="{url}"' in browser.get(change).content.decode()
    browser.get(url)
    assert authenticate_api_key(text) == key
    assert browser.post(url, {"_form_submitted": "True"}).headers["HX-Refresh"] == "true"
    assert authenticate_api_key(text) is None
    after = browser.get(change).content.decode()
    assert "Revoked" in after
    assert f'hx-get="{url}"' not in after


def test_revoking_needs_the_permission(guest: Client, bare: Workspace) -> None:
    key, text = create_api_key(bare, "import", scopes=["runs:read"])
    url = reverse("admin:base_apikey_revoke", args=[key.pk])
    assert guest.post(url, {"_form_submitted": "True"}).status_code == 403
    assert authenticate_api_key(text) == key
