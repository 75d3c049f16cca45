"""Prices that a workspace sets, and limits in dollars that bind where a price is unknown."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from agents.actions.model_prices import save_price
from agents.actions.waits import answer_wait
from agents.choices import RunStatus
from agents.live.follow import wait_for_end
from agents.llm.messages import Usage
from agents.llm.pricing import ModelRate
from agents.models import Agent, ModelPrice
from agents.reads.questions import question_of
from agents.runtime.providers.spending_terms import SpendingTerms
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import UsageEntry, Workspace
from tests.runtime.test_server_questions import ANNE, asked

if TYPE_CHECKING:
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
MILLION = 1_000_000
CAPPED = {"max_run_cost_usd": Decimal(5)}


@pytest.mark.parametrize(
    ("cached", "cost"), [(None, Decimal(3 + 6)), (Decimal("0.3"), Decimal("7.65"))]
)
def test_a_rate_counts_a_million_tokens(cached: Decimal | None, cost: Decimal) -> None:
    rate = ModelRate(Decimal(3), Decimal(6), cached)
    used = Usage(input_tokens=MILLION, output_tokens=MILLION, cached_input_tokens=MILLION // 2)
    assert rate.cost(used) == cost
    terms = SpendingTerms(rates={"openai:gpt-4o": rate})
    assert terms.cost("openai:gpt-4o", used) == cost, "in place of the published one"
    assert not terms.knows_price("openai:fake")


async def test_without_a_price_a_run_under_a_limit_asks_once(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), **CAPPED))
    task = '[[calls: calculate {"expression": "1"}]] [[text: Done.]]'
    wait = await asked(await studio.start(task))
    text = (await orm.run_in_thread(partial(question_of, wait))).text
    assert text.startswith("The price of openai:fake is unknown, so max_run_cost_usd of solo")
    await orm.run_in_thread(partial(answer_wait, wait, {"decision": "continue"}, by=ANNE))
    studio.host.execute(wait.run_id)
    run = await wait_for_end(wait.run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")


async def test_a_workspace_may_refuse_what_has_no_price(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    def prepare() -> None:
        agent(**CAPPED)
        Workspace.objects.filter(pk=studio.workspace.pk).update(unknown_prices="refuse")

    await orm.run_in_thread(prepare)
    before = wire_server.stats()["requests"]
    run = await studio.run("[[text: Never.]]")
    assert (run.error or {})["limit"] == "budget"
    assert "`heartbit prices set`" in (run.error or {})["message"]
    assert wire_server.stats()["requests"] == before


async def test_a_price_of_the_workspace_is_counted(studio: Studio, agent: Create) -> None:
    def prepare() -> None:
        agent(**CAPPED)
        row = ModelPrice(
            workspace=studio.workspace, model="openai:fake", input_usd=100, output_usd=200
        )
        save_price(row, by=SYSTEM)

    await orm.run_in_thread(prepare)
    run = await studio.run("[[text: Done.]]")
    assert run.status == RunStatus.SUCCEEDED
    [entry] = await orm.run_in_thread(lambda: list(UsageEntry.objects.filter(run_id=run.pk)))
    due = Decimal(100 * entry.input_tokens + 200 * entry.output_tokens) / MILLION
    assert entry.cost_usd == due > 0
