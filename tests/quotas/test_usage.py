"""The page Usage, the API's usage, and tiers in the admin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.conf import settings
from django.urls import reverse

from agents.actions.quotas import save_budget
from agents.housekeeping.archive_runs import limit_of
from agents.models import Agent, Budget, Run, WorkerHeartbeat
from agents.reads.usage import DAYS, usage_of
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import AuditEntry, Role, Tier, UsageEntry
from tests.admin.forms import filled
from tests.api.server import Caller, WebServer, key_for
from tests.clients import Client
from tests.quotas.limited import flood, give_tier, new_workspace, park
from tests.starts import start_run
from tests.web.axe import serious
from tests.web.people import member, person, session_of
from tests.web.visitor import visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from playwright.sync_api import Browser

    from agents.reads.views import CountGaugeOut, MoneyGaugeOut, WorkspaceUsageOut
    from heartbit_site.base.models import Workspace
    from tests.web.visitor import Visitor


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker takes the workspace's runs."""
    park(workspace, "nobody-serves-this")


def call(workspace: Workspace, run: UUID, tokens: int, usd: str | None, days_ago: int = 0) -> None:
    """A model call's entry in the ledger."""
    UsageEntry.objects.create(
        workspace=workspace, run_id=run, turn=1, model="openai:x", input_tokens=tokens,
        output_tokens=1, cost_usd=None if usd is None else Decimal(usd),
        at=datetime.now(tz=UTC) - timedelta(days=days_ago),
    )  # fmt: skip


def client(*, superuser: bool = False, of: Workspace | None = None) -> Client:
    """A browser in the admin."""
    user = person(operator=superuser) if of is None else member(of, Role.ADMIN)
    if of is not None:
        user.is_staff = True
        user.save()
    found = Client(headers={"host": "localhost"})
    found.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return found


def seeded(workspace: Workspace) -> Run:
    """Two runs, of which one worked; a deleted one's call; and calls of others and of long ago."""
    run = Run.objects.get(pk=start_run(workspace, "x", agent="writer"))
    flood(workspace, 1, agent="analyst")
    call(workspace, run.pk, 999, "0.25")
    call(workspace, run.pk, 499, None)
    call(workspace, new_id(), 99, "0.5")
    call(workspace, run.pk, 7, "9", days_ago=70)
    call(new_workspace(), new_id(), 10**6, "99")
    return run


def gauges(usage: WorkspaceUsageOut) -> list[CountGaugeOut | MoneyGaugeOut]:
    return [
        usage.runs_today,
        usage.tokens_this_month,
        usage.usd_this_month,
        usage.runs_at_once,
    ]


class TestTheFigures:
    def test_given_no_tier_then_all_is_counted_and_nothing_limited(
        self, workspace: Workspace
    ) -> None:
        seeded(workspace)
        usage = usage_of(workspace)
        assert usage.tier is None
        assert [gauge.used for gauge in gauges(usage)] == [2, 1600, "0.75", 0]
        assert {gauge.state for gauge in gauges(usage)} == {"unlimited"}
        assert (usage.queued, usage.unpriced_calls) == (2, 1)
        assert [(row.agent, row.runs, row.tokens, row.cost_usd) for row in usage.agents] == [
            (None, 0, 100, "0.5"),
            ("writer", 1, 1500, "0.25"),
            ("analyst", 1, 0, "0"),
        ]
        assert len(usage.days) == DAYS
        today = usage.days[-1]
        assert (today.day, today.runs, today.tokens) == (datetime.now(tz=UTC).date(), 2, 1600)
        assert sum(day.tokens for day in usage.days) == 1600

    def test_given_a_tier_then_each_figure_has_its_limit_and_state(
        self, workspace: Workspace
    ) -> None:
        run = seeded(workspace)
        give_tier(
            workspace,
            runs_per_day=20,
            tokens_per_month=2_000,
            usd_per_month=Decimal("0.5"),
            runs_at_once=1,
        )
        worker = WorkerHeartbeat.objects.create(name="x:1", home="fleet", lease_seconds=3600)
        Run.objects.filter(pk=run.pk).update(status="running", worker=worker)
        runs, tokens, usd, at_once = gauges(usage_of(workspace))
        Run.objects.filter(pk=run.pk).update(status="queued", worker=None)
        worker.delete()
        shown = [
            (int(each.used), int(each.limit or 0), each.percent) for each in (runs, tokens, at_once)
        ]
        assert shown == [(2, 20, 10), (1600, 2000, 80), (1, 1, 100)]
        states = [each.state for each in (runs, tokens, usd, at_once)]
        assert states == ["ok", "warning", "exceeded", "exceeded"]
        assert usd.percent == 150

    def test_given_a_budget_that_refused_a_call_then_it_counts_as_spent(
        self, workspace: Workspace
    ) -> None:
        agent = Agent.objects.get(workspace=workspace, name="writer")
        row = Budget(workspace=workspace, agent=agent, period="day", max_tokens=1000, max_usd=9)
        save_budget(row)
        Budget.objects.filter(pk=row.pk).update(spent_tokens=900, exceeded_period=row.period_start)
        (budget,) = usage_of(workspace).budgets
        assert (budget.agent, budget.period) == ("writer", "day")
        assert budget.tokens is not None
        assert budget.usd is not None
        assert (budget.tokens.state, budget.usd.state) == ("exceeded", "ok")


