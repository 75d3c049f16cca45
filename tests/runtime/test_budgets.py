"""Budgets: of one run, and of workspaces and agents in a day or a month."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F

from agents.actions.publish_agent import publish_agent
from agents.actions.quotas import save_budget
from agents.actions.waits import _wait_mail, answer_wait
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.live.valkey import connect
from agents.llm.errors import BudgetSpentError, ThrottledError
from agents.llm.wrappers.budget import Amount
from agents.models import Agent, Budget, Run
from agents.reads.questions import question_of
from agents.runs.pool import open_pool
from agents.runtime.providers import budgets as module
from agents.runtime.providers.budgets import Budgets
from agents.runtime.providers.reservations import ValkeyReservations
from agents.runtime.providers.spending_terms import RunScope
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import UsageEntry
from tests.runtime.test_server_questions import ANNE, asked
from tests.starts import start_run
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
TWICE = '[[calls: calculate {"expression": "1"}]] [[text: Never.]]'


async def budget(workspace: Workspace, **fields: object) -> Budget:
    """A new budget of the workspace."""

    def create() -> Budget:
        row = Budget(workspace=workspace, **({"period": "day"} | fields))
        save_budget(row)
        return row

    return await orm.run_in_thread(create)


async def fresh(row: Budget) -> Budget:
    return await orm.run_in_thread(lambda: Budget.objects.get(pk=row.pk))


def limit_of(run: Run) -> str:
    assert run.status == RunStatus.FAILED
    return str((run.error or {})["limit"])


class TestOfOneRun:
    async def test_given_too_many_tokens_then_it_ends_before_the_next_call_and_says_so(
        self, studio: Studio, agent: Create, wire_server: WireServer
    ) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",), max_run_tokens=20))
        before = wire_server.stats()["requests"]
        run = await studio.run(f"[[thinking: So far.]] {TWICE}")
        assert limit_of(run) == "max_run_tokens"
        assert "max_run_tokens of solo is 20" in (run.error or {})["message"]
        assert wire_server.stats()["requests"] - before == 1

    async def test_given_it_cost_too_much_then_it_ends(self, studio: Studio, agent: Create) -> None:
        cents = Decimal("0.0001")
        await orm.run_in_thread(lambda: agent(tools=("calculate",), max_run_cost_usd=cents))
        run = await studio.run(f"[[run: {'long ' * 400}]] {TWICE}", model="openai:gpt-4o")
        assert limit_of(run) == "max_run_cost_usd"

    async def test_what_sub_agents_use_counts(self, studio: Studio, agent: Create) -> None:
        def team() -> None:
            lead = agent("lead", max_run_tokens=1500)
            lead.team.add(Agent.objects.get(workspace=studio.workspace, name="writer"))
            publish_agent(lead)

        await orm.run_in_thread(team)
        task = '[[delegate: {"agent": "writer", "task": "[[tokens: 1400]]"}]] [[text: Never.]]'
        run = await studio.run(task, agent="lead")
        assert limit_of(run) == "max_run_tokens"
        assert run.input_tokens + run.output_tokens < 1500, "by itself it used less"
        resolved = next(e for e in await studio.events(run) if e.type == "wait.resolved")
        child = await orm.run_in_thread(lambda: Run.objects.get(parent=run))
        used = child.input_tokens + child.output_tokens
        assert resolved.payload["value"]["usage"] == {"tokens": used, "cost_usd": "0"}


class TestOfAPeriod:
    async def test_each_answer_is_settled_with_it(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",)))
        row = await budget(studio.workspace, max_tokens=1_000_000, max_usd=5)
        run = await studio.run(TWICE, model="openai:gpt-4o")
        assert run.status == RunStatus.SUCCEEDED
        row = await fresh(row)
        assert row.spent_tokens == run.input_tokens + run.output_tokens > 0
        costs = await orm.run_in_thread(
            lambda: [each.cost_usd or 0 for each in UsageEntry.objects.filter(run_id=run.pk)]
        )
        assert len(costs) == 2
        assert row.spent_usd == sum(costs) > 0

    async def test_given_it_is_spent_then_the_model_is_not_called_and_the_run_says_whose_it_is(
        self, studio: Studio, agent: Create, wire_server: WireServer
    ) -> None:
        await orm.run_in_thread(agent)
        row = await budget(studio.workspace, max_tokens=500)
        await orm.run_in_thread(lambda: Budget.objects.filter(pk=row.pk).update(spent_tokens=400))
        before = wire_server.stats()["requests"]
        run = await studio.run("[[text: Never.]]")
        assert limit_of(run) == "budget"
        message = (run.error or {})["message"]
        assert f"the day's budget of workspace {studio.workspace.slug}" in message
        assert "400 of 500 tokens" in message
        assert wire_server.stats()["requests"] == before

    async def test_at_a_threshold_an_owner_lets_all_its_runs_go_on(
        self, studio: Studio, agent: Create
    ) -> None:
        await orm.run_in_thread(agent)
        row = await budget(studio.workspace, max_tokens=100_000, ask_at=90)
        rows = Budget.objects.filter(pk=row.pk)
        await orm.run_in_thread(lambda: rows.update(spent_tokens=91_000))
        waits = [await asked(await studio.start("[[text: Done.]]")) for _ in range(2)]
        text = (await orm.run_in_thread(partial(question_of, waits[0]))).text
        assert "(91,000 of 100,000 tokens) has reached 90 percent" in text
        owner = User(username="anne", email="anne@example.org", pk=1)
        mail = await orm.run_in_thread(partial(_wait_mail, waits[0], owner))
        assert f"waits for an owner to go on. {text}\n" in mail.body
        go_on = partial(answer_wait, waits[0], {"decision": "continue"}, by=ANNE)
        await orm.run_in_thread(go_on)
        for wait in waits:
            studio.host.execute(wait.run_id)
            run = await wait_for_end(wait.run_id, studio.host.window)
            assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
        assert (await studio.run("[[text: Done.]]")).status == RunStatus.SUCCEEDED

    async def test_the_owner_may_stop_the_run(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(agent)
        row = await budget(studio.workspace, max_tokens=100_000, ask_at=90)
        rows = Budget.objects.filter(pk=row.pk)
        await orm.run_in_thread(lambda: rows.update(spent_tokens=91_000))
        wait = await asked(await studio.start("[[text: Never.]]"))
        stop = partial(answer_wait, wait, {"decision": "stop"}, by=ANNE)
        await orm.run_in_thread(stop)
        studio.host.execute(wait.run_id)
        run = await wait_for_end(wait.run_id, studio.host.window)
        assert limit_of(run) == "budget"
        assert "Stopped by anne" in (run.error or {})["message"]

    async def test_a_budget_of_a_person_or_a_schedule_counts_their_runs_alone(
        self, studio: Studio, agent: Create
    ) -> None:
        await orm.run_in_thread(agent)
        ann = await orm.run_in_thread(lambda: member(studio.workspace, "admin"))
        persons = await budget(studio.workspace, max_tokens=100_000, person=ann)
        schedules = await budget(studio.workspace, max_tokens=100_000, schedule="Report")
        for by in (Actor(ann.username, "web", ann.pk), Actor("schedule Report", "system")):
            run_id = await orm.run_in_thread(
                partial(
                    start_run,
                    *(studio.workspace, "[[text: Done.]]"),
                    agent="solo",
                    model="openai:fake",
                    home=Placement.LOCAL,
                    by=by,
                )
            )
            studio.host.execute(run_id)
            run = await wait_for_end(run_id, studio.host.window)
            used = run.input_tokens + run.output_tokens
            spent = [(await fresh(row)).spent_tokens for row in (persons, schedules)]
            assert spent == ([used, 0] if by.user_id else [used, used])

    async def test_an_agent_s_budget_is_its_own(self, studio: Studio, agent: Create) -> None:
        poor = await orm.run_in_thread(lambda: agent("poor"))
        await orm.run_in_thread(lambda: agent("rich"))
        row = await budget(studio.workspace, agent=poor, period="month", max_usd=Decimal(0))
        run = await studio.run("[[text: Never.]]", agent="poor", model="openai:gpt-4o")
        assert limit_of(run) == "budget"
        message = (run.error or {})["message"]
        assert "the month's budget of agent poor (0.0000 of 0.0000 US dollars)" in message
        run = await studio.run("[[text: Here.]]", agent="rich", model="openai:gpt-4o")
        assert run.output == "Here."
        assert (await fresh(row)).spent_tokens == 0

    async def test_given_the_next_period_then_it_counts_from_nothing(
        self, studio: Studio, agent: Create
    ) -> None:
        await orm.run_in_thread(agent)
        rows = [
            await budget(studio.workspace, period="day", max_tokens=10_000),
            await budget(studio.workspace, period="month", max_tokens=20_000),
        ]
        long_ago = datetime.now(tz=UTC) - timedelta(days=32)
        await orm.run_in_thread(
            lambda: Budget.objects.filter(workspace=studio.workspace).update(
                period_start=long_ago, spent_tokens=20_000, spent_usd=3
            )
        )
        run = await studio.run("[[text: A new day.]]")
        assert run.status == RunStatus.SUCCEEDED
        today = datetime.now(tz=UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        for row, start in zip(rows, (today, today.replace(day=1)), strict=True):
            row = await fresh(row)
            assert row.spent_tokens == run.input_tokens + run.output_tokens
            assert row.spent_usd == 0
            assert row.period_start == start

    async def test_given_a_new_budget_then_it_knows_what_its_period_has_used(
        self, studio: Studio, agent: Create
    ) -> None:
        solo = await orm.run_in_thread(agent)
        await orm.run_in_thread(lambda: agent("other"))
        runs = [await studio.run("[[text: One.]]"), await studio.run("Hi.", agent="other")]
        used = [run.input_tokens + run.output_tokens for run in runs]
        assert (await budget(studio.workspace, max_tokens=9)).spent_tokens == sum(used)
        assert (await budget(studio.workspace, agent=solo, max_tokens=9)).spent_tokens == used[0]

    async def test_given_twenty_runs_at_once_then_the_limit_is_kept_and_not_left_unused(
        self, studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "HOLD_SECONDS", 0.5)
        monkeypatch.setattr(module, "WAIT_SECONDS", 1.0)
        await orm.run_in_thread(lambda: agent(max_tokens=300))
        row = await budget(studio.workspace, max_tokens=3000)
        started = [await studio.start("[[tokens: 200]] [[latency: 100]]") for _ in range(20)]
        runs = [await wait_for_end(run_id, studio.host.window) for run_id in started]
        answered = [run for run in runs if run.status == RunStatus.SUCCEEDED]
        assert {limit_of(run) for run in runs if run not in answered} == {"budget"}
        spent = (await fresh(row)).spent_tokens
        assert spent == sum(run.input_tokens + run.output_tokens for run in answered)
        assert 3000 - 2 * 300 < spent <= 3000


async def test_two_workers_reservations_never_exceed_a_budget(workspace: Workspace) -> None:
    row = await budget(workspace, max_tokens=10_000)
    pool = open_pool(settings.DATABASE_URL)
    await pool.open()
    clients = [connect(settings.REDIS_URL) for _ in range(2)]
    workers = [Budgets(pool, ValkeyReservations(client)) for client in clients]
    call, used, most = Amount(1500), 0, 0
    spend = F("spent_tokens") + call.tokens

    async def run(number: int) -> None:
        nonlocal used, most
        purse = workers[number % 2].allowance(workspace.pk, RunScope(0), secrets.token_hex(8))
        assert await purse.has_budget()
        await purse.reserve(call, call)
        used += call.tokens
        most = max(most, used)
        await orm.run_in_thread(lambda: Budget.objects.filter(pk=row.pk).update(spent_tokens=spend))
        purse.release()

    results = await asyncio.gather(*(run(number) for number in range(20)), return_exceptions=True)
    refused = [result for result in results if result is not None]
    assert all(isinstance(result, BudgetSpentError | ThrottledError) for result in refused)
    assert (most, len(refused)) == (9000, 14)
    for client in clients:
        await client.aclose()
    await pool.close()


async def test_given_others_have_reserved_the_rest_then_the_run_waits_instead_of_failing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HOLD_SECONDS", 0.2)
    row = await budget(workspace, max_tokens=1000)
    pool, client = open_pool(settings.DATABASE_URL), connect(settings.REDIS_URL)
    await pool.open()
    tries = 0

    class Counted(ValkeyReservations):
        async def put(
            self, budgets: Sequence[int], holder: str, amount: Amount, *, seconds: float
        ) -> dict[int, Amount]:
            nonlocal tries
            tries += 1
            return await super().put(budgets, holder, amount, seconds=seconds)

    reservations = Counted(client)
    purse = Budgets(pool, reservations).allowance(workspace.pk, RunScope(0), secrets.token_hex(8))
    await reservations.put([row.pk], "killed", Amount(900), seconds=0.6)
    with pytest.raises(ThrottledError, match="in flight have reserved"):
        await purse.reserve(Amount(500), Amount(800))
    assert tries < 8, "it asks again after a while"
    monkeypatch.setattr(module, "HOLD_SECONDS", 5.0)
    granted = await purse.reserve(Amount(500), Amount(1800))
    assert granted == Amount(1000), "the killed worker's has lapsed; the answer is kept shorter"
    purse.release()
    await client.aclose()
    await pool.close()


async def test_given_a_release_under_way_then_the_next_reservation_outlives_it(
    workspace: Workspace,
) -> None:
    may_drop, dropped = asyncio.Event(), asyncio.Event()

    class Late(ValkeyReservations):
        async def drop(self, budgets: Sequence[int], holder: str) -> None:
            await may_drop.wait()
            await super().drop(budgets, holder)
            dropped.set()

    row = await budget(workspace, max_tokens=1000)
    pool, client = open_pool(settings.DATABASE_URL), connect(settings.REDIS_URL)
    await pool.open()
    reservations, half = Late(client), Amount(500)
    purse = Budgets(pool, reservations).allowance(workspace.pk, RunScope(0), secrets.token_hex(8))
    await purse.reserve(half, half)
    purse.release()
    asyncio.get_running_loop().call_later(0.1, may_drop.set)
    await purse.reserve(half, half)
    await dropped.wait()
    assert await reservations.put([row.pk], "other", half, seconds=5) == {row.pk: half}
    await client.aclose()
    await pool.close()


async def test_given_no_budget_then_nothing_is_asked_but_once_in_ten_seconds(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, client = open_pool(settings.DATABASE_URL), connect(settings.REDIS_URL)
    await pool.open()
    now = 0.0
    budgets = Budgets(pool, ValkeyReservations(client), clock=lambda: now)
    purse = budgets.allowance(workspace.pk, RunScope(0), "run")
    assert not await purse.has_budget()
    await budget(workspace, max_tokens=1000)
    assert not await purse.has_budget(), "as it was read last"
    now = 11.0
    assert await purse.has_budget()
    await client.aclose()
    await pool.close()
