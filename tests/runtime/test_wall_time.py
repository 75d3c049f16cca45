"""A run ends once its ``max_wall_seconds`` are over, while it waits too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.db.models import F

from agents.actions.save_agent import create_agent
from agents.choices import RunStatus
from agents.models import Agent, Run, RunEvent
from agents.runs.overdue_waits import end_overdue_runs
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.runtime.test_server_questions import asked

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


async def test_a_waiting_run_ends_at_its_time_and_not_before(studio: Studio, agent: Create) -> None:
    def prepare() -> None:
        agent(tools=("calculate",), approval="always", max_wall_seconds=60)

    await orm.run_in_thread(prepare)
    task = '[[calls: calculate {"expression": "1"}]] [[text: Never.]]'
    wait = await asked(await studio.start(task))
    rows = Run.objects.filter(pk=wait.run_id)
    assert await orm.run_in_thread(lambda: end_overdue_runs(10)) == ([], [])
    earlier = F("created_at") - timedelta(seconds=61)
    await orm.run_in_thread(lambda: rows.update(created_at=earlier))
    assert await orm.run_in_thread(lambda: end_overdue_runs(10)) == ([wait.run_id], [])
    run = await orm.run_in_thread(rows.get)
    assert run.status == RunStatus.FAILED
    assert run.error == {
        "kind": "limit",
        "limit": "max_wall_seconds",
        "message": "Stopped 60 s after it was accepted, waits included (max_wall_seconds).",
    }
    events = RunEvent.objects.filter(run=run, type="run.failed")
    assert await orm.run_in_thread(events.count) == 1
    assert await orm.run_in_thread(lambda: end_overdue_runs(10)) == ([], [])


async def test_a_run_that_works_ends_itself(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(max_wall_seconds=1))
    run = await studio.run("[[hang: headers]]")
    assert (run.error or {})["limit"] == "max_wall_seconds"


async def test_a_workflow_has_the_same_limit_in_its_own_table(studio: Studio) -> None:
    ask = {"name": "ask", "ask": "Sure?", "timeout": 600}
    table = {"name": "asks", "nodes": [ask], "start": "ask", "limits": {"max_wall_seconds": 60}}
    spec = WorkflowSpec.model_validate(table)
    await orm.run_in_thread(partial(create_agent, studio.workspace, spec, by=SYSTEM))
    wait = await asked(await studio.start("Go.", agent="asks"))
    rows = Run.objects.filter(pk=wait.run_id)
    assert await orm.run_in_thread(lambda: end_overdue_runs(10)) == ([], [])
    earlier = F("created_at") - timedelta(seconds=61)
    await orm.run_in_thread(lambda: rows.update(created_at=earlier))
    assert await orm.run_in_thread(lambda: end_overdue_runs(10)) == ([wait.run_id], [])
    run = await orm.run_in_thread(rows.get)
    assert (run.error or {})["limit"] == "max_wall_seconds"


async def test_a_workflow_that_works_ends_itself(studio: Studio) -> None:
    nodes = [{"name": name, "set": {"n": 1}} for name in ("one", "two")]
    pause = {"name": "pause", "pause": "2s"}
    table = {
        "name": "slow",
        "nodes": [nodes[0], pause, nodes[1]],
        "edges": [{"from": "one", "to": "pause"}, {"from": "pause", "to": "two"}],
        "start": "one",
        "state": {"n": {}},
        "limits": {"max_wall_seconds": 1},
    }
    spec = WorkflowSpec.model_validate(table)
    await orm.run_in_thread(partial(create_agent, studio.workspace, spec, by=SYSTEM))
    run = await studio.run("Go.", agent="slow")
    assert (run.error or {})["limit"] == "max_wall_seconds"
    assert "Stopped 1 s after it was accepted" in (run.error or {})["message"]