class TestTheAPI:
    def test_it_says_what_the_page_says(self, site: WebServer, workspace: Workspace) -> None:
        seeded(workspace)
        tier = give_tier(workspace, runs_per_day=20, usd_per_month=1)
        save_budget(Budget(workspace=workspace, period="month", max_usd=Decimal("0.5")))
        caller = Caller(site, key_for(workspace, ["runs:read"]))
        with caller.http:
            answer = caller.get("/usage")
        assert answer.status_code == 200
        usage = answer.json()
        assert usage["tier"] == tier.name
        assert usage["runs_today"] == {"used": 2, "limit": 20, "percent": 10, "state": "ok"}
        assert usage["usd_this_month"] == {
            "used": "0.75", "limit": "1", "percent": 75, "state": "ok",
        }  # fmt: skip
        assert usage["tokens_this_month"]["limit"] is None
        assert usage["budgets"] == [
            {
                "agent": None,
                "person": None,
                "schedule": None,
                "period": "month",
                "tokens": None,
                "usd": {"used": "0.75", "limit": "0.5", "percent": 150, "state": "exceeded"},
            }
        ]
        assert [row["agent"] for row in usage["agents"]] == [None, "writer", "analyst"]
        assert len(usage["days"]) == DAYS


@pytest.fixture(params=[(1280, False), (390, True)], ids=["desk", "phone"])
def viewer(
    request: pytest.FixtureRequest, site: WebServer, browser: Browser, workspace: Workspace
) -> Iterator[Visitor]:
    """Somebody who may only look."""
    width, dark = request.param
    user = member(workspace, Role.VIEWER)
    opened = visit(browser, site.url, workspace, user=user, width=width, dark=dark)
    yield opened
    opened.leave()


class TestThePage:
    def test_it_shows_limits_in_words_and_warns(
        self, viewer: Visitor, workspace: Workspace
    ) -> None:
        seeded(workspace)
        tier = give_tier(workspace, runs_per_day=20, tokens_per_month=2_000, usd_per_month=5)
        agent = Agent.objects.get(workspace=workspace, name="writer")
        save_budget(Budget(workspace=workspace, agent=agent, period="day", max_usd=Decimal("0.2")))
        viewer.go("health/usage/")
        page = viewer.page
        main = page.locator("#main")
        main.get_by_text(f"tier {tier.name}").first.wait_for()
        meter = page.get_by_role("meter", name="Tokens this month")
        assert meter.get_attribute("aria-valuenow") == "80"
        assert meter.get_attribute("aria-valuetext") == "1,600 of 2,000"
        alerts = main.locator(".hint, .problem").all_inner_texts()
        assert alerts == [
            f"Nearly used up: 1,600 of 2,000 tokens (tier {tier.name}), 80 %.",
            "Used up: $0.2500 of $0.2000 (the day's budget of agent writer): model calls are "
            "refused until the next period begins.",
        ]
        assert main.get_by_role("row", name="writer").count() >= 1
        assert main.get_by_text("The price of 1 call of this month is not known").count() == 1
        assert len(main.locator("svg[role=img] .column").all()) == 3 * DAYS
        page.get_by_text("As a table").click()
        assert page.get_by_role("columnheader", name="Day (UTC)").is_visible()
        assert [*serious(page)] == []
        fits = "document.documentElement.scrollWidth <= window.innerWidth"
        assert page.evaluate(fits)
        assert viewer.problems() == []

    def test_given_nothing_then_it_says_so(self, viewer: Visitor) -> None:
        viewer.go("health/usage/")
        viewer.page.get_by_text("Nothing has been used in the last 30 days.").wait_for()
        assert [*serious(viewer.page)] == []
        assert viewer.problems() == []


