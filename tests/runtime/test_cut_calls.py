"""Model calls that end without their whole answer: what had arrived is counted, as a guess."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from agents.actions.quotas import save_budget
from agents.actions.runs import cancel_run
from agents.choices import RunStatus
from agents.live.follow import follow, wait_for_end
from agents.live.updates import DeltaUpdate
from agents.llm.messages import AssistantMessage, ChatRequest, Completion, Usage
from agents.llm.messages import UserMessage as Said
from agents.loop.attempt import Attempt
from agents.loop.model_calls import _counted
from agents.models import Agent, Budget, Run
from heartbit_site.base import orm
from heartbit_site.base.models import UsageEntry
from heartbit_site.demo.check import answers

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
SLOW = "[[text: " + "word " * 200 + "]] [[chunks: 20]] [[stream: 6000]]"


async def ledger(run: Run) -> list[UsageEntry]:
    return await orm.run_in_thread(lambda: list(UsageEntry.objects.filter(run_id=run.pk)))


async def test_a_run_whose_time_is_over_pays_for_half_an_answer(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(timeout_seconds=2))
    began = time.monotonic()
    run = await studio.run(SLOW)
    took = time.monotonic() - began
    assert run.status == RunStatus.FAILED
    [entry] = await ledger(run)
    assert entry.output_tokens == -(-len(run.output or "") // 4)
    assert 0 < entry.output_tokens < 250
    assert entry.input_tokens >= len(SLOW) // 4
    assert (run.input_tokens, run.output_tokens) == (entry.input_tokens, entry.output_tokens)
    [cut] = [event for event in await studio.events(run) if event.type == "model.interrupted"]
    assert cut.payload["reason"] == "The run's time was over."
    assert cut.payload["usage"]["raw"] == {"estimated": True}
    assert 0 < cut.payload["duration_ms"] <= took * 1000


async def test_a_cancelled_run_pays_for_half_an_answer(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(agent)
    run_id = await studio.start(SLOW)
    async for update in follow(run_id, studio.host.window):
        if isinstance(update, DeltaUpdate):
            break
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.CANCELLED
    [entry] = await ledger(run)
    assert entry.output_tokens > 0
    # What the demo compares with its model server's count: an answer that was cut is none.
    found = await orm.run_in_thread(lambda: answers([run]))
    assert found.tokens == 0
    assert found.cut


async def test_each_attempt_that_had_begun_to_answer_is_paid_for(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(retry_base_delay_ms=1))
    run = await studio.run(f"[[cut: 700 times=2]] [[text: Whole.]] [[run: cut-{id(studio)}]]")
    assert run.output == "Whole."
    kinds = [event.type for event in await studio.events(run)]
    assert kinds.count("model.interrupted") == 2
    assert len(await ledger(run)) == 3
    assert (await orm.run_in_thread(lambda: answers([run]))).cut == 2


async def test_a_call_that_had_not_begun_to_answer_is_not(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(timeout_seconds=1))
    run = await studio.run("[[latency: 8000]] [[text: Never.]]")
    assert run.status == RunStatus.FAILED
    assert await ledger(run) == []


async def test_runs_that_are_cut_off_come_to_the_end_of_a_budget(
    studio: Studio, agent: Create
) -> None:
    def limited() -> None:
        agent(timeout_seconds=1, max_tokens=300)
        save_budget(Budget(workspace=studio.workspace, period="day", max_tokens=2500))

    await orm.run_in_thread(limited)
    messages: list[str] = []
    while len(messages) < 12 and "budget" not in " ".join(messages):
        run = await studio.run(SLOW)
        messages.append((run.error or {})["message"])
    assert "budget" in messages[-1]
    assert len(messages) > 1


def test_a_provider_that_does_not_say_what_it_used_is_not_free() -> None:
    attempt = Attempt(ChatRequest("Be brief.", (Said("x" * 91),)), turn=1, characters=40)
    said = Completion(AssistantMessage("y" * 40), Usage(), "stop", "openai:fake")
    counted = _counted(said, attempt).usage
    assert (counted.input_tokens, counted.output_tokens) == (25, 10)
    assert counted.raw == {"estimated": True}
    for usage in (Usage(3, 4), Usage(3, 0), Usage(0, 4)):
        told = Completion(AssistantMessage("y" * 40), usage, "stop", "openai:fake")
        assert _counted(told, attempt) is told
