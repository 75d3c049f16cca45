"""Hints that a process sends to the live pages at the end of a slice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agents.actions.decide_call import approve_call
from agents.choices import RunStatus
from agents.live.changes import notify
from agents.live.follow import wait_for_end
from agents.models import Agent, Run
from agents.runtime.execution import run_executor
from heartbit_site.base import orm
from tests.runtime.deciding import ANNA, waiting
from tests.runtime.test_outcomes import asked

if TYPE_CHECKING:
    from agents.live.changes import Kind
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


@pytest.fixture
def hints(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of the hints about the studio's workspace, in order."""
    sent: list[str] = []

    def record(workspace_id: int, *kinds: Kind) -> None:
        if workspace_id == studio.workspace.pk:
            sent.extend(kinds)
        notify(workspace_id, *kinds)

    monkeypatch.setattr(run_executor, "notify", record)
    return sent


async def slices_ended(studio: Studio) -> None:
    """Return once the process holds no run: its hints are sent then."""
    while studio.host.process.in_flight:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0)


async def test_a_run_that_asks_nobody_hints_at_no_calls(
    studio: Studio, agent: Create, hints: list[str]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    run = await studio.run(SUM)
    assert run.status == RunStatus.SUCCEEDED
    assert set(hints) == {"runs"}


async def test_a_run_that_waits_for_sub_agents_hints_at_no_calls(
    studio: Studio, hints: list[str]
) -> None:
    task = '[[delegate: {"agent": "writer", "task": "[[text: ok]]"}]] [[text: Done.]]'
    run = await studio.run(task, agent="orchestrator")
    assert await orm.run_in_thread(Run.objects.filter(parent_id=run.pk).exists)
    assert set(hints) == {"runs"}


async def test_a_call_that_begins_to_wait_for_approval_is_hinted_at(
    studio: Studio, agent: Create, hints: list[str]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    await slices_ended(studio)
    assert hints.count("calls") == 1
    await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
    await wait_for_end(run_id, studio.host.window)
    await slices_ended(studio)
    assert hints.count("calls") == 1, "the decision sends its own hint"


async def test_a_call_of_unknown_outcome_is_hinted_at(
    studio: Studio, agent: Create, hints: list[str]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    await asked(studio)
    await slices_ended(studio)
    assert hints.count("calls") == 1
