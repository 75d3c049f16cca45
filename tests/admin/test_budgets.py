"""Budgets and circuits in the admin: what may be spent, and which providers are left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import redis
from django.conf import settings
from django.urls import reverse

from agents.models import Agent, Budget
from agents.runtime.providers.accounts import account_name
from agents.runtime.providers.circuit_scripts import breaker_key
from agents.runtime.providers.open_circuits import open_circuits
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import ProviderAccount, UsageEntry, Workspace
from tests.admin.forms import filled_undrawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

BUDGETS = "/admin/agents/budget/"


@pytest.fixture
def bare(db: None) -> Workspace:
    return Workspace.objects.create(slug="bare-of-budgets", name="Bare")


def page(row: Budget) -> str:
    return reverse("admin:agents_budget_change", args=[row.pk])


def add(browser: Client, workspace: Workspace, **fields: object) -> Any:
    data = filled_undrawn(browser, f"{BUDGETS}add/")
    return browser.post(f"{BUDGETS}add/", data | {"workspace": workspace.pk, **fields})


def errors(response: Any) -> str:
    return str(response.context["adminform"].form.errors)


def test_a_new_budget_begins_with_what_its_period_has_cost(
    browser: Client, bare: Workspace
) -> None:
    now = datetime.now(tz=UTC)
    for at in (now, now - timedelta(days=40)):
        UsageEntry.objects.create(
            workspace=bare,
            run_id=new_id(),
            turn=1,
            model="openai:x",
            input_tokens=70,
            output_tokens=30,
            cost_usd=Decimal("0.5"),
            at=at,
        )
    assert add(browser, bare, period="month", max_tokens=1000, max_usd="2").status_code == 302
    row = Budget.objects.get(workspace=bare)
    assert (row.spent_tokens, row.spent_usd) == (100, Decimal("0.5"))
    text = browser.get(BUDGETS).content.decode()
    assert "100 of 1,000" in text
    assert "width: 10%" in text
    assert "$0.5000 of $2.00" in text
    assert "whole workspace" in text


def test_a_change_of_limits_leaves_what_was_counted_meanwhile(
    browser: Client, bare: Workspace
) -> None:
    row = Budget.objects.create(workspace=bare, period="day", max_tokens=1000)
    data = filled_undrawn(browser, page(row))
    Budget.objects.filter(pk=row.pk).update(spent_tokens=950)
    assert browser.post(page(row), data | {"max_tokens": "2000"}).status_code == 302
    row.refresh_from_db()
    assert (row.max_tokens, row.spent_tokens) == (2000, 950)


@pytest.mark.parametrize(
    ("spent", "days_ago", "state"),
    [(790, 0, "Open"), (800, 0, "Nearly spent"), (1000, 0, "Spent"), (1000, 2, "Open")],
)
def test_its_state_is_that_of_the_period_that_is_now(
    browser: Client, bare: Workspace, spent: int, days_ago: int, state: str
) -> None:
    began = datetime.now(tz=UTC) - timedelta(days=days_ago)
    row = Budget.objects.create(
        workspace=bare, period="day", max_tokens=1000, spent_tokens=spent, period_start=began
    )
    text = browser.get(page(row)).content.decode()
    assert f">{state}<" in "".join(text.split("\n")).replace(" <", "<").replace("> ", ">")
    assert (f"{spent:,} of 1,000" in text) is (days_ago == 0)


def test_what_makes_no_sense_is_refused(browser: Client, workspace: Workspace) -> None:
    bare = Workspace.objects.create(slug="bare-of-agents", name="Bare")
    stranger = Agent.objects.filter(workspace=workspace)[0]
    assert "Set a limit" in errors(add(browser, bare, period="day"))
    response = add(browser, bare, period="day", max_tokens=5, agent=stranger.pk)
    assert "another workspace" in errors(response)
    assert add(browser, bare, period="day", max_tokens=5).status_code == 302
    assert add(browser, bare, period="day", max_tokens=6).status_code == 200
    assert add(browser, bare, period="month", max_tokens=6).status_code == 302


class TestCircuit:
    @pytest.fixture
    def account(self, bare: Workspace, database: None) -> ProviderAccount:
        return ProviderAccount.objects.create(workspace=bare, provider="openai", label="main")

    @pytest.fixture
    def opened(self, account: ProviderAccount) -> Iterator[str]:
        """An open circuit, as workers leave it."""
        name = account_name(account.pk)
        with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
            now = client.time()[0]
            client.hset(breaker_key(name), mapping={"openings": 2, "until": now + 155.5})
            yield name
            client.delete(breaker_key(name))

    def test_an_open_one_is_shown_and_a_person_closes_it(
        self, browser: Client, account: ProviderAccount, opened: str
    ) -> None:
        url = reverse("admin:base_provideraccount_change", args=[account.pk])
        for place in ("/admin/base/provideraccount/", url):
            assert "Open for 1" in browser.get(place).content.decode(), place
        assert "Close circuit breaker" in browser.get(url).content.decode()
        close = reverse("admin:base_provideraccount_close_circuit", args=[account.pk])
        response = browser.post(close, {"_form_submitted": "True"})
        assert response.headers["HX-Refresh"] == "true"
        assert open_circuits(settings.REDIS_URL, [opened]) == {}
        text = browser.get(url).content.decode()
        assert "Open for" not in text
        assert "Close circuit breaker" not in text

    def test_given_no_valkey_then_the_page_says_that_it_does_not_know(
        self, browser: Client, account: ProviderAccount, settings: Settings
    ) -> None:
        settings.REDIS_URL = "redis://127.0.0.1:1/0"
        url = reverse("admin:base_provideraccount_change", args=[account.pk])
        response = browser.get(url)
        assert response.status_code == 200
        assert "Unknown" in response.content.decode()
