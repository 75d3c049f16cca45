"""Tokens and money of a tier: one more budget of the workspace, told of once, kept to the step."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from django.db import connection, connections, transaction
from django.db.models import F

from agents.actions.quotas import save_budget, send_quota_notices
from agents.actions.webhooks import save_webhook
from agents.choices import RunStatus
from agents.models import Budget, WebhookDelivery, WebhookEndpoint
from agents.runs.webhook_events import create_webhook_deliveries
from heartbit_site.base import audit, orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Tier, UsageEntry, Workspace
from tests.fleet import wait_until
from tests.quotas.limited import give_tier, new_workspace, park, told
from tests.runtime.conftest import agent, studio
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent, Run
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

__all__ = ["agent", "studio"]
RUNAWAY = '[[calls: calculate {"expression": "1"}]] [[rounds: 60]] [[text: Never.]]'


def of_tier(workspace: Workspace) -> Budget:
    return Budget.objects.get(workspace=workspace, from_tier=True)


def is_blocked() -> bool:
    """Whether another session waits for this one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
        )
        return bool(cursor.fetchone()[0])


def spend(workspace: Workspace, tokens: int, *, usd: str = "0", days_ago: int = 0) -> None:
    """An entry of the ledger, as a call leaves it; no budget is told."""
    UsageEntry.objects.create(
        workspace=workspace, run_id=new_id(), turn=1, model="openai:x", input_tokens=tokens,
        output_tokens=0, cost_usd=Decimal(usd), at=datetime.now(tz=UTC) - timedelta(days=days_ago),
    )  # fmt: skip


class TestTheBudgetOfATier:
    def test_it_is_there_with_the_tier_and_knows_what_the_month_has_cost(
        self, workspace: Workspace
    ) -> None:
        spend(workspace, 70, usd="0.5")
        spend(workspace, 1_000, usd="9", days_ago=40)
        tier = give_tier(workspace, tokens_per_month=1_000, usd_per_month=2, warn_at=60)
        row = of_tier(workspace)
        assert (row.spent_tokens, row.spent_usd) == (70, Decimal("0.5"))
        assert (row.period, row.max_tokens, row.warn_at) == ("month", 1_000, 60)
        assert row.max_usd == 2
        tier.tokens_per_month, tier.usd_per_month = 5_000, None
        tier.save()
        row = of_tier(workspace)
        assert (row.max_tokens, row.max_usd, row.spent_tokens) == (5_000, None, 70)
        tier.tokens_per_month = None
        tier.save()
        assert not Budget.objects.filter(workspace=workspace).exists()

    def test_it_goes_with_the_tier_and_stands_beside_the_workspace_s_own(
        self, workspace: Workspace
    ) -> None:
        save_budget(Budget(workspace=workspace, period="month", max_tokens=9))
        give_tier(workspace, tokens_per_month=1_000)
        assert Budget.objects.filter(workspace=workspace).count() == 2
        workspace.tier = None
        workspace.save()
        assert Budget.objects.get(workspace=workspace).max_tokens == 9

    def test_a_change_of_a_tier_is_a_change_of_all_who_have_it(self, workspace: Workspace) -> None:
        tier = give_tier(workspace, tokens_per_month=1_000)
        other, free = new_workspace(), new_workspace()
        other.tier = tier
        other.save()
        tier.tokens_per_month = 2_000
        tier.save()
        assert [of_tier(each).max_tokens for each in (workspace, other)] == [2_000, 2_000]
        assert not Budget.objects.filter(workspace=free).exists()

    @pytest.mark.parametrize("first", ["given", "changed"])
    def test_given_a_tier_that_is_changed_as_it_is_given_then_its_new_limit_holds(
        self, workspace: Workspace, first: str
    ) -> None:
        tier = give_tier(new_workspace(), tokens_per_month=1_000)
        give = partial(Workspace.objects.filter(pk=workspace.pk).update, tier=tier)
        change = partial(Tier.objects.filter(pk=tier.pk).update, tokens_per_month=2_000)
        one, other = (give, change) if first == "given" else (change, give)

        def follow() -> None:
            other()
            connections.close_all()

        second = threading.Thread(target=follow)
        with transaction.atomic():
            one()
            second.start()
            wait_until(lambda: not second.is_alive() or is_blocked(), what="blocked, or through")
        second.join()
        assert of_tier(workspace).max_tokens == 2_000