def shown(site: WebServer, workspace: Workspace) -> str:
    """Return the page's HTML as one line, without entities."""
    cookies = {settings.SESSION_COOKIE_NAME: session_of(member(workspace, Role.VIEWER))}
    page = httpx.get(
        f"{site.url}/w/{workspace.slug}/health/usage/", cookies=cookies, trust_env=False
    )
    assert page.status_code == 200
    return " ".join(unescape(page.text).split())


class TestWhatThePageSays:
    def test_given_spent_limits_then_it_says_what_is_refused_and_until_when(
        self, site: WebServer, workspace: Workspace
    ) -> None:
        seeded(workspace)
        tier = give_tier(workspace, runs_per_day=2, usd_per_month=Decimal("0.5"))
        page = shown(site, workspace)
        assert (
            f'"problem">Used up: 2 of 2 runs (tier {tier.name}): no more runs can be started before'
        ) in page
        assert f'"problem">Used up: $0.7500 of $0.5000 (tier {tier.name}): model calls' in page
        assert 'aria-valuenow="100" aria-valuetext="$0.7500 of $0.5000"' in page, "a full bar"
        assert "150 % · resets in" in page
        assert "2 runs waiting" in page

    @pytest.mark.parametrize(
        ("most", "follows"), [(2, "."), (1, ": further runs wait until one of these ends")]
    )
    def test_given_runs_at_work_then_they_are_a_hint_and_no_problem(
        self, site: WebServer, workspace: Workspace, most: int, follows: str
    ) -> None:
        run = start_run(workspace, "x", agent="writer")
        tier = give_tier(workspace, runs_at_once=most, warn_at=50)
        worker = WorkerHeartbeat.objects.create(name="x:1", home="fleet", lease_seconds=3600)
        Run.objects.filter(pk=run).update(status="running", worker=worker)
        page = shown(site, workspace)
        Run.objects.filter(pk=run).update(status="queued", worker=None)
        worker.delete()
        assert f'"hint">Active: 1 of {most} runs (tier {tier.name}){follows}' in page
        assert '"problem"' not in page

    def test_given_no_tier_then_costs_without_a_price_and_deleted_runs_are_named(
        self, site: WebServer, workspace: Workspace
    ) -> None:
        seeded(workspace)
        save_budget(Budget(workspace=workspace, period="month", max_usd=1, max_tokens=10_000))
        page = shown(site, workspace)
        assert "no tier" in page
        assert "no limit · 2 runs waiting" in page
        assert "$0.2500 + 1 call without a price" in page
        assert "runs that are deleted by now" in page
        assert "the whole workspace" in page
        for words in ("1,600 of 10,000", "$0.7500 of $1.00"):
            assert f'aria-valuetext="{words}"' in page
        assert '"hint"' not in page
        assert '"problem"' not in page

    def test_given_a_tier_and_no_work_then_its_limits_are_shown(
        self, site: WebServer, workspace: Workspace
    ) -> None:
        call(workspace, new_id(), 7, "9", days_ago=70)
        assert "Nothing has been used" in shown(site, workspace)
        give_tier(workspace, runs_per_day=20)
        page = shown(site, workspace)
        assert 'aria-valuetext="0 of 20"' in page
        assert "No agent has worked this month" in page
        assert page.count('height="0.0"') == 3 * DAYS


