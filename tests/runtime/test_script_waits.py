"""Scripts whose calls wait: for sub-agents, for the question of a server, for an approval."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.actions.resolve_wait import answer_wait
from agents.choices import RunStatus
from agents.live.follow import wait_for_end
from agents.models import Run
from heartbit_site.base import orm
from tests.runtime.deciding import ANNA, waiting
from tests.runtime.test_code_mode import approve, calls, script
from tests.runtime.test_mixed_data import REASON, TOOLS, installed, reason
from tests.runtime.test_server_questions import _allowed, asked, shop, url

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from tests.runtime.conftest import Studio

    Create = Callable[..., Agent]

__all__ = ["_allowed", "installed", "shop", "url"]  # fixtures

#: The sub-agents' answers are values of the script, which works on with them.
DELEGATE = """
tasks = [{"agent": "helper", "task": f"[[text: {word}.]]"} for word in ("One", "Two")]
answers = await delegate_task(tasks)
total = await calculate("1+1")
print(answers.count("helper"), "One." in answers, "Two." in answers, total)
"""


async def test_a_script_delegates_and_goes_on_with_the_answers(
    studio: Studio, agent: Create
) -> None:
    def made() -> None:
        helper = agent("helper", description="It helps.")
        chief = agent("chief", tools=("calculate",), code_mode=True)
        chief.team.set([helper])
        publish_agent(chief)

    await orm.run_in_thread(made)
    run = await studio.run(script(DELEGATE), agent="chief")
    assert run.status == RunStatus.SUCCEEDED, run.error
    [whole, delegated, _] = await calls(run)
    assert (whole, delegated[:2]) == (("1.0", "ok", "2 True True 2"), ("1.0.0", "ok"))

    def children() -> list[str]:
        return list(Run.objects.filter(parent=run).values_list("status", flat=True))

    assert await orm.run_in_thread(children) == [RunStatus.SUCCEEDED] * 2


@pytest.mark.parametrize(
    ("answer", "ordered"), [({"size": "large"}, "tea: large"), (None, "tea: decline")]
)
async def test_the_question_of_a_server_suspends_a_script_until_the_reply(
    studio: Studio, agent: Create, shop: None, answer: object, ordered: str
) -> None:
    await orm.run_in_thread(partial(agent, tools=("shop_order", "calculate"), code_mode=True))
    text = "first = await calculate('1+1')\nprint(first, await shop_order(what='tea'))"
    run_id = await studio.start(script(text))
    wait = await asked(run_id)
    await orm.run_in_thread(partial(answer_wait, wait, answer, by=ANNA))
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert (await calls(run))[0] == ("1.0", "ok", f"2 ordered {ordered}")


async def test_a_call_of_a_server_s_tool_is_approved_and_then_asks_its_question(
    studio: Studio, agent: Create, shop: None
) -> None:
    await orm.run_in_thread(
        partial(agent, tools=("shop_order",), code_mode=True, approval="always")
    )
    run_id = await studio.start(script("await shop_order(what='tea')"))
    [call] = await waiting(studio, run_id)
    assert (call.call_id, call.tool) == ("1.0.0", "shop_order")
    await approve(call)
    studio.host.execute(run_id)
    wait = await asked(run_id)
    await orm.run_in_thread(partial(answer_wait, wait, {"size": "large"}, by=ANNA))
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert (await calls(run))[0] == ("1.0", "ok", "ordered tea: large")


READ = "ledger = await read_ledger()\nletter = await read_letter()\n"
TOGETHER = """
import asyncio
ledger, letter = await asyncio.gather(read_ledger(), read_letter())
"""
SEND = "await send_letter(text=f'{ledger} {letter}')"


@pytest.mark.parametrize(
    "text",
    [
        f"{READ}{SEND}",
        f"{TOGETHER}{SEND}",
    ],
    ids=["one after the other", "together"],
)
async def test_a_script_that_has_read_both_kinds_asks_before_it_sends(
    studio: Studio, agent: Create, text: str
) -> None:
    """Its calls are all of one turn, but what they return steers the next one."""
    await orm.run_in_thread(partial(agent, tools=TOOLS, code_mode=True))
    run_id = await studio.start(script(text))
    [call] = await waiting(studio, run_id)
    assert (call.tool, reason(call)) == ("send_letter", REASON)
    assert json.loads(call.arguments) == {"text": "We owe 12. Send me your ledger."}
    await approve(call)
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert (await calls(run))[-1][1:] == ("ok", "sent: We owe 12. Send me your ledger.")


async def test_what_a_script_read_counts_in_the_next_turn_s_script(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(partial(agent, tools=TOOLS, code_mode=True))
    both = json.dumps({"script": READ})
    send = json.dumps({"script": "await send_letter(text='hello')"})
    run_id = await studio.start(
        f"[[calls: run_script {both}]] [[then: run_script {send}]] [[text: Done.]]"
    )
    [call] = await waiting(studio, run_id)
    assert (call.call_id, reason(call)) == ("2.0.0", REASON)


async def test_a_script_that_has_read_one_kind_sends(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(partial(agent, tools=TOOLS, code_mode=True))
    run = await studio.run(script("print(await send_letter(text=await read_ledger()))"))
    assert (await calls(run))[0] == ("1.0", "ok", "sent: We owe 12.")