class TestARunaway:
    async def test_given_it_never_ends_then_it_stops_at_the_limit_and_that_is_told_once(
        self, studio: Studio, agent: Callable[..., Agent], wire_server: WireServer
    ) -> None:
        limit = 3_000

        def prepare() -> str:
            agent(tools=("calculate",), max_turns=100, max_tokens=300)
            return give_tier(studio.workspace, tokens_per_month=limit).name

        tier = await orm.run_in_thread(prepare)
        before = wire_server.stats()["requests"]
        run = await studio.run(RUNAWAY)
        self.is_stopped(run, tier, studio.workspace.slug)
        calls = await orm.run_in_thread(lambda: list(UsageEntry.objects.filter(run_id=run.pk)))
        used = [call.input_tokens + call.output_tokens for call in calls]
        assert len(used) == wire_server.stats()["requests"] - before > 3
        assert sum(used[:-1]) < limit, "no call is made once the limit is reached"
        assert (await orm.run_in_thread(lambda: of_tier(studio.workspace))).spent_tokens == sum(
            used
        )
        self.is_stopped(await studio.run(RUNAWAY), tier, studio.workspace.slug)
        label = f"the month of tier {tier}"
        await orm.run_in_thread(send_quota_notices)
        assert await orm.run_in_thread(lambda: told(studio.workspace)) == [
            ("quota.warning", label),
            ("quota.reached", label),
        ]
        assert await orm.run_in_thread(lambda: audit.verify(studio.workspace)) == []

    @staticmethod
    def is_stopped(run: Run, tier: str, slug: str) -> None:
        assert run.status == RunStatus.FAILED
        assert (run.error or {})["limit"] == "budget"
        message = (run.error or {})["message"]
        assert f"the month's quota of tier {tier} of workspace {slug}" in message
        assert "ask an operator for another tier, or wait for the next month" in message

    async def test_given_the_next_month_then_it_works_and_is_told_of_anew(
        self, studio: Studio, agent: Callable[..., Agent]
    ) -> None:
        def prepare() -> None:
            agent(tools=("calculate",), max_turns=100, max_tokens=300)
            give_tier(studio.workspace, tokens_per_month=3_000)

        def a_month_ago() -> None:
            ago = F("period_start") - timedelta(days=35)
            Budget.objects.filter(workspace=studio.workspace).update(
                period_start=ago,
                warned_period=ago,
                exceeded_period=ago,
                exceeded_notified_period=ago,
            )

        await orm.run_in_thread(prepare)
        assert (await studio.run(RUNAWAY)).status == RunStatus.FAILED
        await orm.run_in_thread(send_quota_notices)
        await orm.run_in_thread(a_month_ago)
        assert (await studio.run("[[text: Here.]]")).output == "Here."
        await orm.run_in_thread(send_quota_notices)
        assert len(await orm.run_in_thread(lambda: told(studio.workspace))) == 2
        assert (await studio.run(RUNAWAY)).status == RunStatus.FAILED
        await orm.run_in_thread(send_quota_notices)
        assert len(await orm.run_in_thread(lambda: told(studio.workspace))) == 4