class TestTiersInTheAdmin:
    def test_a_superuser_makes_one_gives_it_and_all_is_audited(self, workspace: Workspace) -> None:
        browser = client(superuser=True)
        url = reverse("admin:base_tier_add")
        name = f"trial-{new_id().hex[:8]}"
        data = filled(browser.get(url)) | {"name": name, "runs_per_day": 3, "warn_at": 70}
        assert browser.post(url, data).status_code == 302
        tier = Tier.objects.get(name=name)
        assert (tier.runs_per_day, tier.tokens_per_month, tier.warn_at) == (3, None, 70)
        page = reverse("admin:base_workspace_change", args=[workspace.pk])
        assert browser.post(page, filled(browser.get(page)) | {"tier": tier.pk}).status_code == 302
        workspace.refresh_from_db()
        assert workspace.tier == tier
        entry = AuditEntry.objects.filter(workspace=workspace, action="workspace.change").latest(
            "pk"
        )
        assert entry.details == {"tier": [None, name]}
        assert AuditEntry.objects.filter(action="tier.add", label=name).exists()
        remove = reverse("admin:base_tier_delete", args=[tier.pk])
        assert browser.get(remove).status_code == 403, "a workspace has it"
        workspace.tier = None
        workspace.save()
        assert browser.post(remove, {"post": "yes"}).status_code == 302
        assert not Tier.objects.filter(pk=tier.pk).exists()

    def test_an_admin_of_the_workspace_sees_the_tier_and_cannot_change_it(
        self, workspace: Workspace
    ) -> None:
        tier = give_tier(workspace, runs_per_day=3)
        browser = client(of=workspace)
        page = reverse("admin:base_workspace_change", args=[workspace.pk])
        shown = browser.get(page)
        assert tier.name in shown.content.decode()
        data: dict[str, Any] = filled(shown)
        assert "tier" not in data
        assert browser.post(page, data | {"tier": "", "name": "Mine"}).status_code == 302
        workspace.refresh_from_db()
        assert (workspace.name, workspace.tier) == ("Mine", tier)
        assert browser.get(reverse("admin:base_tier_changelist")).status_code == 403

    def test_the_tiers_of_an_installation_are_there(self, database: None) -> None:
        names = ["free", "starter", "pro", "business"]
        rows = [Tier.objects.get(name=name) for name in names]
        for column in ("runs_per_day", "tokens_per_month", "usd_per_month", "runs_at_once"):
            figures = [getattr(row, column) for row in rows]
            assert figures == sorted(figures), column
            assert None not in figures

    def test_a_tier_s_budget_is_not_among_the_budgets(self, workspace: Workspace) -> None:
        give_tier(workspace, tokens_per_month=1_234_567)
        browser = client(superuser=True)
        row = Budget.objects.get(workspace=workspace, from_tier=True)
        page = reverse("admin:agents_budget_change", args=[row.pk])
        assert browser.get(page).status_code == 302
        assert (
            "1,234,567"
            not in browser.get(reverse("admin:agents_budget_changelist")).content.decode()
        )
        url = reverse("admin:agents_budget_add")
        data = filled(browser.get(url)) | {
            "workspace": workspace.pk, "period": "month", "max_tokens": 9,
        }  # fmt: skip
        assert browser.post(url, data).status_code == 302, "the tier's is another one"
        again = browser.post(url, data)
        assert "There is a budget of the whole workspace for each month already." in (
            again.content.decode()
        )


def test_the_smaller_retention_counts(workspace: Workspace) -> None:
    tier = give_tier(workspace, retention_days=7)
    workspace.retention_days = 90
    assert workspace.kept_days == 7
    assert round((datetime.now(tz=UTC) - limit_of(workspace)) / timedelta(days=1)) == 7
    workspace.retention_days = None
    assert workspace.kept_days == 7
    workspace.retention_days = 3
    assert workspace.kept_days == 3
    tier.retention_days = None
    assert workspace.kept_days == 3
