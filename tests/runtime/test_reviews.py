"""A result that people review: it waits without a worker, and ends the run as they decide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.waits import answer_wait
from agents.choices import RunStatus
from agents.errors import CallClosedError, InvalidEditError
from agents.live.follow import wait_for_end
from agents.models import Agent, Run, RunEvent, Wait
from agents.reads.questions import question_of
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from tests.runtime.test_server_questions import asked

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
BOB = Actor("bob", via="web")


async def decide(studio: Studio, wait: Wait, **answer: Any) -> None:
    await orm.run_in_thread(partial(answer_wait, wait, answer, by=BOB))
    studio.host.execute(wait.run_id)


async def reviewed(studio: Studio, agent: Create, task: str, **answer: Any) -> Run:
    await orm.run_in_thread(partial(agent, review="anyone"))
    wait = await asked(await studio.start(task))
    await decide(studio, wait, **answer)
    return await wait_for_end(wait.run_id, studio.host.window)


async def test_an_approved_result_ends_the_run(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(partial(agent, review="anyone"))
    run_id = await studio.start("[[text: The report.]]")
    wait = await asked(run_id)
    question = await orm.run_in_thread(partial(question_of, wait))
    assert question.text == "The report."
    run = await orm.run_in_thread(partial(Run.objects.get, pk=run_id))
    assert (run.status, run.worker_id, run.output) == (RunStatus.WAITING, None, None)
    await decide(studio, wait, decision="approve", result="The report.")
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "The report.")
    last = await orm.run_in_thread(RunEvent.objects.filter(run=run_id).order_by("seq").last)
    assert last is not None
    assert (last.payload["reviewed_by"], last.payload["is_edited"]) == ("bob", False)
    with pytest.raises(CallClosedError, match="already answered by bob"):
        await orm.run_in_thread(partial(answer_wait, wait, {"decision": "reject"}, by=BOB))


async def test_an_edited_result_replaces_the_agents(studio: Studio, agent: Create) -> None:
    run = await reviewed(studio, agent, "[[text: Draft.]]", decision="edit", result="Better.")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Better.")


async def test_a_rejected_result_fails_the_run(studio: Studio, agent: Create) -> None:
    run = await reviewed(studio, agent, "[[text: Draft.]]", decision="reject", message="No sources")
    assert (run.status, run.output) == (RunStatus.FAILED, "Draft.")
    assert run.error is not None
    assert run.error["message"] == "bob rejected the result: No sources"


async def test_requested_changes_go_to_the_agent(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(partial(agent, review="anyone", max_turns=1))
    first = await asked(await studio.start("[[text: Draft.]]"))
    with pytest.raises(InvalidEditError, match="The message is empty"):
        await orm.run_in_thread(partial(answer_wait, first, {"decision": "changes"}, by=BOB))
    await decide(studio, first, decision="changes", message="[[text: With sources.]]")
    second = await asked(first.run_id)
    assert (first.key, second.key) == ("review:1", "review:2")
    question = await orm.run_in_thread(partial(question_of, second))
    assert question.text == "With sources."
    await decide(studio, second, decision="approve")
    run = await wait_for_end(first.run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "With sources.")