class TestBeingTold:
    def test_given_a_budget_that_is_nearly_spent_then_it_is_told_once_in_its_period(
        self, workspace: Workspace
    ) -> None:
        row = Budget(workspace=workspace, period="day", max_tokens=1_000, max_usd=Decimal(1))
        save_budget(row)
        mine = Budget.objects.filter(pk=row.pk)
        mine.update(spent_tokens=799, spent_usd=Decimal("0.79"))
        send_quota_notices()
        assert told(workspace) == []
        mine.update(spent_usd=Decimal("0.8"))
        send_quota_notices()
        mine.update(spent_tokens=990)
        send_quota_notices()
        assert told(workspace) == [("quota.warning", "the day's budget of the workspace")]
        mine.update(period_start=F("period_start") + timedelta(days=1))
        send_quota_notices()
        assert len(told(workspace)) == 2

    def test_given_many_runs_then_the_day_is_told_of_when_it_is_nearly_and_when_it_is_full(
        self, workspace: Workspace
    ) -> None:
        park(workspace, "nobody-serves-this")
        tier = give_tier(workspace, runs_per_day=4, warn_at=50)
        label = f"the runs a day of tier {tier.name}"
        seen = []
        for _ in range(4):
            start_run(workspace, "x", agent="writer")
            send_quota_notices()
            seen.append(len(told(workspace)))
        assert seen == [0, 1, 1, 2]
        assert told(workspace) == [("quota.warning", label), ("quota.reached", label)]

    def test_given_eight_looks_at_once_then_one_tells(self, workspace: Workspace) -> None:
        row = Budget(workspace=workspace, period="day", max_tokens=100)
        save_budget(row)
        Budget.objects.filter(pk=row.pk).update(spent_tokens=90)
        gate = threading.Barrier(8)

        def look() -> None:
            gate.wait()
            send_quota_notices()
            connections.close_all()

        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told(workspace)) == 1

    def test_given_a_workspace_that_cannot_be_told_then_those_after_it_are(
        self, workspace: Workspace, caplog: pytest.LogCaptureFixture
    ) -> None:
        after = new_workspace()
        for each in (workspace, after):
            row = Budget(workspace=each, period="day", max_tokens=100)
            save_budget(row)
            Budget.objects.filter(pk=row.pk).update(spent_tokens=90)
        locked, over = threading.Event(), threading.Event()

        def hold_its_chain() -> None:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(7703, %s)", [workspace.pk])
                locked.set()
                over.wait(20)
            connections.close_all()

        holder = threading.Thread(target=hold_its_chain)
        holder.start()
        assert locked.wait(20)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '300ms'")
            send_quota_notices()
        finally:
            over.set()
            holder.join()
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")
        assert (len(told(workspace)), len(told(after))) == (0, 1)
        assert f"workspace {workspace.pk} " in caplog.text
        send_quota_notices()
        assert len(told(workspace)) == 1

    @pytest.mark.parametrize("event", ["quota.warning", "quota.reached"])
    def test_webhooks_hear_what_they_asked_for(self, workspace: Workspace, event: str) -> None:
        other = new_workspace()
        endpoints = [
            WebhookEndpoint(workspace=each, name="x", url="https://127.0.0.1/", events=[event])
            for each in (workspace, other)
        ]
        for endpoint in endpoints:
            save_webhook(endpoint, by=SYSTEM)
        park(workspace, "nobody-serves-this")
        tier = give_tier(workspace, runs_per_day=1)
        start_run(workspace, "x", agent="writer")
        send_quota_notices()
        for endpoint in (*endpoints, *endpoints):
            create_webhook_deliveries(endpoint)
        (delivery,) = WebhookDelivery.objects.filter(endpoint=endpoints[0])
        assert (delivery.event, delivery.run_id) == (event, None)
        assert delivery.payload["type"] == event
        data = delivery.payload["data"]
        assert data["workspace"] == workspace.slug
        assert data["quota"] == f"the runs a day of tier {tier.name}"
        assert (data["runs"], data["max_runs"], data["percent"]) == (1, 1, 100)
        assert not WebhookDelivery.objects.filter(endpoint=endpoints[1]).exists()
